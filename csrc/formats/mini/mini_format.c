/* The format of this example: text lines of two numbers.  Copy it for a format of your own. */
#include "parse/parse_double.h"
#include "parse/text_probe.h"
#include "pyflowdata/op.h"

enum { most_lines = 20 };

static int64_t skip_blanks(const uint8_t *line, int64_t size, int64_t at)
{
    while (at < size && (line[at] == ' ' || line[at] == '\t' || line[at] == '\r')) at++;
    return at;
}

static int32_t is_pair(const uint8_t *line, int64_t size)
{
    int64_t at = 0;
    for (int field = 0; field < 2; field++) {
        double value;
        at = skip_blanks(line, size, at);
        int64_t used = pfd_parse_double((const char *)line + at, size - at, &value);
        at = skip_blanks(line, size, at + used);
        if (used == 0 || (field == 0 && (at == size || line[at++] != ','))) return 0;
    }
    return at == size;
}

/* Such lines are columns of a CSV as well, which is then the better guess: the suffix decides. */
static int32_t probe(const pfd_probe_args *args)
{
    if (!pfd_is_text(args->data, args->size)) return PFD_PROBE_NO;
    pfd_text_lines lines = pfd_text_lines_of(args, most_lines);
    const uint8_t *line;
    int64_t size, pairs = 0;
    for (; pfd_text_lines_next(&lines, &line, &size); pairs++)
        if (!is_pair(line, size)) return PFD_PROBE_NO;
    return pairs > 0 ? PFD_PROBE_POSSIBLE : PFD_PROBE_NO;
}

const pfd_format pfd_format_mini = {
    .struct_size = sizeof(pfd_format),
    .flags = PFD_FORMAT_TEXT,
    .name = "mini",
    .title = "lines of two numbers",
    .doc = "The format of the example: text lines of two numbers with a comma between them.",
    .suffixes = ".mini",
    .reader = "MiniReader",
    .decoders = "MiniDecoder",
    .checks = "numbers",
    .probe = probe,
};
