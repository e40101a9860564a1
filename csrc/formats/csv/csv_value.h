/* formats/csv/csv_value.h -- the text of one field to a value of a dtype. */
#ifndef PFD_FORMATS_CSV_CSV_VALUE_H
#define PFD_FORMATS_CSV_CSV_VALUE_H
#include <stdint.h>

#define PFD_CSV_VALUE 0        /* it was written */
#define PFD_CSV_NO_VALUE 1     /* the text is not a value of the dtype */
#define PFD_CSV_OUT_OF_RANGE 2 /* an integer that the dtype does not hold */

/* All of text[0, size) to one value at `out`.  Floats as pfd_parse_double(), float32 rounded from
 * the nearest float64; integers are decimal digits with or without a sign; bools are true, false,
 * t, f, yes, no, y, n, 1 and 0 in any case.  `dtype` is one of these. */
int32_t pfd_csv_value(int32_t dtype, const uint8_t *text, int64_t size, void *out);

/* Neighbouring fields as in csv_doubles.h, of an integer dtype.  Returns how many, from the first
 * on, are digits with or without a minus, and in its range. */
int64_t pfd_csv_integers(int32_t dtype, const uint8_t *text, int64_t begin, const uint32_t *ends,
                         int64_t n, void *out);

/* Whether there are fields of a dtype: float16 cannot be read. */
int32_t pfd_csv_value_is_known(int32_t dtype);

/* Bytes of a value. */
int64_t pfd_csv_value_bytes(int32_t dtype);

/* What pfd_csv_value() accepts for a dtype, for a message. */
const char *pfd_csv_value_kind(int32_t dtype);
#endif
