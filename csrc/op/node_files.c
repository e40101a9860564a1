/* From a reader's attrs to opened files. */
#include "op/node_files.h"

#include "core/error.h"

#include <stdlib.h>
#include <string.h>

static pfd_status add_companion(void *list, const char *path, pfd_error *err)
{
    return pfd_path_list_take(list, path ? strdup(path) : NULL, err);
}

/* Files that belong to those in the list, behind them. */
static pfd_status add_companions(const pfd_node *node, pfd_path_list *list, pfd_error *err)
{
    size_t bytes = (size_t)list->size * sizeof *list->paths;
    char **named = malloc(bytes + 1); /* the list's own move as it grows */
    if (!named) return pfd_fail_memory(err, (int64_t)bytes, "a list of files");
    if (bytes > 0) memcpy(named, list->paths, bytes);
    pfd_companion_args args = {.struct_size = sizeof args,
                               .host = pfd_host_table(),
                               .attrs = pfd_attrs_struct(node->attrs),
                               .paths = (const char *const *)named,
                               .num_paths = list->size,
                               .list = list,
                               .add = add_companion};
    pfd_error_init(err);
    pfd_status status =
        pfd_check_returned(node->op->op->companions(&args, err), "companions", err);
    free(named);
    return status;
}

pfd_status pfd_node_find_files(const pfd_node *node, pfd_path_list *out, pfd_error *err)
{
    PFD_TRY(pfd_part_files_find(pfd_attrs_struct(node->file_attrs), out, err));
    return node->op->op->companions ? add_companions(node, out, err) : PFD_OK;
}

pfd_status pfd_node_open_files(const pfd_node *node, pfd_input_files **out, pfd_error *err)
{
    const pfd_file_attrs *attrs = pfd_attrs_struct(node->file_attrs);
    pfd_path_list list = {0};
    pfd_status status = pfd_node_find_files(node, &list, err);
    if (status == PFD_OK)
        status = pfd_input_files_open(list.paths, list.size, attrs->file_access,
                                      attrs->compression, out, err);
    pfd_path_list_free(&list);
    return status;
}
