/* A line "NUMBER,NUMBER", with spaces and tabs around a number.
 *
 * Most of a parser is what it says about damage: where, what was expected, what was found. */
#include "formats/mini/mini_parser.h"

#include "parse/quote.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A place in one record, whose bytes are not ended by a 0. */
typedef struct cursor {
    const pfd_host *host;
    const uint8_t *data;
    int64_t size, row;
    int64_t field; /* where the number began that is being parsed, or was parsed last */
    int64_t at;
} cursor;

static int32_t is_blank(uint8_t byte)
{
    return byte == ' ' || byte == '\t';
}

static void skip_blanks(cursor *c)
{
    while (c->at < c->size && is_blank(c->data[c->at])) c->at++;
}

/* The text up to the next comma, in quotes and without blanks at its end. */
static const char *quote_field(const cursor *c, char *out, size_t capacity)
{
    const uint8_t *comma = memchr(c->data + c->field, ',', (size_t)(c->size - c->field));
    int64_t end = comma ? comma - c->data : c->size;
    while (end > c->field + 1 && is_blank(c->data[end - 1])) end--;
    return pfd_quote_bytes(c->data + c->field, end - c->field, out, capacity);
}

static const char *describe(const cursor *c, char *out, size_t capacity)
{
    char field[256], byte[256];
    int32_t is_number = c->at == c->field; /* one is expected */
    if (c->at >= c->size) return "the end of the line";
    if (c->data[c->at] == ',') return is_number ? "an empty field" : "one more comma";
    if (is_number) return quote_field(c, out, capacity);
    (void)snprintf(out, capacity, "%s in %s",
                   pfd_quote_bytes(c->data + c->at, 1, byte, sizeof byte),
                   quote_field(c, field, sizeof field));
    return out;
}

/* With the row and the byte the host names file, line and place, and on_error can skip the row. */
static pfd_status fail(const cursor *c, const char *expected, pfd_error *err)
{
    char found[520];
    return c->host->fail_row(err, c->row, c->at, PFD_CORRUPT_DATA,
                             "column %" PRId64 ": expected %s, found %s; a row is two numbers with "
                             "one comma between",
                             c->at + 1, expected, describe(c, found, sizeof found));
}

static pfd_status parse_number(cursor *c, double *number, pfd_error *err)
{
    skip_blanks(c);
    c->field = c->at;
    const char *text = (const char *)c->data + c->at;
    int64_t used = c->host->parse_double(text, c->size - c->at, number);
    if (used == 0) return fail(c, "a number", err);
    c->at += used;
    skip_blanks(c);
    return PFD_OK;
}

pfd_status pfd_mini_parse(const pfd_host *host, const pfd_record *records, int64_t row,
                          double *numbers, pfd_error *err)
{
    cursor c = {.host = host, .data = records[row].data, .size = records[row].size, .row = row};
    PFD_TRY(parse_number(&c, &numbers[0], err));
    if (c.at == c.size || c.data[c.at] != ',') return fail(&c, "a comma", err);
    c.at++;
    PFD_TRY(parse_number(&c, &numbers[1], err));
    return c.at == c.size ? PFD_OK : fail(&c, "the end of the line", err);
}
