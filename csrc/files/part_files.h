/* files/part_files.h -- which files a reader reads: those of `files`, or data_dir + prefix +
 * number.
 *
 * ERRORS   PFD_INVALID_ARGUMENT for an attr, PFD_IO for a missing file, with the path.
 * THREADS  Everything here may be called from any thread.
 */
#ifndef PFD_FILES_PART_FILES_H
#define PFD_FILES_PART_FILES_H
#include "files/file_attrs.h"
#include "files/path_list.h"

/* Resolves the attrs into paths: those of `files` as in files/file_patterns.h, else those of
 * data_dir in numeric order.  data_part_num = -1: every file of the folder whose name is the prefix
 * and a number.  A missing folder or part is PFD_IO, and says which names are there and which attr
 * would fit.  Also after a failure `out` is the caller's to free.  `keep_missing`: as in
 * files/file_patterns.h, for `files`; a folder without any part is returned itself. */
pfd_status pfd_part_files_find(const pfd_file_attrs *attrs, int32_t keep_missing,
                               pfd_path_list *out, pfd_error *err);
#endif
