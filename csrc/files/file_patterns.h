/* files/file_patterns.h -- attrs that name files, as `files` does: paths and patterns into
 * paths.
 * THREADS  Any thread. */
#ifndef PFD_FILES_FILE_PATTERNS_H
#define PFD_FILES_FILE_PATTERNS_H
#include "files/path_list.h"

/* Adds, in order, each element that is the path of a file, and the files that each other one
 * matches as a pattern of glob(3) (*, ?, [...]), sorted by the bytes of their paths.
 * `keep_missing`: the path of a missing file is added too; pfd_fail_missing_path() reports it
 * later.
 * ERRORS  PFD_IO: no such file; PFD_INVALID_ARGUMENT: a file is named twice, or the element is not
 *         a valid pattern. */
pfd_status pfd_file_patterns_find(const char *attr, const pfd_list_string *patterns,
                                  int32_t keep_missing, pfd_path_list *out, pfd_error *err);

/* Adds the folders that a pattern matches, sorted by the bytes of their paths; PFD_IO: there are
 * none. */
pfd_status pfd_folder_pattern_find(const char *attr, const char *pattern, pfd_path_list *out,
                                   pfd_error *err);

pfd_status pfd_fail_missing_path(const char *attr, const char *path, pfd_error *err);

/* PFD_INVALID_ARGUMENT where two of n paths are equal. */
pfd_status pfd_check_each_path_once(const char *attr, char *const *paths, int64_t n,
                                    pfd_error *err);
#endif
