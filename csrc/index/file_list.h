/* index/file_list.h -- the names of the files below some folders, as an index: each file a record.
 *
 *   head of 64 bytes | folders, 32 bytes each | where each file's name begins, 8 bytes | names
 *
 * Files are in the order of the folders.  A folder has the time of its last change, so that opening
 * the list again takes a look at each folder, and at no file.
 *
 * OWNERSHIP  A list borrows its image.  A draft's folders are its own; a zeroed draft is empty.
 * THREADS    A list: any thread.  A draft: one at a time.
 */
#ifndef PFD_INDEX_FILE_LIST_H
#define PFD_INDEX_FILE_LIST_H
#include "files/file_names.h"
#include "index/index_image.h"

#include <limits.h>

/* A folder whose files are in the list. */
typedef struct pfd_listed_folder {
    char *path;          /* below its root, "." for the root itself; owned */
    pfd_path_list files; /* names, in order; owned */
    int64_t changed_ns;  /* as in files/file_names.h */
    int32_t root;        /* which of the reader's folders it is in */
    int32_t group;       /* of its files: the number of a class */
} pfd_listed_folder;

typedef struct pfd_file_list_draft {
    pfd_listed_folder *folders;
    int64_t size, capacity;
} pfd_file_list_draft;

/* Takes the folder over, also where it fails. */
pfd_status pfd_file_list_draft_add(pfd_file_list_draft *draft, pfd_listed_folder *folder,
                                   pfd_error *err);
void pfd_file_list_draft_free(pfd_file_list_draft *draft);

/* The drafts' folders, one after the other, in the order of their roots.  `scanned_ns`: by the
 * machine's clock, before the first folder was read. */
pfd_status pfd_file_list_build(const pfd_file_list_draft *drafts, int64_t num_drafts,
                               int64_t num_roots, int64_t scanned_ns, pfd_index_image **out,
                               pfd_error *err);

typedef struct pfd_file_list {
    int64_t num_files, num_folders, name_bytes, scanned_ns;
    uint64_t hash; /* of all paths and groups, without the roots: the same on every machine */
    const void *folders;
    const int64_t *names_at;
    const char *names;
} pfd_file_list;

/* 0: the numbers of the image contradict each other. */
int32_t pfd_file_list_init(pfd_file_list *list, const pfd_index_image *image);

/* Whether no folder has changed since it was read; `roots` are open descriptors. */
int32_t pfd_file_list_is_current(const pfd_file_list *list, const int *roots, int64_t num_roots);

typedef struct pfd_listed_file {
    int32_t root, group;
    int32_t size;        /* of the path */
    char path[PATH_MAX]; /* below its root */
} pfd_listed_file;

/* File number i, in [0, num_files).  0: the image was changed or cut short while it was in use. */
int32_t pfd_file_list_at(const pfd_file_list *list, int64_t i, pfd_listed_file *out);

/* The group of file i's folder; -1: the image was changed, as above. */
int32_t pfd_file_list_group(const pfd_file_list *list, int64_t i);
#endif
