/* The format of text files in which each line is a JSON object. */
#include "parse/first_bytes.h"
#include "parse/json.h"
#include "pyflowdata/op.h"
#include "sources/text.h"

enum { most_lines = 4 };

/* The scores are above any text's, but below that of text with the suffix of its kind, and, with a
 * suffix, below a manifest's. A line that only begins as an object is text, except with the
 * suffix. */
enum {
    objects = PFD_PROBE_POSSIBLE + 15,
    cut_object = PFD_PROBE_POSSIBLE + 1,
    damaged_object = 1,
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

static int32_t probe(const pfd_probe_args *args)
{
    pfd_probe_args text = *args;
    int64_t mark = pfd_text_mark_bytes(args->data, args->size), size, count = 0;
    text.data += mark;
    text.size -= mark;
    if (text.size < 1 || !pfd_is_text(text.data, text.size)) return PFD_PROBE_NO;
    pfd_text_lines lines = pfd_text_lines_of(&text, most_lines);
    const uint8_t *line;
    int32_t damaged = PFD_PROBE_NO;
    while (pfd_text_lines_next(&lines, &line, &size)) {
        int32_t found = is_object(line, size);
        int32_t is_last = line + size == text.data + text.size;
        if (found < 0 && count == 0 && is_last && args->size == PFD_PROBE_BYTES)
            return cut_object;
        if (count == 0 && line[0] == '{') damaged = damaged_object;
        if (found <= 0) return damaged;
        count++;
    }
    return count > 0 ? objects : PFD_PROBE_NO;
}

const pfd_format pfd_format_json = {
    .struct_size = sizeof(pfd_format),
    .flags = PFD_FORMAT_TEXT,
    .name = "json",
    .title = "JSON lines",
    .doc = "Text in which each line is a JSON object.",
    .suffixes = ".jsonl|.ndjson",
    .reader = "JSONLinesReader",
    .checks = "each line, and the types of the fields",
    .probe = probe,
};
