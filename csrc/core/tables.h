/* core/tables.h -- arrays that the program made, such as a column of lengths, by number.
 *
 * An attr of type PFD_ATTR_OBJECT is the number of a Python object.  Where the object is a table,
 * Python hands its array to pfd_table_put(), of pyflowdata.h, before a loader that needs it opens.
 *
 * OWNERSHIP  The arrays are borrowed: valid as long as a node with the attr lives.
 * THREADS    Everything here may be called from any thread.
 */
#ifndef PFD_CORE_TABLES_H
#define PFD_CORE_TABLES_H
#include "pyflowdata/pyflowdata.h"

/* The table with a number; PFD_INTERNAL where it was not put. */
pfd_status pfd_table_find(int64_t number, pfd_table *out, pfd_error *err);
#endif
