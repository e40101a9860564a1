/* registry/attrs.h -- writes the values that a user gave into an op's attr struct.
 *
 * OWNERSHIP  A pfd_attrs owns copies of its strings and lists; tables are borrowed for the call.
 * THREADS    Immutable once its creator has completed it: any thread.
 */
#ifndef PFD_REGISTRY_ATTRS_H
#define PFD_REGISTRY_ATTRS_H
#include "core/error.h"
#include "pyflowdata/pyflowdata.h"

/* A parsed attr struct; strings and lists in it are owned by it. */
typedef struct pfd_attrs pfd_attrs;

/* Makes a struct of struct_size bytes from defaults and values.  Values whose name is not in the
 * table belong to another table and are skipped.  PFD_INVALID_ARGUMENT: a value has the wrong
 * type or is out of range, or a required attr is missing.  An attr with PFD_ATTR_FOUND and
 * without a default may be missing: it is 0 or empty until pfd_attrs_set().  The caller frees
 * *out. */
pfd_status pfd_attrs_create(const pfd_attr *table, uint32_t count, uint32_t struct_size,
                            const pfd_attr_value *values, int64_t num_values, pfd_attrs **out,
                            pfd_error *err);
void pfd_attrs_free(pfd_attrs *attrs); /* accepts NULL */

/* Sets one attr, by the same rules.  *kept is a copy of the value, which lives as long as the
 * attrs. */
pfd_status pfd_attrs_set(pfd_attrs *attrs, const pfd_attr *row, const pfd_attr_value *value,
                         pfd_attr_value *kept, pfd_error *err);

/* Whether there is a value for this row among those given. */
int32_t pfd_attrs_has_value(const pfd_attr *row, const pfd_attr_value *values, int64_t n);

/* PFD_INVALID_ARGUMENT: the attr is needed; `why` ends the sentence, or is "". */
pfd_status pfd_attrs_fail_missing(const pfd_attr *row, const char *why, pfd_error *err);
const void *pfd_attrs_struct(const pfd_attrs *attrs) PFD_PRIVATE;
void *pfd_attrs_unsettled(pfd_attrs *attrs); /* the same struct, for its creator to complete */

/* "name=value" of one attr, written as in pfd_attr.default_value, with control bytes as \xNN; cut
 * to capacity, which is at least 8. */
void pfd_attrs_format(const pfd_attrs *attrs, const pfd_attr *row, char *out, size_t capacity);
#endif
