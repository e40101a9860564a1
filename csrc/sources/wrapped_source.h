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

/* Small files, such as MNIST's: any thread can then read their bytes in any order.  The files given
 * are borrowed until close.  Places in errors are those of decompressed bytes. */
typedef struct pfd_inflated_files pfd_inflated_files;

/* Opens the files.  While it decompresses, `bounds` says whether the loader is closing.
 * PFD_OUT_OF_MEMORY: they take more than it allows, or more than a quarter of the memory of the
 * process. */
pfd_status pfd_inflated_files_open(const pfd_file *const *files, int64_t n,
                                   const pfd_scratch *bounds, pfd_inflated_files **out,
                                   pfd_error *err);
void pfd_inflated_files_close(pfd_inflated_files *inflated); /* accepts NULL */

/* The files, in the same order; those that are not compressed are the given ones. */
const pfd_file *const *pfd_inflated_files_list(const pfd_inflated_files *inflated);

/* Makes a random-access source over these files own them too.  It takes ownership of both, even
 * if it fails. */
pfd_status pfd_inflated_files_give(pfd_inflated_files *inflated, pfd_source *source,
                                   pfd_error *err);
#endif
