/* core/dtype.h -- the element types by number and by name.  pfd_dtype_name() and pfd_dtype_size()
 * are public: pyflowdata.h. */
#ifndef PFD_CORE_DTYPE_H
#define PFD_CORE_DTYPE_H
#include "pyflowdata/pyflowdata.h"

/* All names, as in pfd_attr.choices: "bool|int8|...". */
extern const char *const pfd_dtype_choices;

/* The dtype of a NumPy dtype name; 0 for any other text. */
int32_t pfd_dtype_parse(const char *name);
#endif
