/* From a reader's attrs to opened files. */
#include "op/node_files.h"

#include "core/error.h"
#include "io/file_patterns.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* Moves those of n paths that are the stem and an ending to `out`; returns how many. */
static int64_t take_endings(const char *stem, char **paths, int64_t n, char **out)
{
    size_t size = strlen(stem);
    int64_t taken = 0;
    for (int64_t i = 0; i < n; i++) {
        if (!paths[i] || strncmp(paths[i], stem, size) != 0 || paths[i][size] != '.') continue;
        out[taken++] = paths[i];
        paths[i] = NULL;
    }
    return taken;
}

/* A path that is not there may be what the names of its companions have in common: they come in its
 * place. */
static pfd_status settle_stems(pfd_path_list *list, int64_t num_named, pfd_error *err)
{
    pfd_path_list settled = {.capacity = list->size + 1};
    settled.paths = calloc((size_t)settled.capacity, sizeof *settled.paths);
    pfd_status status = PFD_OK;
    if (!settled.paths) return pfd_fail_memory(err, list->size * 8, "a list of files");
    for (int64_t i = 0; i < list->size && status == PFD_OK; i++) {
        char **path = &list->paths[i], **out = settled.paths + settled.size;
        if (!*path) continue;
        if (i >= num_named || access(*path, F_OK) == 0 || errno != ENOENT) {
            *out = *path;
            *path = NULL;
            settled.size++;
            continue;
        }
        int64_t n = list->size - num_named;
        int64_t taken = take_endings(*path, list->paths + num_named, n, out);
        if (taken == 0) status = pfd_fail_missing_path("files", *path, err);
        settled.size += taken;
    }
    pfd_path_list_free(list);
    *list = settled;
    return status;
}

pfd_status pfd_node_find_files(const pfd_node *node, pfd_path_list *out, pfd_error *err)
{
    const pfd_op *op = node->op->op;
    int32_t takes_stems = (op->flags & PFD_TAKES_STEMS) != 0;
    PFD_TRY(pfd_part_files_find(pfd_attrs_struct(node->file_attrs), takes_stems, out, err));
    int64_t num_named = out->size;
    if (op->companions) PFD_TRY(add_companions(node, out, err));
    return takes_stems ? settle_stems(out, num_named, err) : PFD_OK;
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
