/* MiniReader: text lines of two comma-separated numbers. */
#include "pyflowdata/op.h"
#include "parse/number_pairs.h"
#include "parse/quote.h"

#include <inttypes.h>
#include <string.h>

#define EXPECTED_ROW "a row is two numbers with one comma between"

/* A place in one record. */
typedef struct cursor {
    const uint8_t *data;
    int64_t size;
    int64_t at;
} cursor;

static void skip_blanks(cursor *c)
{
    while (c->at < c->size && (c->data[c->at] == ' ' || c->data[c->at] == '\t')) c->at++;
}

/* "found" for a message: the text from `begin` up to the next comma, without blanks at its end. */
static const char *found_field(const cursor *c, int64_t begin, char *out, size_t capacity)
{
    if (begin >= c->size) return "the end of the line";
    if (c->data[begin] == ',') return "an empty field";
    const uint8_t *comma = memchr(c->data + begin, ',', (size_t)(c->size - begin));
    int64_t end = comma ? comma - c->data : c->size;
    while (end > begin + 1 && (c->data[end - 1] == ' ' || c->data[end - 1] == '\t')) end--;
    return pfd_quote_bytes(c->data + begin, end - begin, out, capacity);
}

static pfd_status fail_at(const pfd_host *host, const cursor *c, pfd_error *err)
{
    char text[256];
    pfd_status status =
        host->fail(err, PFD_CORRUPT_DATA, "column %" PRId64 ": expected a number, found %s; %s",
                   c->at + 1, found_field(c, c->at, text, sizeof text), EXPECTED_ROW);
    err->byte = c->at;
    return status;
}

/* After the number of the field that began at `begin` there is neither blank nor separator. */
static pfd_status fail_behind(const pfd_host *host, const cursor *c, int64_t begin,
                              const char *expected, pfd_error *err)
{
    char text[256], field[256];
    pfd_status status;
    if (c->at >= c->size || c->data[c->at] == ',') {
        const char *found = c->at < c->size ? "one more comma" : "the end of the line";
        status = host->fail(err, PFD_CORRUPT_DATA, "column %" PRId64 ": expected %s, found %s; %s",
                            c->at + 1, expected, found, EXPECTED_ROW);
    } else {
        status = host->fail(err, PFD_CORRUPT_DATA,
                            "column %" PRId64 ": expected %s, found %s in %s; %s", c->at + 1,
                            expected, pfd_quote_bytes(c->data + c->at, 1, text, sizeof text),
                            found_field(c, begin, field, sizeof field), EXPECTED_ROW);
    }
    err->byte = c->at;
    return status;
}

static pfd_status parse_record(const pfd_host *host, const pfd_record *record, double *row,
                               pfd_error *err)
{
    cursor c = {record->data, record->size, 0};
    for (int field = 0; field < 2; field++) {
        skip_blanks(&c);
        int64_t begin = c.at;
        int64_t used =
            host->parse_double((const char *)c.data + c.at, c.size - c.at, &row[field]);
        if (used == 0) return fail_at(host, &c, err);
        c.at += used;
        skip_blanks(&c);
        if (field == 0) {
            if (c.at >= c.size || c.data[c.at] != ',') {
                return fail_behind(host, &c, begin, "a comma", err);
            }
            c.at++;
        } else if (c.at < c.size) {
            return fail_behind(host, &c, begin, "the end of the line", err);
        }
    }
    return PFD_OK;
}

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    (void)err;
    args->outputs[0] = (pfd_row_type){.dtype = PFD_FLOAT64, .ndim = 1, .shape = {2}};
    return PFD_OK;
}

static pfd_status open_source(const pfd_open_args *args, pfd_source *out, pfd_error *err)
{
    return args->host->open_lines(args, out, err);
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    double *rows = (void *)args->outputs[0]->data;
    pfd_pairs_fn parse_pairs = pfd_pairs_best();
    for (int64_t begin = 0; begin < args->num_rows; begin += PFD_PAIRS_AT_ONCE) {
        int64_t n = args->num_rows - begin;
        if (n > PFD_PAIRS_AT_ONCE) n = PFD_PAIRS_AT_ONCE;
        uint64_t left = parse_pairs(args->records + begin, n, rows + 2 * begin);
        for (; left; left &= left - 1) {
            int64_t row = begin + __builtin_ctzll(left);
            pfd_status status = parse_record(args->host, &args->records[row], rows + 2 * row, err);
            if (status == PFD_OK) continue;
            err->row = row;
            return status;
        }
    }
    return PFD_OK;
}

static const pfd_port outputs[] = {
    {"out", "The two numbers of each line, float64 of shape (batch, 2)."},
};

const pfd_op pfd_op_mini_reader = {
    PFD_OP_SIZES,
    .flags = PFD_READS_FILES,
    .name = "MiniReader",
    .doc = "Reads text files in which each line holds two comma-separated numbers. "
           "Lines end with LF or CRLF, the last line of a file may go without; blank lines and "
           "empty files are passed over, and files are never glued together. Spaces and tabs "
           "around a number are allowed. Numbers are decimal literals as Python's float() takes "
           "them, inf and nan included, rounded to the nearest float64 whatever the locale.",
    .outputs = outputs,
    .num_outputs = PFD_COUNT(outputs),
    .infer = infer,
    .open = open_source,
    .compute = compute,
};
