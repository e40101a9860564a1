/* ToNumber: the number that a text states. */
#include "core/convert.h"
#include "core/op_shorthand.h"
#include "core/rows.h"
#include "parse/number_text.h"
#include "parse/row_type.h"
#include "pyflowdata/pyflowdata.h"

#include <inttypes.h>
#include <math.h>

enum { MOST_SHOWN = 40 }; /* bytes of a text in a message */

typedef struct to_number_attrs {
    int32_t dtype;
} to_number_attrs;

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const to_number_attrs *attrs = args->attrs;
    PFD_TRY(pfd_expect_bytes(args, err));
    args->outputs[0] = (pfd_row_type){.dtype = attrs->dtype};
    return PFD_OK;
}

static int32_t is_space(uint8_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Reads digits from text[i] on, which become *value.  Returns the place after them, or of the digit
 * with which the number is above 2^64 - 1. */
static int64_t read_digits(pfd_bytes text, int64_t i, uint64_t *value)
{
    for (*value = 0; i < text.size; i++) {
        uint64_t digit = (uint64_t)text.data[i] - '0', next;
        if (digit > 9 || __builtin_mul_overflow(*value, 10, &next) ||
            __builtin_add_overflow(next, digit, &next))
            return i;
        *value = next;
    }
    return i;
}

/* Reads an integer into the int64 or uint64 `number`, and says which of them in *dtype. Returns the
 * bytes used. */
static int64_t read_integer(pfd_bytes text, void *number, int32_t *dtype)
{
    int32_t has_sign = text.size > 0 && (text.data[0] == '-' || text.data[0] == '+');
    int32_t is_negative = has_sign && text.data[0] == '-';
    uint64_t value;
    int64_t used = read_digits(text, has_sign, &value);
    *dtype = is_negative ? PFD_INT64 : PFD_UINT64;
    if (is_negative && value > (uint64_t)INT64_MAX + 1) return 0;
    *(uint64_t *)number = is_negative ? 0 - value : value;
    return used > has_sign ? used : 0;
}

/* Reads a float64, of which 1e400 is none.  Returns the bytes used. */
static int64_t read_float(pfd_bytes text, double *number)
{
    int64_t used = pfd_parse_double((const char *)text.data, text.size, number);
    int32_t is_word = used > 0 && text.data[used - 1] >= 'A'; /* inf or nan */
    return isfinite(*number) || is_word ? used : 0;
}

static pfd_status convert(const pfd_compute_args *args, int64_t i, pfd_error *err)
{
    const to_number_attrs *attrs = args->attrs;
    pfd_bytes row = pfd_row_bytes(args->inputs[0], i), text = row;
    while (text.size > 0 && is_space(text.data[text.size - 1])) text.size--;
    while (text.size > 0 && is_space(text.data[0])) text.data++, text.size--;
    _Alignas(8) uint8_t number[8] = {0};
    int32_t from = PFD_FLOAT64, is_float = pfd_dtype_is_float(attrs->dtype);
    int64_t used = is_float ? read_float(text, (void *)number) : read_integer(text, number, &from);
    int64_t bytes = pfd_dtype_size(attrs->dtype);
    if (used > 0 && used == text.size &&
        pfd_convert(from, number, attrs->dtype, args->outputs[0]->data + i * bytes, 1,
                    PFD_OVERFLOW_RAISE) == 1)
        return PFD_OK;
    int32_t shown = row.size > MOST_SHOWN ? MOST_SHOWN : (int32_t)row.size;
    int64_t stop = used < text.size ? text.data - row.data + used : 0;
    const uint8_t *place = stop > 0 ? row.data + stop : row.data; /* NULL: an empty row */
    return args->host->fail_row(err, i, pfd_place_in_record(args, i, place), PFD_CORRUPT_DATA,
                                "byte %" PRId64 " of the text '%.*s'%s: expected %s of %s and "
                                "nothing else", stop, shown, shown ? (const char *)row.data : "",
                                shown < row.size ? "..." : "",
                                is_float ? "a decimal number" : "a decimal integer",
                                pfd_dtype_name(attrs->dtype));
}

PFD_COMPUTE_EACH_ROW(convert)

static const pfd_attr attr_table[] = {
    PFD_DTYPE_ATTR(to_number_attrs, dtype, NULL,
                   "int8|uint8|int16|uint16|int32|uint32|int64|uint64|float16|float32|float64|"
                   "bfloat16", "The dtype of the numbers."),
};

static const pfd_port inputs[] = {{"in", "Rows of text, uint8 of one dimension, which may vary."}};
static const pfd_port outputs[] = {{"out", "One number for each row."}};

const pfd_op pfd_op_to_number = {
    PFD_ROW_OP(PFD_TAKES_RAGGED, inputs, outputs),
    .name = "ToNumber",
    .doc = "Parses the text of each row as a decimal number. White space around the number is "
           "ignored. A text with anything else counts as damaged, and so does a number that the "
           "dtype cannot hold; for an integer dtype these are also 1.5 and 1e3.",
    PFD_OP_ATTRS(to_number_attrs, attr_table),
};
