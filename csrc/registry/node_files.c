/* Finds and opens the files of a reader by its attrs. */
#include "registry/node_files.h"

#include "core/error.h"
#include "files/file_names.h"
#include "files/part_files.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A copy of the paths that the user gave, for companions(): it keeps those that are replaced. */
typedef struct named_paths {
    char **paths;
    int64_t size;
    pfd_path_list *list;
    int32_t is_replaced; /* at least one of them was replaced */
} named_paths;

static pfd_status add_companion(void *list, const char *path, pfd_error *err)
{
    const named_paths *self = list;
    return pfd_path_list_take(self->list, path ? strdup(path) : NULL, err);
}

static pfd_status replace_path(void *list, int64_t i, const char *path, pfd_error *err)
{
    named_paths *self = list;
    if (i < 0 || i >= self->size)
        return pfd_fail(err, PFD_INTERNAL, "replace() of path %" PRId64 ", but there are %" PRId64,
                        i, self->size);
    char *copy = path ? strdup(path) : NULL;
    if (!copy) return pfd_fail_memory(err, 0, "a path");
    if (self->list->paths[i] != self->paths[i]) free(self->list->paths[i]);
    self->list->paths[i] = copy;
    self->is_replaced = 1;
    return PFD_OK;
}

static pfd_status call_companions(const pfd_node *node, named_paths *named, pfd_error *err)
{
    pfd_companion_args args = {.struct_size = sizeof args,
                               .host = pfd_host_table(),
                               .attrs = pfd_attrs_struct(node->attrs),
                               .paths = (const char *const *)named->paths,
                               .num_paths = named->size,
                               .list = named,
                               .add = add_companion,
                               .replace = replace_path};
    pfd_error_clear(err);
    return pfd_check_returned(node->op->op->companions(&args, err), "companions", err);
}

/* Appends the sidecar files of those in the list. */
static pfd_status add_companions(const pfd_node *node, pfd_path_list *list, pfd_error *err)
{
    size_t bytes = (size_t)list->size * sizeof *list->paths;
    named_paths named = {malloc(bytes + 1), list->size, list, 0}; /* the list moves when it grows */
    if (!named.paths) return pfd_fail_memory(err, (int64_t)bytes, "a list of files");
    if (bytes > 0) memcpy(named.paths, list->paths, bytes);
    pfd_status status = call_companions(node, &named, err);
    for (int64_t i = 0; i < named.size; i++)
        if (list->paths[i] != named.paths[i]) free(named.paths[i]);
    free(named.paths);
    if (status == PFD_OK && named.is_replaced)
        status = pfd_check_each_path_once("files", list->paths, named.size, err);
    for (int64_t i = 0; i < named.size && status == PFD_OK; i++)
        if (access(list->paths[i], F_OK) != 0 && errno == ENOENT)
            status = pfd_fail_missing_path("files", list->paths[i], err);
    return status;
}

/* Whether the reader takes folders as they are. */
static int32_t reads_folders(const pfd_node *node)
{
    return (node->op->op->flags & PFD_READS_FOLDERS) != 0;
}

/* Whether the list is only the data_dir: a folder without parts that companions() did not
 * replace. */
static int32_t is_folder(const pfd_file_attrs *attrs, const pfd_path_list *list)
{
    return list->size > 0 && attrs->files.size == 0 && !strcmp(list->paths[0], attrs->data_dir);
}

pfd_status pfd_node_find_files(const pfd_node *node, pfd_path_list *out, pfd_error *err)
{
    int32_t keep_missing = node->op->op->companions != NULL;
    const pfd_file_attrs *attrs = pfd_attrs_struct(node->file_attrs);
    if (reads_folders(node))
        PFD_TRY(pfd_data_folders_find(attrs, out, err));
    else
        PFD_TRY(pfd_part_files_find(attrs, keep_missing, out, err));
    if (!keep_missing) return PFD_OK;
    PFD_TRY(add_companions(node, out, err));
    if (reads_folders(node) || !is_folder(attrs, out)) return PFD_OK;
    pfd_path_list_free(out);
    return pfd_part_files_find(attrs, 0, out, err);
}

int32_t pfd_node_file_access(const pfd_node *node)
{
    const pfd_file_attrs *attrs = pfd_attrs_struct(node->file_attrs);
    return reads_folders(node) ? PFD_FILE_ACCESS_FOLDER : attrs->file_access;
}

pfd_status pfd_node_open_files(const pfd_node *node, pfd_input_files **out, pfd_error *err)
{
    const pfd_file_attrs *attrs = pfd_attrs_struct(node->file_attrs);
    pfd_path_list list = {0};
    pfd_status status = pfd_node_find_files(node, &list, err);
    if (status == PFD_OK)
        status = pfd_input_files_open(list.paths, list.size, pfd_node_file_access(node),
                                      attrs->compression, out, err);
    pfd_path_list_free(&list);
    return status;
}

static int64_t copy_paths(const pfd_path_list *list, char *out, int64_t room)
{
    int64_t size = 0;
    for (int64_t i = 0; i < list->size; i++) {
        int64_t bytes = (int64_t)strlen(list->paths[i]) + 1, left = room - size;
        if (left > 0) memcpy(out + size, list->paths[i], (size_t)(bytes < left ? bytes : left));
        size += bytes;
    }
    return size;
}

pfd_status pfd_node_files(const pfd_node *node, char *out, int64_t room, int64_t *size, int64_t *n,
                          pfd_error *err)
{
    pfd_path_list list = {0};
    pfd_status status = node->file_attrs ? pfd_node_find_files(node, &list, err) : PFD_OK;
    if (status == PFD_OK) {
        *size = copy_paths(&list, out, room);
        *n = list.size;
    } else {
        pfd_error_set_op(err, node->op->op->name);
    }
    pfd_path_list_free(&list);
    return status;
}
