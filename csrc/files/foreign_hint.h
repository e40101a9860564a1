/* files/foreign_hint.h -- what a file that a reader refused is, where it is of another program.
 *
 * THREADS  Of the caller's pfd_error only.
 */
#ifndef PFD_FILES_FOREIGN_HINT_H
#define PFD_FILES_FOREIGN_HINT_H
#include "pyflowdata/op.h"

/* Reads the beginning of the file that *err names, if its content was refused.  Where that is
 * Parquet, a zip archive or the like, the failure becomes PFD_INVALID_ARGUMENT, and its message
 * says so and how to convert the file.  Anything else stays.  Returns err->status. */
pfd_status pfd_error_explain_file(pfd_error *err);
#endif
