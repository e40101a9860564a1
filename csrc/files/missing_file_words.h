/* files/missing_file_words.h -- what to say of a path or pattern that stands for no file.
 *
 * THREADS  Any thread.
 */
#ifndef PFD_FILES_MISSING_FILE_WORDS_H
#define PFD_FILES_MISSING_FILE_WORDS_H
#include "files/folder_names.h"

/* "holds 'a', 'b/' and 7 more" or "is empty". */
void pfd_write_names(const pfd_folder_names *names, int32_t folders_first, char *out,
                     size_t capacity);

/* The same of a folder, folders first; "" where it cannot be read. */
const char *pfd_folder_holds(const char *folder, char *out, size_t capacity);

/* A pattern that the files of a folder match, to suggest it: one for the suffix of the first of
 * them.  "": there are none, or the folder cannot be read. */
const char *pfd_suggest_pattern(const char *folder, char *out, size_t capacity);

/* Why a path or a pattern of glob(3) stands for no file, with what is there instead. */
const char *pfd_missing_file_words(const char *pattern, char *out, size_t capacity);
#endif
