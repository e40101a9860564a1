/* files/part_hints.h -- messages for missing parts.
 *
 * ERRORS   All return PFD_IO, with what the folder has instead and which attr would fit.
 * THREADS  Everything here may be called from any thread.
 */
#ifndef PFD_FILES_PART_HINTS_H
#define PFD_FILES_PART_HINTS_H
#include "files/part_names.h"

/* The folder cannot be read; `reason` is an errno. */
pfd_status pfd_fail_folder(const char *folder, int reason, pfd_error *err);

/* Part number `part` should be at `path`, and is not. */
pfd_status pfd_fail_missing_part(const pfd_file_attrs *attrs, const pfd_path_stem *stem,
                                 const char *path, int32_t part, pfd_error *err);

/* No file of the folder is a part. */
pfd_status pfd_fail_no_part(const pfd_file_attrs *attrs, const pfd_path_stem *stem, pfd_error *err);
#endif
