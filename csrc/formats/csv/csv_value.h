/* formats/csv/csv_value.h -- the text of a field as a value of a dtype, and which number it is. */
#ifndef PFD_FORMATS_CSV_CSV_VALUE_H
#define PFD_FORMATS_CSV_CSV_VALUE_H
#include "core/rows.h"

#include <stdint.h>
#include <string.h>

/* Parses all of text[0, size) into one value at `out`.  Floats are parsed by pfd_parse_double(),
 * and float32 is rounded from the float64.  Integers are decimal digits with or without a sign.
 * Bools are true, false, t, f, yes, no, y, n, 1 and 0 in any case.  `dtype` must be one of
 * these.  Returns one of the results of parse/number_text.h. */
int32_t pfd_csv_value(int32_t dtype, const uint8_t *text, int64_t size, void *out);

/* Parses neighbouring fields, given as in csv_rows.h, into integers.  Returns how many, from the
 * first on, are digits with or without a minus sign and in the range of the dtype. */
int64_t pfd_csv_integers(int32_t dtype, const uint8_t *text, int64_t begin, const uint32_t *ends,
                         int64_t n, void *out);

/* Whether fields can be read as this dtype: all but floats of 16 bits can. */
int32_t pfd_csv_value_is_known(int32_t dtype);

/* What pfd_csv_value() accepts for a dtype, for a message. */
const char *pfd_csv_value_kind(int32_t dtype);

/* ---- Which number a cell is ------------------------------------------------------------------ */

/* pyflowdata/formats/csv.py has the same numbers. */
enum {
    PFD_CSV_MISSING = 1,
    PFD_CSV_TEXT = 2,
    PFD_CSV_FLOAT = 4,
    PFD_CSV_INTEGER = 8,   /* 0 to 2^63 - 1 */
    PFD_CSV_NEGATIVE = 16, /* -2^63 to -1 */
    PFD_CSV_UNSIGNED = 32, /* 2^63 to 2^64 - 1 */
    PFD_CSV_BEYOND = 64,   /* an integer outside these */
    PFD_CSV_INEXACT = 128, /* an integer that float64 may not hold */
    PFD_CSV_INFINITE = 256 /* a finite float that is too large for float64 */
};

/* A cell without the spaces and tabs around it. */
static inline pfd_bytes pfd_csv_stripped(pfd_bytes cell)
{
    while (cell.size > 0 && (cell.data[0] == ' ' || cell.data[0] == '\t')) {
        cell.data++;
        cell.size--;
    }
    while (cell.size > 0 && (cell.data[cell.size - 1] == ' ' || cell.data[cell.size - 1] == '\t'))
        cell.size--;
    return cell;
}

/* Whether a cell, which is not empty, is one of these words. */
static inline int32_t pfd_csv_is_one_of(const pfd_list_string *words, pfd_bytes cell)
{
    for (int64_t i = 0; i < words->size; i++)
        if (strlen(words->data[i]) == (size_t)cell.size &&
            !memcmp(words->data[i], cell.data, (size_t)cell.size))
            return 1;
    return 0;
}

/* The type of a stripped cell that is not empty: all of these bits except PFD_CSV_MISSING.  A
 * number whose text would change if it were written again, such as 01234 or +5, is text. */
uint32_t pfd_csv_cell_type(pfd_bytes cell);
#endif
