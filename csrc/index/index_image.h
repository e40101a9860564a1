/* index/index_image.h -- the memory of an index, in the same form as on disk; and the cache.
 *
 *   header | one pfd_index_file for each file, and one of totals | entries of 64 bytes | checksums
 *
 * An image is made in memory, zeroed, and filled in; or it is a file of the cache, mapped shared
 * and read-only, so that the processes of a machine have one copy.  Another process may truncate
 * the file of a mapped image: the missing bytes then read as zeros, and pfd_index_image_check()
 * reports it.  Looking up is memory-safe with any content; checksums verify that the content is
 * right.
 *
 * OWNERSHIP  create() and load() return new images; free them with free().
 * THREADS    check() and reading: any thread.  The rest: one.
 */
#ifndef PFD_INDEX_INDEX_IMAGE_H
#define PFD_INDEX_INDEX_IMAGE_H
#include "pyflowdata/op.h"

enum { PFD_INDEX_ENTRY_BYTES = 64 };

/* The kinds of entries. */
#define PFD_INDEX_LINES 1  /* record_index.h, of lines */
#define PFD_INDEX_BLOCKS 2 /* line_scan.h */
#define PFD_INDEX_FRAMES 3 /* record_index.h, of frames */
#define PFD_INDEX_FOLDERS 4 /* formats/imagefolder/image_folder_reader.c */
#define PFD_INDEX_OBJECTS 5 /* formats/coco/coco_reader.c */

typedef struct pfd_index_file {
    int64_t first_record;
    int64_t first_place; /* in all files together; the kind defines its unit */
} pfd_index_file;

/* Which index it is, and the state of the files: two hashes of 64 bits each. */
typedef struct pfd_index_key {
    uint64_t identity[2]; /* paths, op, attrs, kind: which index it is */
    uint64_t stamp[2];    /* sizes, times, content: whether it is up to date */
} pfd_index_key;

typedef struct pfd_index_header {
    char magic[8];
    uint32_t version, byte_order;
    int32_t kind, shift, width, reserved;
    pfd_index_key key;
    int64_t num_files, num_records, num_entries, total_bytes;
    uint64_t body_hash;   /* hash of the tables of files and of checksums */
    uint64_t header_hash; /* hash of all the above */
} pfd_index_header;

typedef struct pfd_index_image {
    pfd_index_header *header; /* of a mapped image, header and files are private copies, so that */
    pfd_index_file *files;    /* others cannot change what decides about places in memory */
    void *entries;            /* files has num_files + 1 */
    int64_t bytes;
    void *memory;             /* all of the image */
    void *front;              /* the private copies; NULL: the image is not mapped */
    char *path;               /* path of its file; NULL: built in memory */
    uint64_t device, inode;   /* numbers of that file */
    void *region;             /* guarded, while a file is mapped */
    _Atomic int64_t fault;
} pfd_index_image;

pfd_status pfd_index_image_create(int32_t kind, int64_t num_files, int64_t num_entries,
                                  pfd_index_image **out, pfd_error *err);
void pfd_index_image_free(pfd_index_image *image); /* accepts NULL */

/* Copies the head, of `size` bytes, that the entries begin with.  Its first three int64 are counts:
 * of records, and of two kinds of parts that have a byte or more each.  Returns the bytes of all
 * entries; 0: the entries are shorter than the head, or the counts contradict the header. */
int64_t pfd_index_image_head(const pfd_index_image *image, void *head, int64_t size);

/* PFD_IO: a read found that the file of a mapped image was truncated.  Cheap. */
pfd_status pfd_index_image_check(const pfd_index_image *image, pfd_error *err);
/* The same, but also looks at the file on disk; call it if the data contradict the index. */
pfd_status pfd_index_image_check_disk(const pfd_index_image *image, pfd_error *err);

/* ---- Indexes on disk ------------------------------------------------------------------------- */

/* One process builds an index for all.
 *
 * Each index is a file.  Its name is a hash of files, op and attrs; its header has the state of the
 * files when it was built.  It is written under another name, synced and renamed, so that a process
 * that opens it finds all of it or nothing.  A builder holds a lock; other processes wait for a
 * while, and then build the index in memory.  If files cannot be locked or written, every process
 * builds its own.  None of this is an error: the cache only saves time and memory.
 *
 * THREADS  Everything below may be called from any thread, and from many processes. */

/* The options for the indexes of a reader, and their counters; pfd_open_args.index. */
struct pfd_index_request {
    const char *folder; /* attr index_dir: "" is the default folder, "none" no cache */
    pfd_index_key key;  /* key of files, op and attrs */
    int32_t num_threads;
    int32_t is_global; /* the order is a global shuffle */

    /* Counters: */
    int32_t num_sources; /* how many sources needed an index */
    int32_t num_built;   /* how many of them were not in the cache */
    int64_t bytes;       /* bytes of all indexes */
    int64_t ns;          /* the time to find or build them */
    char path[4096];     /* path of the last one on disk; "": in memory */

    char notice[1024]; /* what users should know, a sentence without its period a line */
};

/* Builds an index in memory. */
typedef pfd_status (*pfd_index_build_fn)(void *ctx, int32_t num_threads, pfd_index_image **out,
                                         pfd_error *err);

/* How one index is made, and when it is good. */
typedef struct pfd_index_maker {
    int32_t kind; /* PFD_INDEX_* */
    pfd_index_build_fn build;
    void *ctx; /* the first argument of both functions */

    /* Whether an index with the right key is up to date; NULL: the key alone tells. */
    int32_t (*is_current)(void *ctx, const pfd_index_image *image);

    /* Without the attr index_dir, the index is kept on disk if it has so many records; 0: if the
     * files have 16 MB together. */
    int64_t least_cached_records;
} pfd_index_maker;

/* Loads the index from the cache, or builds it.  ERRORS: those of build(); PFD_CANCELLED. */
pfd_status pfd_index_make(const pfd_open_args *args, const pfd_index_maker *maker,
                          pfd_index_image **out, pfd_error *err);

/* The same for an index of args->files whose key alone tells that it is up to date. */
pfd_status pfd_index_obtain(const pfd_open_args *args, int32_t kind, pfd_index_build_fn build,
                            void *ctx, pfd_index_image **out, pfd_error *err);

/* Adds a sentence, without its period, to what the program that opens the reader is warned of. */
void pfd_index_notice(const pfd_open_args *args, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Whether the reader's own order is a global shuffle: any record may follow any other. */
int32_t pfd_index_order_is_global(const pfd_open_args *args);

/* How many threads to use to check or build the indexes of a source. */
int32_t pfd_index_threads(const pfd_open_args *args);
#endif
