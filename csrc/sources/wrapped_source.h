/* sources/wrapped_source.h -- a source with attached state, or over text files with heads, made
 * from a source of the host.
 *
 *   state   values of attrs or files that are parsed once at open, for compute()
 *   text    records that end within the head of their file (a header, a byte order mark) are
 *           omitted, and the others are renumbered; a byte order mark is cut off the first record;
 *           an error gets its line
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
    int32_t hides_places;      /* 1: records are in memory, so nothing is read ahead */
    const pfd_open_args *text; /* the args of open() if files are text; else NULL */
    const int64_t *heads; /* for random access: where the records of each text file begin; copied.
                             NULL: at 0 */
} pfd_source_wrap;

/* Wraps *source, and replaces it by the wrapped one.  It takes ownership of source and state,
 * even if it fails. */
pfd_status pfd_source_wrap_open(const pfd_source_wrap *wrap, pfd_source *source, pfd_error *err);

/* The state of a source that pfd_source_wrap_open() made; `self` is that of the pfd_source. */
void *pfd_wrapped_source_state(const void *self);
#endif
