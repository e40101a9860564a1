/* Parses lines of manifests. */
#include "formats/manifest/manifest_line.h"

#include <string.h>

/* Whether a string has the escape \u0000, which means a 0 character. */
static int32_t has_zero(const pfd_json_text *text)
{
    for (int64_t i = 0; text->has_escapes && i + 5 < text->size; i++) {
        if (text->data[i] != '\\') continue;
        if (!memcmp(text->data + ++i, "u0000", 5)) return 1;
    }
    return 0;
}

/* Reads a string; null counts as no string. */
static void read_text(pfd_json *json, pfd_json_text *text)
{
    if (pfd_json_null(json) || !pfd_json_string(json, text)) return;
    if (has_zero(text)) (void)pfd_json_refuse(json, "expected a string without \\u0000");
}

const char *pfd_manifest_line_parse(const uint8_t *data, int64_t size, pfd_manifest_line *out,
                                    int64_t *at)
{
    pfd_json json = pfd_json_begin(data, size);
    pfd_json_text key;
    *out = (pfd_manifest_line){0};
    (void)pfd_json_enter(&json, '{');
    while (pfd_json_member(&json, &key)) {
        if (pfd_json_equals(&key, "source")) {
            read_text(&json, &out->source);
        } else if (pfd_json_equals(&key, "usage")) {
            read_text(&json, &out->usage);
        } else if (pfd_json_equals(&key, "annotation") && !pfd_json_null(&json)) {
            out->annotations = json;
            out->has_annotations = 1;
            (void)pfd_json_skip(&json);
        } else if (!pfd_json_equals(&key, "annotation")) {
            (void)pfd_json_skip(&json);
        }
    }
    (void)pfd_json_end(&json);
    pfd_json labels = pfd_manifest_labels_of(out);
    while (!json.problem && pfd_manifest_labels_next(&labels, &key)) continue;
    if (!json.problem && labels.problem) json = labels;
    *at = json.at;
    if (json.problem) return json.problem;
    return out->source.size > 0 ? NULL : "expected a member \"source\", the path of a file";
}

pfd_json pfd_manifest_labels_of(const pfd_manifest_line *line)
{
    static const pfd_json none = {.data = (const uint8_t *)"[]", .size = 2};
    pfd_json labels = line->has_annotations ? line->annotations : none;
    (void)pfd_json_enter(&labels, '[');
    return labels;
}

int32_t pfd_manifest_labels_next(pfd_json *labels, pfd_json_text *name)
{
    pfd_json_text key;
    while (pfd_json_element(labels)) {
        *name = (pfd_json_text){0};
        (void)pfd_json_enter(labels, '{');
        while (pfd_json_member(labels, &key)) {
            if (pfd_json_equals(&key, "name")) read_text(labels, name);
            else (void)pfd_json_skip(labels);
        }
        if (labels->problem) return 0;
        if (name->size > 0) return 1;
    }
    return 0;
}
