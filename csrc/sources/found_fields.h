/* sources/found_fields.h -- the fields that a file has, as an op's list of fields would name them.
 *
 * To infer attrs: each field of the file is an output, KEY:TYPE in the order of the file.  One that
 * is called as an output of every reader (mask, id) is NAME=KEY:TYPE, with as many '_' after its
 * KEY as make the name unique.
 */
#ifndef PFD_SOURCES_FOUND_FIELDS_H
#define PFD_SOURCES_FOUND_FIELDS_H
#include "pyflowdata/op.h"

typedef struct pfd_found_field {
    const char *key; /* as the file has it; ends with a 0 */
    int64_t key_size;
    char type[120]; /* as in parse/field_spec.h */
} pfd_found_field;

/* Sets the attr to the n fields of `file`.  PFD_UNSUPPORTED: a key cannot be written in a field. */
pfd_status pfd_found_fields_set(const pfd_propose_args *args, const char *attr,
                                const pfd_file *file, const pfd_found_field *fields, int64_t n,
                                pfd_error *err);
#endif
