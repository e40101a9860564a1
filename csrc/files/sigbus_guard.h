/* files/sigbus_guard.h -- reading mapped files that another process may cut short.
 *
 * A touch past the new end of such a file raises SIGBUS, which would end the process.  For
 * guarded memory a handler puts zero pages there instead, from the page touched to the end of the
 * region, and leaves a mark; the reading thread goes on.  A SIGBUS elsewhere goes to the handler
 * that was there before.
 *
 * OWNERSHIP  Memory and mark are borrowed until remove.
 * THREADS    Everything here may be called from any thread; the handler takes no lock.
 * ERRORS     A fault is not an error here: the reader of the memory checks the mark.
 */
#ifndef PFD_FILES_SIGBUS_GUARD_H
#define PFD_FILES_SIGBUS_GUARD_H
#include "pyflowdata/op.h"

#include <stdatomic.h>

typedef struct pfd_guarded_region pfd_guarded_region;

/* Puts the handler in place if it is not: others may have set theirs since the last call. */
pfd_status pfd_sigbus_guard_install(pfd_error *err);

/* Guards a mapping of whole pages (its size may end within the last one).  On a fault *mark becomes
 * `value`.  NULL: out of memory. */
pfd_guarded_region *pfd_sigbus_guard_add(const void *data, int64_t size, _Atomic int64_t *mark,
                                         int64_t value);

/* Call it before the region is unmapped, when nobody reads it any more.  Accepts NULL. */
void pfd_sigbus_guard_remove(pfd_guarded_region *region);
#endif
