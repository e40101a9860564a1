/* parse/nearest_name.h -- compares names, and finds the name that a mistyped one was meant to
 * be.
 *
 * THREADS  Everything here may be called from any thread.
 */
#ifndef PFD_PARSE_NEAREST_NAME_H
#define PFD_PARSE_NEAREST_NAME_H
#include <stdint.h>

/* The name in `names` that is most like `name`, or NULL if none is near (edit distance; case and
 * underscores do not count). */
const char *pfd_nearest_name(const char *name, const char *const *names, int64_t n);

/* Writes `name` without underscores and in lower case, the form in which names are compared:
 * "MiniReader" and "mini_reader" become "minireader".  Returns its size, or -1 if it does not
 * fit. */
int64_t pfd_fold_name(const char *name, char *out, int64_t capacity);
#endif
