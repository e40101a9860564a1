/* parse/foreign_files.h -- files of other programs, by the bytes that they begin with.
 *
 * THREADS  Pure functions; texts are constants.
 */
#ifndef PFD_PARSE_FOREIGN_FILES_H
#define PFD_PARSE_FOREIGN_FILES_H
#include "pyflowdata/op.h"

/* What such a file is and how its data get here, as "Parquet (convert it ...)", or NULL. */
const char *pfd_foreign_file(const uint8_t *data, int64_t size);

/* The same, without what readers here take as a record, such as a JPEG. */
const char *pfd_foreign_container(const uint8_t *data, int64_t size);
#endif
