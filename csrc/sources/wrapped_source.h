/* sources/wrapped_source.h -- a source with attached state, over text files with heads, or over
 * files that are decompressed as a whole, made from a source of the host.
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

/* ---- Files decompressed as a whole ----------------------------------------------------------- */

/* For readers of small files, such as MNIST's: any thread can then read their bytes in any order.
 * Calls open() with args in which the compressed files are decompressed.  open() makes a
 * random-access source; the new source owns it and the decompressed files.  Places in errors are
 * those of decompressed bytes.
 * PFD_OUT_OF_MEMORY: the files take more than the bounds of args->scratch allow, or more than a
 * quarter of the memory of the process. */
pfd_status pfd_open_inflated(const pfd_open_args *args,
                             pfd_status (*open)(const pfd_open_args *args, pfd_source *out,
                                                pfd_error *err),
                             pfd_source *out, pfd_error *err);
#endif
