/* registry/nearest_name.h -- how names are compared, and which one a mistyped name was meant to be.
 *
 * THREADS  Everything here may be called from any thread.
 */
#ifndef PFD_REGISTRY_NEAREST_NAME_H
#define PFD_REGISTRY_NEAREST_NAME_H
#include <stdint.h>

/* The name in `names` that is most like `name`, or NULL if none is near (edit distance; case and
 * underscores do not count). */
const char *pfd_nearest_name(const char *name, const char *const *names, int64_t n);

/* `name` without underscores and in lower case, by which names are compared: "MiniReader" and
 * "mini_reader" become "minireader".  Returns its size, or -1 when it does not fit. */
int64_t pfd_fold_name(const char *name, char *out, int64_t capacity);
#endif
