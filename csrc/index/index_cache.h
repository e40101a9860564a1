/* index/index_cache.h -- indexes kept on disk: found again, or built by one process for all.
 *
 * An index lies in a file of its own, named by what it is of; a header says which state of the
 * files it belongs to.  It is written under another name, synced and renamed, so that whoever opens
 * it finds all of it or nothing.  A builder holds a lock; others wait for it a while, and then
 * build in memory.  Where no file can be locked or written, every process builds its own.  Nothing
 * of this is an error to the user: the cache saves time and memory, and is never needed.
 *
 * THREADS  Everything here may be called from any thread, and from many processes.
 */
#ifndef PFD_INDEX_INDEX_CACHE_H
#define PFD_INDEX_INDEX_CACHE_H
#include "index/index_image.h"

/* How a reader wants the indexes of its sources; pfd_open_args.index. */
struct pfd_index_request {
    const char *folder; /* attr index_dir: "" by convention, "none" for no cache */
    pfd_index_key key;  /* of files, op and attrs */
    int32_t num_threads;

    /* What became of it. */
    int32_t num_sources; /* that an index was wanted for */
    int32_t num_built;   /* of them not found in the cache */
    int64_t bytes;       /* of all indexes */
    int64_t ns;          /* for finding or building them */
    char path[4096];     /* of the last one on disk; "": in memory */
};

/* Less text than this is scanned faster than an index is found, unless attr index_dir asks for it.
 */
#define PFD_LEAST_CACHED_BYTES (INT64_C(16) << 20)

/* Builds an index in memory. */
typedef pfd_status (*pfd_index_build_fn)(void *ctx, int32_t num_threads, pfd_index_image **out,
                                         pfd_error *err);

/* How one index is made, and when it is good. */
typedef struct pfd_index_maker {
    int32_t kind; /* PFD_INDEX_* */
    pfd_index_build_fn build;
    void *ctx; /* of both functions */

    /* Whether an index is still true that the request's key fits; NULL: the key says it. */
    int32_t (*is_current)(void *ctx, const pfd_index_image *image);

    /* Where the index_dir is not given, it is kept on disk if it has so many records; 0: where the
     * files have PFD_LEAST_CACHED_BYTES. */
    int64_t least_cached_records;
} pfd_index_maker;

/* The index that a maker makes: from the cache or built.  ERRORS: those of build(); PFD_CANCELLED.
 */
pfd_status pfd_index_make(const pfd_open_args *args, const pfd_index_maker *maker,
                          pfd_index_image **out, pfd_error *err);

/* The index of args->files: from the cache or built.  ERRORS: those of `build`; PFD_CANCELLED. */
pfd_status pfd_index_obtain(const pfd_open_args *args, int32_t kind, pfd_index_build_fn build,
                            void *ctx, pfd_index_image **out, pfd_error *err);

/* Threads for checking or building the indexes of a source. */
int32_t pfd_index_threads(const pfd_open_args *args);
#endif
