/* formats/csv/csv_value.h -- parses the text of one field into a value of a dtype. */
#ifndef PFD_FORMATS_CSV_CSV_VALUE_H
#define PFD_FORMATS_CSV_CSV_VALUE_H
#include <stdint.h>

#define PFD_CSV_VALUE 0        /* the value was written */
#define PFD_CSV_NO_VALUE 1     /* the text is not a value of the dtype */
#define PFD_CSV_OUT_OF_RANGE 2 /* an integer outside the range of the dtype */

/* Parses all of text[0, size) into one value at `out`.  Floats are parsed by pfd_parse_double(),
 * and float32 is rounded from the float64.  Integers are decimal digits with or without a sign.
 * Bools are true, false, t, f, yes, no, y, n, 1 and 0 in any case.  `dtype` must be one of
 * these. */
int32_t pfd_csv_value(int32_t dtype, const uint8_t *text, int64_t size, void *out);

/* Parses neighbouring fields, given as in csv_doubles.h, into integers.  Returns how many, from the
 * first on, are digits with or without a minus sign and in the range of the dtype. */
int64_t pfd_csv_integers(int32_t dtype, const uint8_t *text, int64_t begin, const uint32_t *ends,
                         int64_t n, void *out);

/* Whether fields can be read as this dtype: all but floats of 16 bits can. */
int32_t pfd_csv_value_is_known(int32_t dtype);

/* Bytes of a value. */
int64_t pfd_csv_value_bytes(int32_t dtype);

/* What pfd_csv_value() accepts for a dtype, for a message. */
const char *pfd_csv_value_kind(int32_t dtype);
#endif
