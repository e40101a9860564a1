/* sources/whole_file.h -- files that are one sample each, such as images.  The call that needs such
 * a file opens, reads and closes it: a reader that opened all of them at once would need a
 * descriptor and a mapping for each.  Objects of stores are asked for all together, and those of
 * the next batches ahead.
 *
 * OWNERSHIP  The bytes of a file live as long as args->scratch.
 * THREADS    Any.
 */
#ifndef PFD_SOURCES_WHOLE_FILE_H
#define PFD_SOURCES_WHOLE_FILE_H
#include "core/rows.h"

typedef struct pfd_whole_file {
    int folder;              /* a descriptor of the folder that the path is below */
    const char *path;
    const char *shown;       /* for messages; NULL: source->describe() adds the path to errors */
    const pfd_file *counted; /* a file of the reader's, as from which the bytes count */
    int32_t is_listed;       /* whether the file was seen in its folder when the reader opened */
    const char *url;         /* of an object in a store; NULL: a file on disk */
    const char *tag;         /* of the object's version; NULL: not known yet */
    int64_t size;            /* of that version, in bytes */
} pfd_whole_file;

/* What a source knows of the objects in stores: the version of each that it saw first, which is the
 * only one that it reads, and the objects that were asked for and not yet read.  Its methods may be
 * called by any thread, but for free().  It takes about 120 bytes for each object that was read. */
typedef struct pfd_store_objects pfd_store_objects;
pfd_store_objects *pfd_store_objects_create(void); /* NULL: out of memory */
void pfd_store_objects_free(pfd_store_objects *self); /* accepts NULL */

/* How compute() of a source finds the file of a row. */
typedef struct pfd_whole_file_finder {
    const pfd_host *host;
    void *source;
    pfd_status (*at)(void *source, const int64_t *ordinals, int64_t n, pfd_scratch *scratch,
                     pfd_record *out, pfd_error *err);
    pfd_status (*find)(const pfd_compute_args *args, int64_t row, pfd_whole_file *out,
                       pfd_error *err);
} pfd_whole_file_finder;

/* need() of op.h: asks for the objects of records, as far as there is room for them.  `store` NULL:
 * none is in a store. */
int32_t pfd_whole_files_need(pfd_store_objects *store, const pfd_whole_file_finder *finder,
                             const int64_t *ordinals, int64_t n, pfd_scratch *scratch);

/* Reads the files of all rows, files[i] of row i; `store` NULL: nothing is known of objects.
 * ERRORS  Of a row.  PFD_CORRUPT_DATA: the file is empty, or the path leads to no file and was not
 *         listed.  PFD_IO and PFD_OUT_OF_MEMORY: it cannot be read, as core/system_calls.h says, it
 *         changed while it was read, it was listed and is no longer there, or it is an object in
 *         another version than the one that was read first. */
pfd_status pfd_whole_files_read(const pfd_compute_args *args, const pfd_whole_file *files,
                                pfd_store_objects *store, pfd_bytes *out, pfd_error *err);

/* The files and bytes of all rows, for pfd_whole_files_read(); NULL: out of memory. */
pfd_whole_file *pfd_whole_files_alloc(const pfd_compute_args *args, pfd_bytes **out);

/* The address of a file that `list` names, which is a file or, with a slash at its end, a folder:
 * `path` itself, or, if the list has an address, `path` beside it.  pfd_whole_files_read() writes
 * over *url the name without a query.  *url NULL: the file is on disk.
 * ERRORS  PFD_OUT_OF_MEMORY. */
pfd_status pfd_whole_file_address(const pfd_compute_args *args, const char *list, const char *path,
                                  const char **url, pfd_error *err);
/* The same of a folder that has no slash at its end. */
pfd_status pfd_whole_file_inside(const pfd_compute_args *args, const char *folder, const char *path,
                                 const char **url, pfd_error *err);

/* Bytes of such a file; 0 where it cannot be examined. */
int64_t pfd_whole_file_size(int folder, const char *path);

/* Mean size of n files, for record_bytes(): of a few of them, spread over all.  size_of() gives the
 * bytes of file i, 0 <= i < n. */
int64_t pfd_whole_files_mean(int64_t n, int64_t (*size_of)(void *ctx, int64_t i), void *ctx);
#endif
