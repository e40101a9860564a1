/* formats/imagefolder/class_folders.h -- folders with a folder for each class: what is in them. */
#ifndef PFD_FORMATS_IMAGEFOLDER_CLASS_FOLDERS_H
#define PFD_FORMATS_IMAGEFOLDER_CLASS_FOLDERS_H
#include "index/file_list.h"

/* What is looked for. */
typedef struct pfd_class_folders {
    const pfd_host *host;
    const pfd_file *const *files; /* the reader's folders */
    const int *roots;             /* open on them */
    int64_t num_roots;
    const pfd_list_string *classes, *suffixes;
    int32_t allow_empty;
    const pfd_scratch *scratch; /* of open(): is the loader closing? */
} pfd_class_folders;

/* Lists the files of all classes, those of a class sorted by folder and name.  A file's group is
 * its class, counted in `classes`; classes come in the order of their names.  A pfd_index_build_fn,
 * `ctx` is a pfd_class_folders.
 * ERRORS  PFD_IO names the folder that cannot be read; PFD_INVALID_ARGUMENT a class without folder
 *         or files. */
pfd_status pfd_class_folders_list(void *ctx, int32_t num_threads, pfd_index_image **out,
                                  pfd_error *err);

/* Whether no folder has changed since an index was made: pfd_index_maker.is_current. */
int32_t pfd_class_folders_are_as_listed(void *ctx, const pfd_index_image *image);
#endif
