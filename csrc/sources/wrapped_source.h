/* sources/wrapped_source.h -- a source that the host made, with what its op adds to it.
 *
 *   state   what attrs or files say, parsed once at open, for compute()
 *   text    records that end within the head of their file (a header, a byte order mark) are left
 *           out, and the others numbered again; a byte order mark is cut off the first record; an
 *           error gets its line
 *
 * OWNERSHIP  A source made here owns the inner one and the state; the inner one is closed first.
 * THREADS    As of a pfd_source in op.h.
 */
#ifndef PFD_SOURCES_WRAPPED_SOURCE_H
#define PFD_SOURCES_WRAPPED_SOURCE_H
#include "pyflowdata/op.h"

typedef struct pfd_source_wrap {
    void *state; /* NULL: none */
    void (*free_state)(void *state);
    int32_t hides_places;      /* records are in memory: there is nothing to read ahead */
    const pfd_open_args *text; /* of open(), where files are text; else NULL */
    const int64_t *heads; /* of each text file, of random-access sources only: where its records
                             begin; copied.  NULL: at 0 */
} pfd_source_wrap;

/* Wraps *source, which is another one then; also where it fails, it takes source and state over. */
pfd_status pfd_source_wrap_open(const pfd_source_wrap *wrap, pfd_source *source, pfd_error *err);

/* The state; `self` is that of a pfd_source made here. */
void *pfd_wrapped_source_state(const void *self);
#endif
