/* index/index_cache.h -- keeps indexes on disk; one process builds an index for all.
 *
 * Each index is a file.  Its name is a hash of files, op and attrs; its header has the state of the
 * files when it was built.  It is written under another name, synced and renamed, so that a process
 * that opens it finds all of it or nothing.  A builder holds a lock; other processes wait for a
 * while, and then build the index in memory.  If files cannot be locked or written, every process
 * builds its own.  None of this is an error: the cache only saves time and memory.
 *
 * THREADS  Everything here may be called from any thread, and from many processes.
 */
#ifndef PFD_INDEX_INDEX_CACHE_H
#define PFD_INDEX_INDEX_CACHE_H
#include "index/index_image.h"

/* The options for the indexes of a reader, and their counters; pfd_open_args.index. */
struct pfd_index_request {
    const char *folder; /* attr index_dir: "" is the default folder, "none" no cache */
    pfd_index_key key;  /* of files, op and attrs */
    int32_t num_threads;

    /* Counters: */
    int32_t num_sources; /* how many sources needed an index */
    int32_t num_built;   /* how many of them were not in the cache */
    int64_t bytes;       /* of all indexes */
    int64_t ns;          /* the time to find or build them */
    char path[4096];     /* of the last one on disk; "": in memory */
};

/* Smaller files are not cached unless the attr index_dir is set: scanning them is faster than
 * finding an index. */
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

/* Finds or builds the index of args->files.  ERRORS: those of `build`; PFD_CANCELLED. */
pfd_status pfd_index_obtain(const pfd_open_args *args, int32_t kind, pfd_index_build_fn build,
                            void *ctx, pfd_index_image **out, pfd_error *err);

/* How many threads to use to check or build the indexes of a source. */
int32_t pfd_index_threads(const pfd_open_args *args);
#endif
