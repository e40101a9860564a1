/* files/missing_files.h -- what to say of a path or pattern that stands for no file.
 *
 * THREADS  Any thread.
 */
#ifndef PFD_FILES_MISSING_FILES_H
#define PFD_FILES_MISSING_FILES_H
#include "pyflowdata/op.h"

/* "holds 'a', 'b/' and 7 more" or "is empty", of a folder; "" where it cannot be read. */
const char *pfd_folder_holds(const char *folder, char *out, size_t capacity);

/* A pattern for the files of a folder, as "data/" "*.ark"; "": there are none, or it cannot be
 * read. */
const char *pfd_folder_pattern(const char *folder, char *out, size_t capacity);

/* Why a path or a pattern of glob(3) stands for no file, with what is there instead. */
const char *pfd_missing_file_words(const char *pattern, char *out, size_t capacity);
#endif
