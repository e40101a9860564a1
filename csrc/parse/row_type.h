/* parse/row_type.h -- the type of a row in a message. */
#ifndef PFD_PARSE_ROW_TYPE_H
#define PFD_PARSE_ROW_TYPE_H
#include "pyflowdata/op.h"

/* "float64 (2,)"; `out` holds `capacity` >= 256 bytes; returns out. */
const char *pfd_format_row_type(const pfd_row_type *type, char *out, size_t capacity);

/* Fails with "the rows of input 'in' are <type>; <expected>". */
pfd_status pfd_refuse_rows(const pfd_infer_args *args, int32_t input, const char *name,
                           const char *expected, pfd_error *err);
/* Fails unless the rows of input 'in', which is the only one, are bytes: uint8 (None,) or (n,). */
pfd_status pfd_expect_bytes(const pfd_infer_args *args, pfd_error *err);
#endif
