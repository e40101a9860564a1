/* sources/kept_source.h -- a source, and what its op keeps beside it for compute(): what attrs or files
 * say, parsed once.
 *
 * OWNERSHIP  A source made here owns the inner one, and what it was given to keep; the inner one is
 *            closed first.
 * THREADS    As of a pfd_source in op.h.
 */
#ifndef PFD_SOURCES_KEPT_SOURCE_H
#define PFD_SOURCES_KEPT_SOURCE_H
#include "pyflowdata/op.h"

typedef struct pfd_kept {
    void *data;
    void (*free)(void *data);
    int32_t hides_places; /* records are in memory: there is nothing to read ahead */
} pfd_kept;

/* Wraps *source, which is another one then; also where it fails, it takes both over. */
pfd_status pfd_kept_source_open(const pfd_kept *kept, pfd_source *source, pfd_error *err);

/* What the source was given to keep; `self` is that of a pfd_source made here. */
void *pfd_kept_source_data(const void *self);
#endif
