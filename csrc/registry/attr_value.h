/* registry/attr_value.h -- one attr: checking a value and writing it into the op's struct.
 *
 * OWNERSHIP  What is written points into `memory`, never into the value given.
 * ERRORS     PFD_INVALID_ARGUMENT for what a user gave.
 */
#ifndef PFD_REGISTRY_ATTR_VALUE_H
#define PFD_REGISTRY_ATTR_VALUE_H
#include "pyflowdata/pyflowdata.h"

/* Bytes and alignment of a value in the struct, and its name for messages; 0, 0 and NULL when
 * `type` is not a PFD_ATTR_*. */
typedef struct pfd_attr_type {
    int64_t bytes, alignment;
    const char *name;
} pfd_attr_type;
pfd_attr_type pfd_attr_type_of(int32_t type);

/* Checks `value` against the row and writes it at `out`; strings and lists are copied to `memory`.
 * PFD_INVALID_ARGUMENT names attr, value and what is allowed. */
pfd_status pfd_attr_store(const pfd_attr *row, const pfd_attr_value *value, pfd_scratch *memory,
                          void *out, pfd_error *err);

/* The same with the row's default, which is not NULL. */
pfd_status pfd_attr_store_default(const pfd_attr *row, pfd_scratch *memory, void *out,
                                  pfd_error *err);

/* Splits "a|b|c" in place over `buffer`; returns how many names there are, or -1 if there are
 * empty ones or too many. */
#define PFD_MAX_CHOICES 64
#define PFD_CHOICES_BYTES 1024
int64_t pfd_split_choices(const char *choices, char buffer[PFD_CHOICES_BYTES],
                          const char *names[PFD_MAX_CHOICES]);
#endif
