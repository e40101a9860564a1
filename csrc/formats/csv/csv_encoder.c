/* CSVEncoder: the fields of each row as a line of a CSV file. */
#include "core/op_shorthand.h"
#include "core/rows.h"
#include "parse/number_text.h"
#include "parse/row_type.h"

#include <inttypes.h>
#include <string.h>

typedef struct csv_encoder_attrs {
    const char *delimiter;
} csv_encoder_attrs;

static pfd_status check_delimiter(const pfd_infer_args *args, pfd_error *err)
{
    const char *delimiter = ((const csv_encoder_attrs *)args->attrs)->delimiter;
    uint8_t first = (uint8_t)delimiter[0], letter = first | 0x20;
    int32_t is_of_numbers = (first >= '0' && first <= '9') || (letter >= 'a' && letter <= 'z') ||
                            (first && strchr("+-.", first));
    if (strlen(delimiter) == 1 && first < 0x80 && !strchr("\"\r\n", first) && !is_of_numbers)
        return PFD_OK;
    return args->host->fail_attr(
        err, "delimiter", NULL, PFD_INVALID_ARGUMENT,
        "is '%s'; it must be one ASCII character that is neither a quote nor a line break%s",
        delimiter, is_of_numbers ? ", and not a part of numbers: no letter, digit or +-." : "");
}

static pfd_status refuse(const pfd_infer_args *args, int64_t input, const char *expected,
                         pfd_error *err)
{
    char found[256];
    return args->host->fail(err, PFD_INVALID_ARGUMENT,
                            "the rows of input 'in' number %" PRId64 " are %s; %s", input,
                            pfd_format_row_type(&args->inputs[input], found, sizeof found),
                            expected);
}

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    PFD_TRY(check_delimiter(args, err));
    for (int64_t i = 0; i < args->num_inputs; i++) {
        const pfd_row_type *type = &args->inputs[i];
        if (pfd_is_ragged(type) && type->dtype == PFD_UINT8) continue;
        if (pfd_is_ragged(type))
            return refuse(args, i, "rows of different lengths have no columns: use Pad before",
                          err);
        if (pfd_row_elements(type) == 0)
            return refuse(args, i, "a row without elements has no columns", err);
    }
    args->outputs[0] = (pfd_row_type){.dtype = PFD_UINT8, .ndim = 1, .shape = {-1}};
    return PFD_OK;
}

/* ---- Text ------------------------------------------------------------------------------------ */

/* What a byte of a cell means. */
enum { IS_QUOTE = 1, IS_BREAK = 2, IS_BLANK = 4, IS_COMMENT = 8 };

static void make_table(uint8_t *table, const csv_encoder_attrs *attrs)
{
    memset(table, 0, 256);
    for (const char *one = " \t\v\f"; *one; one++) table[(uint8_t)*one] = IS_BLANK;
    table['#'] = IS_COMMENT;
    table['"'] = IS_QUOTE;
    table['\r'] = table['\n'] = IS_BREAK;
    table[(uint8_t)attrs->delimiter[0]] |= IS_BREAK;
}

/* Counts the quotes in a cell.  *needs_quotes: without quotes around it the cell would not be read
 * as the same text. */
static int64_t count_quotes(const uint8_t *table, pfd_bytes cell, int32_t *needs_quotes)
{
    *needs_quotes = 1;
    if (cell.size == 0) return 0;
    int64_t quotes = 0;
    uint32_t found = table[cell.data[0]] | (table[cell.data[cell.size - 1]] & IS_BLANK);
    for (int64_t i = 0; i < cell.size; i++) {
        uint32_t mark = table[cell.data[i]];
        found |= mark & (IS_QUOTE | IS_BREAK);
        quotes += mark & IS_QUOTE;
    }
    *needs_quotes = found != 0;
    return quotes;
}

static uint8_t *put_text(const uint8_t *table, pfd_bytes cell, uint8_t *to)
{
    int32_t needs_quotes;
    int64_t quotes = count_quotes(table, cell, &needs_quotes);
    if (needs_quotes) *to++ = '"';
    if (!quotes) {
        if (cell.size) memcpy(to, cell.data, (size_t)cell.size);
        to += cell.size;
    } else {
        for (int64_t i = 0; i < cell.size; i++) {
            if (cell.data[i] == '"') *to++ = '"';
            *to++ = cell.data[i];
        }
    }
    if (needs_quotes) *to++ = '"';
    return to;
}

/* ---- Numbers --------------------------------------------------------------------------------- */

static uint8_t *put_numbers(int32_t dtype, const void *data, int64_t n, uint8_t delimiter,
                            uint8_t *to)
{
    switch (dtype) {
#define CASE(number, type, print)                                                                  \
    case number:                                                                                   \
        for (int64_t i = 0; i < n; i++) {                                                          \
            to = print(((const type *)data)[i], to);                                               \
            *to++ = delimiter;                                                                     \
        }                                                                                          \
        break;
        CASE(PFD_BOOL, uint8_t, pfd_print_uint64)
        CASE(PFD_INT8, int8_t, pfd_print_int64)
        CASE(PFD_UINT8, uint8_t, pfd_print_uint64)
        CASE(PFD_INT16, int16_t, pfd_print_int64)
        CASE(PFD_UINT16, uint16_t, pfd_print_uint64)
        CASE(PFD_INT32, int32_t, pfd_print_int64)
        CASE(PFD_UINT32, uint32_t, pfd_print_uint64)
        CASE(PFD_INT64, int64_t, pfd_print_int64)
        CASE(PFD_UINT64, uint64_t, pfd_print_uint64)
        CASE(PFD_FLOAT16, uint16_t, pfd_print_float16)
        CASE(PFD_BFLOAT16, uint16_t, pfd_print_bfloat16)
        CASE(PFD_FLOAT32, float, pfd_print_float32)
        CASE(PFD_FLOAT64, double, pfd_print_float64)
#undef CASE
    default: break;
    }
    return to;
}

/* ---- Lines ----------------------------------------------------------------------------------- */

/* An upper bound of the bytes of a range's lines. */
static int64_t most_bytes(const pfd_compute_args *args, const uint8_t *table)
{
    int64_t numbers = 0, text = 0;
    for (int64_t i = 0; i < args->num_inputs; i++) {
        const pfd_tensor *in = args->inputs[i];
        if (!in->is_ragged) numbers += pfd_row_elements(&in->type) * (PFD_MOST_NUMBER_BYTES + 1);
        for (int64_t row = 0; in->is_ragged && row < args->num_rows; row++) {
            pfd_bytes cell = pfd_row_bytes(in, row);
            int32_t needs_quotes;
            text += cell.size + count_quotes(table, cell, &needs_quotes) + 3;
        }
    }
    return numbers * args->num_rows + text;
}

static uint8_t *put_line(const pfd_compute_args *args, const uint8_t *table, int64_t row,
                         uint8_t *to)
{
    const csv_encoder_attrs *attrs = args->attrs;
    uint8_t delimiter = (uint8_t)attrs->delimiter[0];
    for (int64_t i = 0; i < args->num_inputs; i++) {
        const pfd_tensor *in = args->inputs[i];
        if (in->is_ragged) {
            to = put_text(table, pfd_row_bytes(in, row), to);
            *to++ = delimiter;
            continue;
        }
        to = put_numbers(in->type.dtype, in->data + row * in->row_bytes,
                         pfd_row_elements(&in->type), delimiter, to);
    }
    to[-1] = '\n';
    return to;
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    uint8_t table[256];
    make_table(table, args->attrs);
    uint8_t *to = args->host->alloc(args->scratch, most_bytes(args, table));
    if (!to) return args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for lines");
    for (int64_t row = 0; row < args->num_rows; row++) {
        uint8_t *begin = to;
        to = put_line(args, table, row, to);
        pfd_set_row(args, 0, row, begin, to - begin);
    }
    return PFD_OK;
}

static const pfd_attr attr_table[] = {
    PFD_STRING_ATTR(csv_encoder_attrs, delimiter, ",",
                    "One ASCII character between two cells, which is not a part of numbers."),
};

static const pfd_port inputs[] = {
    {"in", "The fields. Rows of bytes, uint8 (None,), are one cell; other rows have a cell for "
           "each of their numbers, in row-major order."},
};
static const pfd_port outputs[] = {
    {"out", "The bytes of each line, with the newline at its end, uint8 (None,)."},
};

const pfd_op pfd_op_csv_encoder = {
    PFD_ROW_OP(PFD_MANY_INPUTS | PFD_TAKES_RAGGED, inputs, outputs),
    .name = "CSVEncoder",
    .doc = "Encodes the fields of each row as a line of a CSV file. Numbers are the shortest text "
           "that reads as the same number; text is quoted where needed. The lines, joined, are a "
           "file without a header, which CSVReader reads.",
    PFD_OP_ATTRS(csv_encoder_attrs, attr_table),
};
