/* The format of files of values separated by commas, tabs or semicolons. */
#include "parse/first_bytes.h"
#include "pyflowdata/op.h"

enum { most_lines = 20 };

/* Any text may be CSV, but scores lower than as plain lines, unless all its lines have equally many
 * delimiters. */
enum { irregular = PFD_PROBE_POSSIBLE - 10, regular = PFD_PROBE_POSSIBLE + 10 };

static int64_t count(const uint8_t *line, int64_t size, uint8_t mark)
{
    int64_t n = 0;
    for (int64_t i = 0; i < size; i++) n += line[i] == mark;
    return n;
}

/* Whether all lines have equally many delimiters, at least one. */
static int32_t has_columns(const pfd_probe_args *args, uint8_t mark)
{
    pfd_text_lines lines = pfd_text_lines_of(args, most_lines);
    const uint8_t *line;
    int64_t size, marks = 0;
    while (pfd_text_lines_next(&lines, &line, &size)) {
        int64_t found = count(line, size, mark);
        if (found == 0 || (marks > 0 && found != marks)) return 0;
        marks = found;
    }
    return marks > 0;
}

static int32_t probe(const pfd_probe_args *args)
{
    if (!pfd_is_text(args->data, args->size)) return PFD_PROBE_NO;
    int32_t is_json = args->data[0] == '{' || args->data[0] == '[';
    int32_t is_regular = !is_json && (has_columns(args, ',') || has_columns(args, '\t') ||
                                      has_columns(args, ';'));
    return is_regular ? regular : irregular;
}

const pfd_format pfd_format_csv = {
    .struct_size = sizeof(pfd_format),
    .flags = PFD_FORMAT_TEXT,
    .name = "csv",
    .title = "CSV",
    .doc = "Lines of values separated by commas, usually with a line of names first.",
    .suffixes = ".csv|.tsv",
    .reader = "CSVReader",
    .checks = "columns and numbers",
    .probe = probe,
};
