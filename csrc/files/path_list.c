/* A list of paths. */
#include "files/path_list.h"

#include "core/error.h"

#include <stdlib.h>

pfd_status pfd_path_list_take(pfd_path_list *list, char *path, pfd_error *err)
{
    if (path && list->size == list->capacity) {
        int64_t capacity = list->capacity > 0 ? 2 * list->capacity : 16;
        char **paths = realloc(list->paths, (size_t)capacity * sizeof *paths);
        if (!paths) {
            free(path);
            path = NULL;
        } else {
            list->paths = paths;
            list->capacity = capacity;
        }
    }
    if (!path) return pfd_fail_memory(err, list->size * (int64_t)sizeof path, "a list of files");
    list->paths[list->size++] = path;
    return PFD_OK;
}

void pfd_path_list_free(pfd_path_list *list)
{
    for (int64_t i = 0; i < list->size; i++) free(list->paths[i]);
    free(list->paths);
    *list = (pfd_path_list){NULL, 0, 0};
}
