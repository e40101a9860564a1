/* CSVCellTypes: which numbers the cells of a row are, as a mask of bits for each cell.
 *
 * The bits of all cells of a column say which type holds them, and whether a float64 holds them
 * exactly.  A number whose text would change when it is written again, as 01234 or +5, is text.
 */
#include "core/bytes.h"
#include "core/rows.h"
#include "parse/parse_double.h"
#include "parse/row_type.h"
#include "pyflowdata/op.h"

#include <math.h>
#include <string.h>

/* As formats/csv/cells.py knows them. */
enum {
    MISSING = 1,
    TEXT = 2,
    FLOAT = 4,
    INTEGER = 8,     /* 0 to 2^63 - 1 */
    NEGATIVE = 16,   /* -2^63 to -1 */
    UNSIGNED = 32,   /* 2^63 to 2^64 - 1 */
    BEYOND = 64,     /* an integer outside these */
    INEXACT = 128,   /* an integer that float64 may not hold: one beyond them is not looked at */
    INFINITE = 256   /* digits of a float that is too large for float64 */
};

enum { MOST_DIGITS = 4000 }; /* a longer integer is text, as Python refuses it */

typedef struct csv_cell_types_attrs {
    pfd_list_string missing;
} csv_cell_types_attrs;

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    for (int64_t i = 0; i < args->num_inputs; i++) {
        const pfd_row_type *type = &args->inputs[i];
        if (type->dtype != PFD_UINT8 || type->ndim != 1)
            return pfd_refuse_rows(args, (int32_t)i, "in", "cells are bytes, uint8 (None,)", err);
    }
    args->outputs[0] = (pfd_row_type){
        .dtype = PFD_UINT16, .ndim = 1, .shape = {args->num_inputs}};
    return PFD_OK;
}

/* ---- Cells ----------------------------------------------------------------------------------- */

static inline int32_t is_digit(uint8_t c)
{
    return (uint8_t)(c - '0') <= 9;
}

static pfd_bytes stripped(pfd_bytes cell)
{
    while (cell.size > 0 && (cell.data[0] == ' ' || cell.data[0] == '\t')) {
        cell.data++;
        cell.size--;
    }
    while (cell.size > 0 && (cell.data[cell.size - 1] == ' ' || cell.data[cell.size - 1] == '\t'))
        cell.size--;
    return cell;
}

/* Words, and which bytes one of them begins with. */
typedef struct words {
    const pfd_list_string *list;
    uint8_t begins[256];
} words;

static void make_words(words *missing, const pfd_list_string *list)
{
    *missing = (words){.list = list};
    for (int64_t i = 0; i < list->size; i++) missing->begins[(uint8_t)list->data[i][0]] = 1;
}

static int32_t is_missing(const words *missing, pfd_bytes cell)
{
    if (cell.size == 0) return 1;
    if (!missing->begins[cell.data[0]]) return 0;
    for (int64_t i = 0; i < missing->list->size; i++) {
        const char *word = missing->list->data[i];
        if (strlen(word) == (size_t)cell.size && memcmp(word, cell.data, (size_t)cell.size) == 0)
            return 1;
    }
    return 0;
}

/* Digits of an integer without a sign and without a zero in front. */
static uint32_t type_of_digits(const uint8_t *digits, int64_t size, int32_t is_negative)
{
    if (size <= 15) return is_negative ? NEGATIVE : INTEGER;
    uint64_t value = 0;
    int32_t fits = size <= 20;
    for (int64_t i = 0; fits && i < size; i++)
        fits = !__builtin_mul_overflow(value, UINT64_C(10), &value) &&
               !__builtin_add_overflow(value, (uint64_t)(digits[i] - '0'), &value);
    uint32_t inexact = INEXACT;
    if (fits) { /* exact where the bits from the first one to the last are 53 at most */
        int32_t bits = 64 - __builtin_clzll(value | 1) - (value ? __builtin_ctzll(value) : 0);
        inexact = bits > 53 ? INEXACT : 0;
    }
    if (!fits) return BEYOND | inexact;
    uint64_t least = UINT64_C(1) << 63;
    if (is_negative) return (value <= least ? NEGATIVE : BEYOND) | inexact;
    return (value < least ? INTEGER : UNSIGNED) | inexact;
}

static const uint8_t *after_digits(const uint8_t *at, const uint8_t *end)
{
    while (at < end && is_digit(*at)) at++;
    return at;
}

/* The end of an exponent; `at` where there is none. */
static const uint8_t *after_exponent(const uint8_t *at, const uint8_t *end)
{
    if (at == end || (*at | 0x20) != 'e') return at;
    const uint8_t *digits = at + 1;
    if (digits < end && (*digits == '-' || *digits == '+')) digits++;
    const uint8_t *after = after_digits(digits, end);
    return after > digits ? after : at;
}

static uint32_t type_of_infinity(const uint8_t *at, const uint8_t *end)
{
    static const char word[] = "infinity";
    int64_t size = end - at;
    if (size != 3 && size != 8) return TEXT;
    for (int64_t i = 0; i < size; i++)
        if ((at[i] | 0x20) != (uint8_t)word[i]) return TEXT;
    return FLOAT;
}

/* Anything but an integer without a sign or with a minus. */
static uint32_t type_of_other(pfd_bytes cell)
{
    const uint8_t *at = cell.data, *end = cell.data + cell.size;
    if (*at == '-' || *at == '+') at++;
    const uint8_t *point = after_digits(at, end), *after = point;
    int64_t whole = point - at;
    int32_t has_point = point < end && *point == '.';
    if (has_point) after = after_digits(point + 1, end);
    if (has_point && ((whole > 1 && *at == '0') || whole + (after - point) == 1)) return TEXT;
    if (after == at) return type_of_infinity(at, end);
    const uint8_t *exponent = after;
    after = after_exponent(after, end);
    if (after < end || (!has_point && after == exponent)) return TEXT;
    double value;
    int32_t may_be_large = after > exponent || whole > 300;
    if (!may_be_large || !pfd_parse_double((const char *)cell.data, cell.size, &value))
        return FLOAT;
    return isinf(value) ? FLOAT | INFINITE : FLOAT;
}

/* ---- Usual floats ---------------------------------------------------------------------------- */

#define EACH_BYTE(byte) (UINT64_C(0x0101010101010101) * (byte))

/* The top bit of each byte that is not a digit. */
static inline uint64_t other_than_digits(uint64_t bytes)
{
    uint64_t x = bytes ^ EACH_BYTE('0');
    return (((x & EACH_BYTE(0x7f)) + EACH_BYTE(0x76)) | x) & EACH_BYTE(0x80);
}

/* The top bit of each byte that is a point. */
static inline uint64_t points(uint64_t bytes)
{
    uint64_t x = bytes ^ EACH_BYTE('.');
    return ~(((x & EACH_BYTE(0x7f)) + EACH_BYTE(0x7f)) | x) & EACH_BYTE(0x80);
}

/* Whether 8 to 16 bytes are digits and one point, with no zero in front that is written for
 * nothing. */
static inline int32_t is_usual_float(const uint8_t *at, int64_t size)
{
    if (*at == '0' ? at[1] != '.' : !is_digit(*at)) return 0;
    uint64_t first = pfd_load_le64(at), last = pfd_load_le64(at + size - 8);
    uint64_t found = points(first), other = other_than_digits(first) ^ found;
    uint64_t skipped = size == 16 ? 0 : ~UINT64_C(0) >> 8 * (size - 8); /* are in `first`, too */
    uint64_t more = points(last) & ~skipped;
    other |= (other_than_digits(last) & ~skipped) ^ more;
    return !other && __builtin_popcountll(found) + __builtin_popcountll(more) == 1;
}

static uint32_t type_of(const words *missing, pfd_bytes cell)
{
    if (cell.size && (cell.data[0] <= ' ' || cell.data[cell.size - 1] <= ' '))
        cell = stripped(cell);
    if (is_missing(missing, cell)) return MISSING;
    int32_t is_negative = *cell.data == '-';
    const uint8_t *digits = cell.data + is_negative, *end = cell.data + cell.size;
    int64_t size = end - digits;
    if (size >= 8 && size <= 16 && is_usual_float(digits, size)) return FLOAT;
    size = after_digits(digits, end) - digits;
    if (size == 0 || digits + size < end) return type_of_other(cell);
    if (cell.size > MOST_DIGITS) return TEXT;
    if (*digits != '0') return type_of_digits(digits, size, is_negative);
    if (size > 1) return TEXT;
    return is_negative ? FLOAT : INTEGER; /* the integer 0 has no sign */
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    (void)err;
    const csv_cell_types_attrs *attrs = args->attrs;
    words missing;
    make_words(&missing, &attrs->missing);
    uint16_t *types = (void *)args->outputs[0]->data;
    for (int64_t i = 0; i < args->num_inputs; i++)
        for (int64_t row = 0; row < args->num_rows; row++)
            types[row * args->num_inputs + i] =
                (uint16_t)type_of(&missing, pfd_row_bytes(args->inputs[i], row));
    return PFD_OK;
}

static const pfd_attr attr_table[] = {
    PFD_STRINGS_ATTR(csv_cell_types_attrs, missing, "",
                     "Cells that are missing values, besides empty ones."),
};

static const pfd_port inputs[] = {{"in", "The cells, a column for each input, uint8 (None,)."}};

static const pfd_port outputs[] = {
    {"out", "For each cell the sum of what it is: 1 missing, 2 text, 4 a float, 8 an integer from "
            "0 to 2**63 - 1, 16 one from -2**63 to -1, 32 one from 2**63 to 2**64 - 1, 64 another "
            "integer, 128 an integer that float64 may not hold, 256 a finite float beyond float64; "
            "uint16 (columns,)."},
};

const pfd_op pfd_op_csv_cell_types = {
    PFD_OP_SIZES,
    .flags = PFD_MANY_INPUTS | PFD_TAKES_RAGGED,
    .name = "CSVCellTypes",
    .doc = "Says which numbers the cells of a CSV file are, to find the types of its columns: the "
           "types of all cells of a column, as bits, say which dtype holds them.",
    PFD_OP_ATTRS(csv_cell_types_attrs, attr_table),
    PFD_OP_INPUTS(inputs),
    PFD_OP_OUTPUTS(outputs),
    .infer = infer,
    .compute = compute,
};
