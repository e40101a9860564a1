/* files/path_list.h -- a growing list of paths.
 * OWNERSHIP  The list owns its paths; a zeroed struct is an empty list. */
#ifndef PFD_FILES_PATH_LIST_H
#define PFD_FILES_PATH_LIST_H
#include "core/error.h"
#include "pyflowdata/op.h"

typedef struct pfd_path_list {
    char **paths;
    int64_t size, capacity;
} pfd_path_list;

/* Takes over `path`, from malloc(), also where it fails; NULL is PFD_OUT_OF_MEMORY. */
pfd_status pfd_path_list_take(pfd_path_list *list, char *path, pfd_error *err);
void pfd_path_list_free(pfd_path_list *list) PFD_PRIVATE;
#endif
