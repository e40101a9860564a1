/* Parses the bytes of a record, and makes the message about a malformed one. */
#include "formats/mini/mini_parser.h"

#include "parse/number_text.h"
#include "parse/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int32_t is_blank(uint8_t byte)
{
    return byte == ' ' || byte == '\t';
}

static int64_t skip_blanks(const uint8_t *line, int64_t size, int64_t at)
{
    while (at < size && is_blank(line[at])) at++;
    return at;
}

static int32_t refuse(pfd_mini_fault *fault, int64_t at, const char *expected)
{
    fault->at = at;
    fault->expected = expected;
    return 0;
}

/* Parses a number, and moves *at to the first byte after it and its blanks. */
static int32_t parse_number(const uint8_t *line, int64_t size, int64_t *at, double *number,
                            pfd_mini_fault *fault)
{
    int64_t begin = fault->field = skip_blanks(line, size, *at);
    int64_t used = pfd_parse_double((const char *)line + begin, size - begin, number);
    *at = skip_blanks(line, size, begin + used);
    return used > 0 || refuse(fault, begin, "a number");
}

int32_t pfd_mini_parse(const uint8_t *line, int64_t size, double *numbers, pfd_mini_fault *fault)
{
    int64_t at = 0;
    if (!parse_number(line, size, &at, &numbers[0], fault)) return 0;
    if (at == size || line[at] != ',') return refuse(fault, at, "a comma");
    at++;
    if (!parse_number(line, size, &at, &numbers[1], fault)) return 0;
    return at == size || refuse(fault, at, "the end of the line");
}

/* Quotes the field that begins at `begin`, without the blanks at its end. */
static const char *quote_field(const pfd_record *line, int64_t begin, char *out, size_t capacity)
{
    const uint8_t *comma = memchr(line->data + begin, ',', (size_t)(line->size - begin));
    int64_t end = comma ? comma - line->data : line->size;
    while (end > begin + 1 && is_blank(line->data[end - 1])) end--;
    return pfd_quote_bytes(line->data + begin, end - begin, out, capacity);
}

static const char *describe(const pfd_record *line, const pfd_mini_fault *fault, char *out,
                            size_t capacity)
{
    char byte[256], field[256];
    int32_t is_number = fault->at == fault->field;
    if (fault->at >= line->size) return "the end of the line";
    if (line->data[fault->at] == ',') return is_number ? "an empty field" : "one more comma";
    if (is_number) return quote_field(line, fault->at, out, capacity);
    (void)snprintf(out, capacity, "%s in %s",
                   pfd_quote_bytes(line->data + fault->at, 1, byte, sizeof byte),
                   quote_field(line, fault->field, field, sizeof field));
    return out;
}

/* The host adds file, line and byte to the message, and on_error can skip the row. */
pfd_status pfd_mini_fail(const pfd_compute_args *args, int64_t row, const pfd_mini_fault *fault,
                         pfd_error *err)
{
    char found[520];
    return args->host->fail_row(err, row, fault->at, PFD_CORRUPT_DATA,
                                "column %" PRId64 ": expected %s, found %s; a row is two numbers "
                                "with one comma between",
                                fault->at + 1, fault->expected,
                                describe(&args->records[row], fault, found, sizeof found));
}
