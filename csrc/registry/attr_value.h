/* registry/attr_value.h -- checks the value of one attr and writes it into the op's struct.
 *
 * OWNERSHIP  Written pointers point into `memory`, never into the given value.
 * ERRORS     PFD_INVALID_ARGUMENT for a value that the user gave.
 */
#ifndef PFD_REGISTRY_ATTR_VALUE_H
#define PFD_REGISTRY_ATTR_VALUE_H
#include "pyflowdata/pyflowdata.h"

/* Bytes and alignment of a value in the struct, and its name for messages; 0, 0 and NULL if `type`
 * is not one of PFD_ATTR_*. */
typedef struct pfd_attr_type {
    int64_t bytes, alignment;
    const char *name;
} pfd_attr_type;
pfd_attr_type pfd_attr_type_of(int32_t type);

/* Checks `value` against the row and writes it at `out`; strings and lists are copied to `memory`.
 * PFD_INVALID_ARGUMENT: the value is not allowed. */
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
