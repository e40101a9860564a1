/* The format of mini's text files, lines of two numbers: its probe, and the ops that read it. */
#include "formats/mini/mini_parser.h"
#include "parse/first_bytes.h"

enum { most_lines = 20 };

/* Lines of two numbers are CSV too, which gets a higher score: only the suffix .mini decides
 * otherwise. */
static int32_t probe(const pfd_probe_args *args)
{
    if (!pfd_is_text(args->data, args->size)) return PFD_PROBE_NO;
    pfd_text_lines lines = pfd_text_lines_of(args, most_lines);
    const uint8_t *line;
    int64_t size, pairs = 0;
    for (; pfd_text_lines_next(&lines, &line, &size); pairs++) {
        double numbers[2];
        pfd_mini_fault fault;
        if (line[size - 1] == '\r') size--; /* no line is empty */
        if (!pfd_mini_parse(line, size, numbers, &fault)) return PFD_PROBE_NO;
    }
    return pairs > 0 ? PFD_PROBE_POSSIBLE : PFD_PROBE_NO;
}

const pfd_format pfd_format_mini = {
    .struct_size = sizeof(pfd_format),
    .flags = PFD_FORMAT_TEXT,
    .name = "mini",
    .title = "lines of two numbers",
    .doc = "The format of the example: text lines of two numbers separated by a comma.",
    .suffixes = ".mini",
    .reader = "MiniReader",
    .decoders = "MiniDecoder",
    .checks = "numbers",
    .probe = probe,
};
