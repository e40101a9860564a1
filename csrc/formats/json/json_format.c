/* The format of text files in which each line is a JSON object, or which are one array of them. */
#include "parse/first_bytes.h"
#include "parse/json.h"
#include "pyflowdata/op.h"
#include "sources/text.h"

#include <string.h>

enum { most_lines = 4 };

/* The scores are above any text's, but below that of text with the suffix of its kind, and, with a
 * suffix, below a manifest's.  With the suffix .jsonl, a line that only begins as an object and
 * text that is no JSON are damaged JSON lines.  A .json file may have any JSON, such as COCO's,
 * which has a higher score: it is damaged where it is no JSON, and text where its lines are no
 * objects; one object over several lines is refused by the reader. */
enum {
    objects = PFD_PROBE_POSSIBLE + 15,
    objects_of_document = PFD_PROBE_POSSIBLE + 5,
    cut_object = PFD_PROBE_POSSIBLE + 1,
    damaged_document = PFD_PROBE_POSSIBLE + 1,
    damaged_text = 1,
};

/* Whether a line is an object; -1: it may be one, and ends before the object does. */
static int32_t is_object(const uint8_t *line, int64_t size)
{
    pfd_json json = pfd_json_begin(line, size);
    if (!pfd_json_is(&json, '{')) return 0;
    (void)pfd_json_skip(&json);
    if (pfd_json_end(&json)) return 1;
    return json.at >= size ? -1 : 0;
}

static int32_t is_one_value(const uint8_t *text, int64_t size)
{
    pfd_json json = pfd_json_begin(text, size);
    return pfd_json_skip(&json) && pfd_json_end(&json);
}

/* Whether the name is .json, of which the lines need not be objects. */
static int32_t is_document(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    const char *name = slash ? slash + 1 : path;
    const char *suffix = name ? strcasestr(name, ".json") : NULL;
    return suffix && (suffix[5] == '\0' || suffix[5] == '.');
}

static int32_t probe(const pfd_probe_args *args)
{
    pfd_probe_args text = *args;
    int64_t mark = pfd_text_mark_bytes(args->data, args->size), size, count = 0;
    text.data += mark;
    text.size -= mark;
    if (text.size < 1 || !pfd_is_text(text.data, text.size)) return PFD_PROBE_NO;
    int32_t is_cut = args->size == PFD_PROBE_BYTES;
    const char *problem;
    int64_t at;
    int32_t is_json = pfd_json_values(text.data, text.size, is_cut, &at, &problem);
    int32_t is_free = is_document(args->path);
    int32_t first = pfd_json_array_first(text.data, text.size);
    if (is_json && first == '{') return objects_of_document;
    if (is_free && first == ']' && is_one_value(text.data, text.size)) return objects_of_document;
    int32_t damaged = is_json ? PFD_PROBE_NO : is_free ? damaged_document : damaged_text;
    pfd_text_lines lines = pfd_text_lines_of(&text, most_lines);
    const uint8_t *line;
    while (pfd_text_lines_next(&lines, &line, &size)) {
        int32_t found = is_object(line, size);
        int32_t is_last = line + size == text.data + text.size;
        if (found < 0 && count == 0 && is_last && is_cut)
            return is_free ? PFD_PROBE_NO : cut_object;
        if (count == 0 && line[0] == '{' && !is_free) damaged = damaged_text;
        if (found <= 0 && count == 0 && is_free && line[0] == '{') return damaged_document;
        if (found <= 0) return damaged;
        count++;
    }
    if (count == 0) return PFD_PROBE_NO;
    return is_free ? objects_of_document : objects;
}

const pfd_format pfd_format_json = {
    .struct_size = sizeof(pfd_format),
    .flags = PFD_FORMAT_TEXT,
    .name = "json",
    .title = "JSON lines",
    .doc = "Text in which each line is a JSON object, or which is one array of objects.",
    .suffixes = ".jsonl|.ndjson|.json",
    .reader = "JSONLinesReader",
    .checks = "each line, and the types of the fields",
    .probe = probe,
};
