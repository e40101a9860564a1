/* index/index_image.h -- the memory of an index, in the same form as on disk.
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
#define PFD_INDEX_BLOCKS 2 /* line_blocks.h */
#define PFD_INDEX_FRAMES 3 /* record_index.h, of frames */
#define PFD_INDEX_FOLDERS 4 /* file_list.h */
#define PFD_INDEX_OBJECTS 5 /* formats/coco/coco_annotations.h */

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
    uint64_t body_hash;   /* of the tables of files and of checksums */
    uint64_t header_hash; /* of all the above */
} pfd_index_header;

typedef struct pfd_index_image {
    pfd_index_header *header; /* of a mapped image, header and files are private copies, so that */
    pfd_index_file *files;    /* others cannot change what decides about places in memory */
    void *entries;            /* files has num_files + 1 */
    int64_t bytes;
    void *memory;             /* all of the image */
    void *front;              /* the private copies; NULL: the image is not mapped */
    char *path;               /* of its file; NULL: built in memory */
    uint64_t device, inode;   /* of that file */
    void *region;             /* guarded, while a file is mapped */
    _Atomic int64_t fault;
} pfd_index_image;

pfd_status pfd_index_image_create(int32_t kind, int64_t num_files, int64_t num_entries,
                                  pfd_index_image **out, pfd_error *err);
void pfd_index_image_free(pfd_index_image *image); /* accepts NULL */

/* The size of the image, on disk and in memory. */
int64_t pfd_index_image_bytes(const pfd_index_image *image);

/* Completes the header and writes the image to an open file.  0 or an errno. */
int pfd_index_image_write(pfd_index_image *image, const pfd_index_key *key, int32_t num_threads,
                          int fd);

typedef struct pfd_index_wanted {
    const pfd_index_key *key;
    int64_t num_files;
    int32_t kind, num_threads; /* threads: for checking it */
    int32_t of_any_owner;      /* 0: of this user or root, and nobody else may write it */
} pfd_index_wanted;

/* Maps a file.  NULL: it does not exist, is not the wanted index, or is damaged. */
pfd_index_image *pfd_index_image_load(const char *path, const pfd_index_wanted *wanted);

/* PFD_IO: a read found that the file of a mapped image was truncated.  Cheap. */
pfd_status pfd_index_image_check(const pfd_index_image *image, pfd_error *err);
/* The same, but also looks at the file on disk; call it if the data contradict the index. */
pfd_status pfd_index_image_check_disk(const pfd_index_image *image, pfd_error *err);
#endif
