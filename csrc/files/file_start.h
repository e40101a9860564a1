/* files/file_start.h -- the first bytes of a file that no reader has opened.
 *
 * For companions(): a header or an index names the sidecar files.
 */
#ifndef PFD_FILES_FILE_START_H
#define PFD_FILES_FILE_START_H
#include "pyflowdata/op.h"

/* Up to `most` bytes from the file's beginning, in memory that the caller frees; *file_size: of the
 * whole file.  PFD_IO names the path. */
pfd_status pfd_file_start_read(const char *path, int64_t most, uint8_t **data, int64_t *size,
                               int64_t *file_size, pfd_error *err);

/* Whether the path is a regular file. */
int32_t pfd_file_is_there(const char *path);

/* The path of a file that lies beside another one, or below its folder, in memory that the caller
 * frees; NULL: out of memory. */
char *pfd_path_beside(const char *path, const char *name, int64_t name_size);

/* Whether a name from a file stays below its folder: not absolute, no "..", no 0 byte. */
int32_t pfd_path_is_below(const char *name, int64_t size);
#endif
