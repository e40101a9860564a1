/* core/tables.h -- arrays that the program made, such as a column of lengths, by number.
 *
 * An attr of type PFD_ATTR_OBJECT is the number of a Python object.  Where the object is a table,
 * Python puts its array here before a loader that needs it opens.
 *
 * OWNERSHIP  The arrays are borrowed: valid as long as a node with the attr lives.
 * THREADS    Everything here may be called from any thread.
 */
#ifndef PFD_CORE_TABLES_H
#define PFD_CORE_TABLES_H
#include "pyflowdata/op.h"

typedef struct pfd_table {
    const void *data;
    int64_t count; /* elements */
    int32_t dtype; /* PFD_INT64 ... */
    int32_t reserved;
    uint64_t fingerprint; /* of the contents; a state has it */
} pfd_table;

/* The table with a number; PFD_INTERNAL where it was not put. */
pfd_status pfd_table_find(int64_t number, pfd_table *out, pfd_error *err);

/* Puts a copy of *table in the place of what the number had; PFD_OUT_OF_MEMORY. */
pfd_status pfd_table_put(int64_t number, const pfd_table *table, pfd_error *err);

void pfd_table_drop(int64_t number); /* a number without a table is left alone */
#endif
