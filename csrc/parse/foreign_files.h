/* parse/foreign_files.h -- files of other programs, by the bytes that they begin with.
 *
 * THREADS  Pure functions; texts are constants.
 */
#ifndef PFD_PARSE_FOREIGN_FILES_H
#define PFD_PARSE_FOREIGN_FILES_H
#include "pyflowdata/pyflowdata.h" /* has pfd_foreign_container() */

/* The same, also of what readers here take as a record, such as a JPEG. */
const char *pfd_foreign_file(const uint8_t *data, int64_t size);
#endif
