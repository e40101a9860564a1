/* sources/inferred_fields.h -- sets the list of fields of an op to the fields that a file has.
 *
 * Each field of the file becomes an output, KEY:TYPE, in the order of the file.  A field with the
 * name of an output that every reader has (mask, id) becomes NAME=KEY:TYPE, where NAME is KEY and
 * as many '_' as make it unique.
 */
#ifndef PFD_SOURCES_INFERRED_FIELDS_H
#define PFD_SOURCES_INFERRED_FIELDS_H
#include "pyflowdata/op.h"

typedef struct pfd_inferred_field {
    const char *key; /* the name in the file; ends with a 0 */
    int64_t key_size;
    char type[120]; /* as in parse/row_type.h */
} pfd_inferred_field;

/* Sets the attr to the n fields of `file`.  PFD_UNSUPPORTED: a key cannot be written in a field. */
pfd_status pfd_inferred_fields_set(const pfd_propose_args *args, const char *attr,
                                   const pfd_file *file, const pfd_inferred_field *fields,
                                   int64_t n, pfd_error *err);
#endif
