/* text/row_type.h -- the type of a row in a message. */
#ifndef PFD_TEXT_ROW_TYPE_H
#define PFD_TEXT_ROW_TYPE_H
#include "pyflowdata/op.h"

/* "float64 (2,)"; `out` holds `capacity` >= 256 bytes; returns out. */
const char *pfd_format_row_type(const pfd_row_type *type, char *out, size_t capacity);
#endif
