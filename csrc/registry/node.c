/* Makes nodes: checks attrs and inputs, finds the files, and infers what the user left out and the
 * types of the outputs. */
#include "registry/node.h"

#include "core/error.h"
#include "core/scratch.h"
#include "files/codecs.h"
#include "files/file_hint.h"
#include "files/file_names.h"
#include "files/file_stream.h"
#include "files/part_files.h"
#include "files/seal.h"
#include "parse/row_type.h"
#include "parse/words.h"
#include "registry/attr_value.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Attrs ----------------------------------------------------------------------------------- */

static pfd_status fail_unknown_attr(const pfd_op *op, const char *name, pfd_error *err)
{
    const char **names = calloc(op->num_attrs + 1, sizeof *names);
    if (!names) return pfd_fail_memory(err, 0, "a message");
    char data[900];
    pfd_text text = pfd_text_in(data, sizeof data);
    pfd_text_add(&text, "unknown attr ");
    pfd_text_add_quoted(&text, name);
    for (uint32_t i = 0; i < op->num_attrs; i++) names[i] = op->attrs[i].name;
    const char *near = pfd_nearest_name(name, names, op->num_attrs);
    if (near) pfd_text_add(&text, "; did you mean '%s'?", near);
    else
        pfd_text_add(&text, op->num_attrs > 0 ? ". Attrs of %s: " : ". %s has no attrs.", op->name);
    for (uint32_t i = 0; !near && i < op->num_attrs; i++)
        pfd_text_add(&text, i > 0 ? ", %s" : "%s", names[i]);
    free(names);
    (void)pfd_fail(err, PFD_INVALID_ARGUMENT, "%s", data);
    return pfd_error_set_attr(err, name);
}

/* Called first, so that a misspelt attr is not reported as a missing one. */
static pfd_status check_attr_names(const pfd_op *op, const pfd_attr_value *values, int64_t n,
                                   pfd_error *err)
{
    for (int64_t i = 0; i < n; i++) {
        if (!values[i].name)
            return pfd_fail(err, PFD_INVALID_ARGUMENT, "attr value %" PRId64 " has no name", i);
        uint32_t row = 0;
        while (row < op->num_attrs && strcmp(values[i].name, op->attrs[row].name) != 0) row++;
        if (row == op->num_attrs) return fail_unknown_attr(op, values[i].name, err);
    }
    return PFD_OK;
}

/* The value of an attr; NULL: the op has none of that name, which may be NULL. */
static const void *attr_of(const pfd_op *op, const void *attrs, const char *name)
{
    for (uint32_t i = 0; name && i < op->num_attrs; i++)
        if (!strcmp(op->attrs[i].name, name)) return (const char *)attrs + op->attrs[i].offset;
    return NULL;
}

static pfd_status create_attrs(pfd_node *node, const pfd_attr_value *values, int64_t n,
                               pfd_error *err)
{
    const pfd_op *op = node->op->op;
    PFD_TRY(check_attr_names(node->op->public_op, values, n, err));
    PFD_TRY(pfd_attrs_create(op->attrs, op->num_attrs, op->attrs_struct_size, values, n,
                             &node->attrs, err));
    if (op->flags & PFD_READS_FILES) {
        PFD_TRY(pfd_attrs_create(pfd_file_attr_table, pfd_file_attr_count, sizeof(pfd_file_attrs),
                                 values, n, &node->file_attrs, err));
        PFD_TRY(pfd_file_attrs_check(pfd_attrs_struct(node->file_attrs), err));
    }
    if (!pfd_op_is_reader(op)) return PFD_OK;
    PFD_TRY(pfd_attrs_create(pfd_reader_attr_table, pfd_reader_attr_count,
                             sizeof(pfd_reader_attrs), values, n, &node->reader_attrs, err));
    pfd_reader_attrs *reader_attrs = pfd_attrs_unsettled(node->reader_attrs);
    PFD_TRY(pfd_reader_attrs_check_window(reader_attrs, values, n, err));
    int32_t sizes_differ = pfd_view_forms_batches(pfd_view_op_of(node->op));
    return pfd_reader_attrs_settle(reader_attrs, values, n, sizes_differ, err);
}

/* ---- Files: those that the user gave, and their sidecar files -------------------------------- */

/* A copy of the paths that the user gave, for companions(), which may replace paths in the list. */
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
        if (pfd_path_is_missing(list->paths[i]))
            status = pfd_fail_missing_path("files", list->paths[i], err);
    return status;
}

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

/* How the files are opened: PFD_FILE_ACCESS_*. */
static int32_t file_access(const pfd_node *node)
{
    const pfd_file_attrs *attrs = pfd_attrs_struct(node->file_attrs);
    return reads_folders(node) ? PFD_FILE_ACCESS_FOLDER : attrs->file_access;
}

static pfd_status open_paths(const pfd_node *node, char *const *paths, int64_t n, int32_t access,
                             const pfd_bounds *bounds, pfd_input_files **out, pfd_error *err)
{
    const pfd_file_attrs *attrs = pfd_attrs_struct(node->file_attrs);
    PFD_TRY(pfd_input_files_open(paths, n, access, attrs->compression, bounds, out, err));
    if (attrs->check != PFD_CHECK_SEAL) return PFD_OK;
    pfd_status status = pfd_input_files_compare_seals(*out, err);
    if (status == PFD_OK) return PFD_OK;
    pfd_input_files_close(*out);
    *out = NULL;
    return status;
}

pfd_status pfd_node_open_files(const pfd_node *node, const pfd_bounds *bounds,
                               pfd_input_files **out, pfd_error *err)
{
    pfd_path_list list = {0};
    pfd_status status = pfd_node_find_files(node, &list, err);
    if (status == PFD_OK)
        status = open_paths(node, list.paths, list.size, file_access(node), bounds, out, err);
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

/* ---- Attrs that the user left out, from the headers of the files ----------------------------- */

enum { beginning = 65536 }; /* bytes that are decompressed when a compressed file is opened */

/* A file that propose() opened. */
typedef struct opened_file {
    pfd_input_files *files;   /* has this one file */
    pfd_stream_window window; /* window of a compressed file; else zeroed */
} opened_file;

typedef struct inference {
    pfd_node *node;
    const pfd_attr_value *given;
    int64_t num_given;
    pfd_path_list paths;
    opened_file **opened; /* one for each path; NULL: not opened */
} inference;

static int32_t is_left_out(const inference *self, const pfd_attr *row)
{
    return (row->flags & PFD_ATTR_FOUND) &&
           !pfd_attrs_has_value(row->name, self->given, self->num_given);
}

static int32_t is_inferred(const pfd_node *node, const pfd_attr *row)
{
    for (int64_t i = 0; i < node->num_inferred; i++)
        if (!strcmp(node->inferred[i].name, row->name)) return 1;
    return 0;
}

static pfd_status open_file(const inference *self, char *const *path, opened_file *out,
                            pfd_error *err)
{
    int64_t n;
    int32_t access = file_access(self->node);
    if (access != PFD_FILE_ACCESS_FOLDER) access = PFD_FILE_ACCESS_READ;
    PFD_TRY(open_paths(self->node, path, 1, access, NULL, &out->files, err));
    const pfd_file *file = pfd_input_files_list(out->files, &n)[0];
    if (pfd_file_compression(file) <= PFD_COMPRESSION_NONE) return PFD_OK;
    PFD_TRY(pfd_stream_window_open(&out->window, file, err));
    return pfd_stream_window_fill(&out->window, beginning, NULL, err);
}

static pfd_status open_path(void *found, int64_t i, const pfd_file **file, pfd_error *err)
{
    inference *self = found;
    int64_t n;
    if (i < 0 || i >= self->paths.size)
        return pfd_fail(err, PFD_INTERNAL,
                        "propose() opens path %" PRId64 ", but the op has %" PRId64 " paths", i,
                        self->paths.size);
    if (!self->opened[i]) {
        self->opened[i] = calloc(1, sizeof **self->opened);
        if (!self->opened[i]) return pfd_fail_memory(err, sizeof **self->opened, "a file");
        PFD_TRY(open_file(self, &self->paths.paths[i], self->opened[i], err));
    }
    const opened_file *one = self->opened[i];
    *file = one->window.inflater ? &one->window.file.file : pfd_input_files_list(one->files, &n)[0];
    return PFD_OK;
}

static void end_inference(inference *self)
{
    for (int64_t i = 0; self->opened && i < self->paths.size; i++) {
        if (!self->opened[i]) continue;
        pfd_stream_window_close(&self->opened[i]->window);
        pfd_input_files_close(self->opened[i]->files);
        free(self->opened[i]);
    }
    free(self->opened);
    pfd_path_list_free(&self->paths);
}

static pfd_status find_row(const inference *self, const char *name, const pfd_attr **row,
                           pfd_error *err)
{
    const pfd_op *op = self->node->op->op;
    for (uint32_t i = 0; name && i < op->num_attrs; i++) {
        *row = &op->attrs[i];
        if (((*row)->flags & PFD_ATTR_FOUND) && !strcmp((*row)->name, name)) return PFD_OK;
    }
    return pfd_fail(err, PFD_INTERNAL,
                    "propose() sets '%s', which is not an attr of the op with PFD_ATTR_FOUND",
                    name ? name : "NULL");
}

/* Does not change an attr that the user gave. If propose() sets an attr twice, the last value
 * counts. */
static pfd_status set_value(inference *self, const pfd_attr *row, pfd_attr_value value,
                            pfd_error *err)
{
    pfd_node *node = self->node;
    if (!is_left_out(self, row)) return PFD_OK;
    int64_t i = 0;
    while (i < node->num_inferred && strcmp(node->inferred[i].name, row->name) != 0) i++;
    value.name = row->name;
    pfd_status status = pfd_attrs_set(node->attrs, row, &value, &node->inferred[i], err);
    if (status != PFD_OK) { /* the value comes from a file, not from the user */
        pfd_error_set_file(err, self->paths.size > 0 ? self->paths.paths[0] : "");
        return status;
    }
    if (i == node->num_inferred) node->num_inferred++;
    return PFD_OK;
}

static pfd_status set_int(void *found, const char *attr, int64_t value, pfd_error *err)
{
    const pfd_attr *row;
    char buffer[PFD_CHOICES_BYTES];
    const char *names[PFD_MAX_CHOICES], *name = NULL;
    PFD_TRY(find_row(found, attr, &row, err));
    if (row->type == PFD_ATTR_BOOL)
        return set_value(found, row, (pfd_attr_value){.kind = PFD_VALUE_BOOL, .i = value}, err);
    if (row->type != PFD_ATTR_DTYPE && row->type != PFD_ATTR_CHOICE)
        return set_value(found, row, (pfd_attr_value){.kind = PFD_VALUE_INT, .i = value}, err);
    if (row->type == PFD_ATTR_DTYPE && value == (int32_t)value)
        name = pfd_dtype_name((int32_t)value);
    if (row->type == PFD_ATTR_CHOICE && value >= 0 &&
        value < pfd_split_choices(row->choices, buffer, names))
        name = names[value];
    if (!name)
        return pfd_fail(err, PFD_INTERNAL, "propose() sets '%s' to %" PRId64 ", which is not a %s",
                        attr, value, row->type == PFD_ATTR_DTYPE ? "dtype" : "choice of it");
    return set_value(found, row, (pfd_attr_value){.kind = PFD_VALUE_STRING, .s = name}, err);
}

static pfd_status set_named(inference *self, const char *attr, pfd_attr_value value, pfd_error *err)
{
    const pfd_attr *row;
    PFD_TRY(find_row(self, attr, &row, err));
    return set_value(self, row, value, err);
}

static pfd_status set_string(void *found, const char *attr, const char *value, pfd_error *err)
{
    return set_named(found, attr, (pfd_attr_value){.kind = PFD_VALUE_STRING, .s = value}, err);
}

static pfd_status set_ints(void *found, const char *attr, const int64_t *values, int64_t n,
                           pfd_error *err)
{
    pfd_attr_value value = {.kind = PFD_VALUE_LIST_INT, .list = values, .list_size = n};
    return set_named(found, attr, value, err);
}

static pfd_status set_strings(void *found, const char *attr, const char *const *values, int64_t n,
                              pfd_error *err)
{
    pfd_attr_value value = {.kind = PFD_VALUE_LIST_STRING, .list = values, .list_size = n};
    return set_named(found, attr, value, err);
}

static pfd_status leave_out(void *found, const char *said, pfd_error *err)
{
    inference *self = found;
    return pfd_path_list_take(&self->node->left_out, strdup(said), err);
}

static pfd_status call_propose(inference *self, pfd_error *err)
{
    pfd_scratch *scratch = pfd_scratch_create();
    if (!scratch) return pfd_fail_memory(err, 0, "a scratch");
    pfd_propose_args args = {.struct_size = sizeof args,
                             .host = pfd_host_table(),
                             .attrs = pfd_attrs_struct(self->node->attrs),
                             .paths = (const char *const *)self->paths.paths,
                             .num_paths = self->paths.size,
                             .scratch = scratch,
                             .found = self,
                             .open = open_path,
                             .set_int = set_int,
                             .set_string = set_string,
                             .set_ints = set_ints,
                             .set_strings = set_strings,
                             .leave_out = leave_out};
    pfd_error_clear(err);
    pfd_status status = pfd_check_returned(self->node->op->op->propose(&args, err), "propose", err);
    pfd_scratch_free(scratch);
    return status;
}

static pfd_status call_inference(inference *self, pfd_error *err)
{
    self->node->inferred = calloc(self->node->op->op->num_attrs, sizeof *self->node->inferred);
    if (!self->node->inferred) return pfd_fail_memory(err, 0, "a list of attrs");
    if (!self->node->op->op->propose) return PFD_OK;
    if (self->node->file_attrs) PFD_TRY(pfd_node_find_files(self->node, &self->paths, err));
    self->opened = calloc((size_t)self->paths.size + 1, sizeof(opened_file *));
    if (!self->opened) return pfd_fail_memory(err, self->paths.size, "a list of files");
    return call_propose(self, err);
}

/* An attr that propose() did not set gets its default. It is listed with the inferred ones, so that
 * a node that is made with all of the listed values needs no inference. */
static pfd_status set_default(inference *self, const pfd_attr *row, pfd_scratch *memory,
                              pfd_error *err)
{
    pfd_attr_value value;
    if (!row->default_value)
        return pfd_attrs_fail_missing(row, ", the files do not state it", err);
    PFD_TRY(pfd_attr_parse_default(row, memory, &value, err));
    return set_value(self, row, value, err);
}

static pfd_status set_defaults(inference *self, pfd_error *err)
{
    const pfd_op *op = self->node->op->op;
    pfd_scratch *memory = pfd_scratch_create();
    if (!memory) return pfd_fail_memory(err, 0, "a scratch");
    pfd_status status = PFD_OK;
    for (uint32_t i = 0; i < op->num_attrs && status == PFD_OK; i++)
        if (is_left_out(self, &op->attrs[i]) && !is_inferred(self->node, &op->attrs[i]))
            status = set_default(self, &op->attrs[i], memory, err);
    pfd_scratch_free(memory);
    return status;
}

/* Calls the op's propose() if an attr with PFD_ATTR_FOUND is not among the given values.  After
 * this call the attrs of the node are complete.  Files are opened, read in pieces, not mapped,
 * and closed again. */
static pfd_status infer_attrs(pfd_node *node, const pfd_attr_value *given, int64_t num_given,
                                pfd_error *err)
{
    const pfd_op *op = node->op->op;
    inference self = {.node = node, .given = given, .num_given = num_given};
    int32_t left_out = 0;
    for (uint32_t i = 0; i < op->num_attrs; i++) left_out |= is_left_out(&self, &op->attrs[i]);
    if (!left_out && !(op->flags & PFD_CHECKS_FILES)) return PFD_OK;
    pfd_status status = call_inference(&self, err);
    if (status == PFD_OK) status = set_defaults(&self, err);
    end_inference(&self);
    if (left_out || status == PFD_OK || status == PFD_INVALID_ARGUMENT) return status;
    pfd_error_clear(err); /* opening the files will report it */
    return PFD_OK;
}

/* ---- The data set of a node's rows, and the fields of views ---------------------------------- */

/* 1 for views other than those of several sources. */
static int64_t num_sources_of(const pfd_op *op, const void *attrs)
{
    const int64_t *value = attr_of(op, attrs, "num_sources");
    return value ? *value : 1;
}

/* The name of an input in messages: the field, or the input if fields have no names. */
static const char *name_of_input(const pfd_node *node, int64_t i)
{
    const pfd_list_string *fields =
        attr_of(node->op->op, pfd_attrs_struct(node->attrs), "fields");
    if (!fields || fields->size < 1 || i / fields->size >= node->op->op->num_inputs)
        return node->op->op->inputs[i].name;
    return fields->data[i % fields->size];
}

static const pfd_node *order_of_input(const pfd_node *node, int64_t i)
{
    return node->inputs[i].node->order;
}

int64_t pfd_node_end_of_source(const pfd_node *node, int64_t begin)
{
    int64_t n = node->op->op->num_inputs, end = begin + 1;
    if (pfd_view_op_of(node->op)->kind != PFD_VIEW_ZIP)
        return begin + n / num_sources_of(node->op->op, pfd_attrs_struct(node->attrs));
    while (end < n && order_of_input(node, end) == order_of_input(node, begin)) end++;
    return end;
}

static pfd_status check_field(const pfd_node *node, int64_t i, pfd_error *err)
{
    const pfd_node *from = node->inputs[i].node, *order = from->order;
    const char *name = name_of_input(node, i);
    if (!order)
        return pfd_fail(err, PFD_INVALID_ARGUMENT,
                        "field '%s' comes from %s, which has rows of several readers, or needs "
                        "whole batches; a view takes the fields of one data set: zip them before",
                        name, from->op->op->name);
    const pfd_reader_attrs *attrs =
        order->reader_attrs ? pfd_attrs_struct(order->reader_attrs) : NULL;
    int32_t is_batched = (order->op->op->flags & PFD_VIEW) && attrs;
    if (is_batched || from->batch_size != 1 || (attrs && attrs->random_shuffle))
        return pfd_fail(err, PFD_INVALID_ARGUMENT,
                        "field '%s' comes in batches or in a random order from %s; views are of "
                        "records: leave the batch and shuffle attrs of the reader out, and use "
                        "views before BatchDataset",
                        name, order->op->op->name);
    return PFD_OK;
}

/* Inputs of one data set come from one reader or view. */
static pfd_status check_source(const pfd_node *node, int64_t begin, int64_t end, pfd_error *err)
{
    for (int64_t i = begin; i < end; i++) {
        PFD_TRY(check_field(node, i, err));
        const pfd_node *first = order_of_input(node, begin), *order = order_of_input(node, i);
        if (order != first)
            return pfd_fail(err, PFD_INVALID_ARGUMENT,
                            "field '%s' is of %s, and field '%s' of another %s; a view takes the "
                            "fields of one data set: zip the two before",
                            name_of_input(node, begin), first->op->op->name,
                            name_of_input(node, i), order->op->op->name);
    }
    return PFD_OK;
}

static pfd_status check_view(const pfd_node *node, pfd_error *err)
{
    int64_t n = node->op->op->num_inputs;
    for (int64_t begin = 0, end; begin < n; begin = end) {
        end = pfd_node_end_of_source(node, begin);
        PFD_TRY(check_source(node, begin, end, err));
    }
    return PFD_OK;
}

/* Sets node->order, after its inputs are known.  PFD_INVALID_ARGUMENT: the node is a view, and its
 * inputs are not the fields of data sets, as its kind needs them. */
static pfd_status find_order(pfd_node *node, pfd_error *err)
{
    const pfd_op *op = node->op->op;
    if ((op->flags & PFD_VIEW) || pfd_op_is_reader(op)) {
        node->order = node;
        return op->flags & PFD_VIEW ? check_view(node, err) : PFD_OK;
    }
    if (op->num_inputs == 0 || (op->flags & PFD_WHOLE_BATCH)) return PFD_OK;
    node->order = order_of_input(node, 0);
    for (uint32_t i = 1; i < op->num_inputs; i++)
        if (order_of_input(node, i) != node->order) node->order = NULL;
    return PFD_OK;
}

/* The names of the outputs of a view whose attr `fields` is empty: those of its inputs.  The caller
 * frees the array in *names; its texts belong to the inputs. */
static pfd_status field_names(const pfd_registered_op *op, const void *attrs,
                                const pfd_blob *inputs, int64_t num_inputs, pfd_list_string *names,
                                pfd_error *err)
{
    int64_t sources = num_sources_of(op->op, attrs), n = num_inputs / sources;
    const char **data = calloc((size_t)n + 1, sizeof *data);
    if (!data) return pfd_fail_memory(err, n * (int64_t)sizeof *data, "names of fields");
    for (int64_t i = 0; i < n; i++) {
        if (!inputs[i].node || inputs[i].output < 0 ||
            (uint32_t)inputs[i].output >= inputs[i].node->op->public_op->num_outputs) {
            free(data);
            return pfd_fail(err, PFD_INVALID_ARGUMENT, "input %" PRId64 " is not a blob", i);
        }
        data[i] = inputs[i].node->op->public_op->outputs[inputs[i].output].name;
    }
    *names = (pfd_list_string){.data = data, .size = n};
    return PFD_OK;
}

/* ---- Ports of a node whose op leaves them to the user ---------------------------------------- */

enum { most_ports = 4096, input_name_bytes = 96 };

/* One allocation: the op twice, its ports, and their names. */
typedef struct own_op {
    pfd_registered_op registered;
    pfd_op op, public_op;
    pfd_port ports[]; /* inputs, then the public outputs, which begin with the op's own */
} own_op;

static size_t name_size(const char *element)
{
    return (size_t)pfd_field_name_size(element);
}

static pfd_status fail_element(const pfd_op *op, const char *element, const char *found,
                               pfd_error *err)
{
    char data[600];
    pfd_text text = pfd_text_in(data, sizeof data);
    pfd_text_add_quoted(&text, element);
    return pfd_fail_attr(err, op->outputs_attr, NULL, PFD_INVALID_ARGUMENT, ": element %s %s", data,
                         found);
}

static int32_t is_name(const char *element, size_t size, const char *name)
{
    return strlen(name) == size && !memcmp(element, name, size);
}

static pfd_status check_port(const pfd_registered_op *from, const pfd_list_string *list,
                               int64_t i, pfd_error *err)
{
    const pfd_op *op = from->op;
    const char *element = list->data[i];
    size_t size = name_size(element);
    if (size == 0)
        return fail_element(op, element, "does not begin with the name of an output", err);
    for (int64_t j = 0; j < i; j++)
        if (name_size(list->data[j]) == size && !memcmp(list->data[j], element, size))
            return fail_element(op, element,
                                "has the name of an earlier one; give it another name, NAME=...",
                                err);
    for (uint32_t j = op->num_outputs; j < from->public_op->num_outputs; j++)
        if (is_name(element, size, from->public_op->outputs[j].name))
            return fail_element(op, element,
                                "has a name that an output of every reader has (mask, id); give "
                                "it another one, NAME=...",
                                err);
    return PFD_OK;
}

static pfd_status check_ports(const pfd_registered_op *from, const pfd_list_string *list,
                        int64_t num_inputs, pfd_error *err)
{
    int64_t size = list ? list->size : 1;
    if (size > most_ports)
        return pfd_fail_attr(err, from->op->outputs_attr, NULL, PFD_INVALID_ARGUMENT,
                             " has %" PRId64 " elements, one output each, but a node can have %d "
                             "outputs: choose some elements, or let an element be several columns "
                             "as one array, as 'x=0..%" PRId64 ":float32' of a CSV file",
                             size, most_ports, size - 1);
    if (num_inputs > most_ports)
        return pfd_fail(err, PFD_INVALID_ARGUMENT,
                        "the node has %" PRId64 " inputs; it can have %d at most", num_inputs,
                        most_ports);
    if (size == 0)
        return pfd_fail_attr(err, from->op->outputs_attr, NULL, PFD_INVALID_ARGUMENT,
                             " is empty; it must name at least one output");
    for (int64_t i = 0; list && i < size; i++) PFD_TRY(check_port(from, list, i, err));
    return PFD_OK;
}

static char *name_inputs(pfd_port *ports, uint32_t n, const pfd_port *declared, char *text)
{
    for (uint32_t i = 0; i < n; i++, text += input_name_bytes) {
        snprintf(text, input_name_bytes, "%.64s[%" PRIu32 "]", declared->name, i);
        ports[i] = (pfd_port){.name = text, .doc = declared->doc};
    }
    return text;
}

static void name_outputs(pfd_port *ports, const pfd_list_string *list, const pfd_port *declared,
                         char *text)
{
    for (int64_t i = 0; i < list->size; i++) {
        size_t size = name_size(list->data[i]);
        memcpy(text, list->data[i], size);
        text[size] = '\0';
        ports[i] = (pfd_port){.name = text, .doc = declared->doc};
        text += size + 1;
    }
}

static pfd_status write_ports(const pfd_registered_op *from, const pfd_list_string *list,
                         int64_t num_inputs, pfd_registered_op **out, pfd_error *err)
{
    const pfd_op *op = from->op, *public_op = from->public_op;
    int32_t has_many = (op->flags & PFD_MANY_INPUTS) != 0 && num_inputs > 0;
    int32_t lacks_last =
        (op->flags & PFD_OPTIONAL_INPUT) != 0 && num_inputs == (int64_t)op->num_inputs - 1;
    *out = NULL;
    if (!list && !has_many && !lacks_last) return PFD_OK;
    PFD_TRY(check_ports(from, list, num_inputs, err));
    uint32_t inputs = has_many || lacks_last ? (uint32_t)num_inputs : op->num_inputs;
    uint32_t outputs = list ? (uint32_t)list->size : op->num_outputs;
    uint32_t added = public_op->num_outputs - op->num_outputs;
    size_t names = (size_t)inputs * input_name_bytes;
    for (int64_t i = 0; list && i < list->size; i++) names += name_size(list->data[i]) + 1;
    size_t ports = (size_t)inputs + outputs + added;
    own_op *own = calloc(1, sizeof *own + ports * sizeof(pfd_port) + names);
    if (!own) return pfd_fail_memory(err, (int64_t)names, "a node's inputs and outputs");
    pfd_port *own_inputs = own->ports, *own_outputs = own->ports + inputs;
    char *text = (char *)(own->ports + ports);
    if (has_many)
        text = name_inputs(own_inputs, inputs, op->inputs, text);
    else if (inputs > 0)
        memcpy(own_inputs, op->inputs, inputs * sizeof *own_inputs);
    if (list)
        name_outputs(own_outputs, list, op->outputs, text);
    else
        memcpy(own_outputs, op->outputs, outputs * sizeof *own_outputs);
    if (added > 0)
        memcpy(own_outputs + outputs, public_op->outputs + op->num_outputs,
               added * sizeof *own_outputs);
    own->op = *op;
    own->public_op = *public_op;
    own->op.inputs = own->public_op.inputs = own_inputs;
    own->op.num_inputs = own->public_op.num_inputs = inputs;
    own->op.outputs = own->public_op.outputs = own_outputs;
    own->op.num_outputs = outputs;
    own->public_op.num_outputs = outputs + added;
    own->registered = *from;
    own->registered.op = &own->op;
    own->registered.public_op = &own->public_op;
    *out = &own->registered;
    return PFD_OK;
}

/* A view has as many outputs as it has fields; where they are not named, the inputs' names. */
static pfd_status write_view_ports(const pfd_registered_op *from, const void *attrs,
                              const pfd_list_string *list, const pfd_blob *inputs,
                              int64_t num_inputs, pfd_registered_op **out, pfd_error *err)
{
    if (num_inputs < 1)
        return pfd_fail(err, PFD_INVALID_ARGUMENT, "%s needs the fields of a data set",
                        from->op->name);
    pfd_list_string own;
    PFD_TRY(field_names(from, attrs, inputs, num_inputs, &own, err));
    pfd_status status = PFD_OK;
    int32_t adds_fields = pfd_view_op_of(from)->kind == PFD_VIEW_JOIN; /* after the others */
    if (list->size > 0 && (list->size < own.size || (list->size > own.size && !adds_fields)))
        status = pfd_fail_attr(err, from->op->outputs_attr, NULL, PFD_INVALID_ARGUMENT,
                               " has %" PRId64 " names, and there are %" PRId64 " fields",
                               list->size, own.size);
    if (status == PFD_OK)
        status = write_ports(from, list->size > 0 ? list : &own, num_inputs, out, err);
    free((void *)(uintptr_t)own.data);
    return status;
}

/* For an op with outputs_attr or PFD_MANY_INPUTS, or whose optional input was left out, *out is the
 * same op with one port declared for each blob of this node, so that other code need not know where
 * ports come from.  For other ops *out is NULL.  `attrs`: the node's values of the op's own attrs.
 * *out is one piece of memory, for free(). */
static pfd_status create_ports(const pfd_registered_op *from, const void *attrs,
                                 const pfd_blob *inputs, int64_t num_inputs,
                                 pfd_registered_op **out, pfd_error *err)
{
    const pfd_list_string *list = attr_of(from->op, attrs, from->op->outputs_attr);
    if (list && inputs && (from->op->flags & PFD_VIEW))
        return write_view_ports(from, attrs, list, inputs, num_inputs, out, err);
    return write_ports(from, list, num_inputs, out, err);
}

/* ---- Inputs ---------------------------------------------------------------------------------- */

static pfd_status fail_input_count(const pfd_op *op, int64_t given, pfd_error *err)
{
    if (op->flags & PFD_VIEW)
        return pfd_fail(err, PFD_INVALID_ARGUMENT, "%s is a view: it takes blobs, not rows",
                        op->name);
    if (op->num_inputs == 0)
        return pfd_fail(err, PFD_INVALID_ARGUMENT,
                        "inputs are given (%" PRId64 "), but %s is a reader and takes none", given,
                        op->name);
    char data[700];
    pfd_text text = pfd_text_in(data, sizeof data);
    for (uint32_t i = 0; i < op->num_inputs; i++)
        pfd_text_add(&text, i > 0 ? ", '%s'" : "'%s'", op->inputs[i].name);
    if (given < op->num_inputs)
        return pfd_fail(err, PFD_INVALID_ARGUMENT,
                        "input '%s' is missing: %s takes %" PRIu32 " (%s)",
                        op->inputs[given].name, op->name, op->num_inputs, data);
    return pfd_fail(err, PFD_INVALID_ARGUMENT,
                    "%" PRId64 " inputs are given; %s takes %" PRIu32 " (%s)", given, op->name,
                    op->num_inputs, data);
}

static pfd_status check_blob(const pfd_blob *blob, pfd_error *err)
{
    if (!blob->node) return pfd_fail(err, PFD_INVALID_ARGUMENT, "the blob has no node");
    const pfd_op *public_op = blob->node->op->public_op;
    if (blob->output < 0 || (uint32_t)blob->output >= public_op->num_outputs)
        return pfd_fail(err, PFD_INVALID_ARGUMENT,
                        "the blob is output %" PRId32 " of %s, whose outputs are 0 to %" PRIu32,
                        blob->output, public_op->name, public_op->num_outputs - 1);
    return PFD_OK;
}

/* `declared`: the op with all its inputs. */
static pfd_status take_batch_size(pfd_node *node, const pfd_op *declared, pfd_error *err)
{
    const char *attr = declared->batch_size_attr;
    const int64_t *stated = attr_of(declared, pfd_attrs_struct(node->attrs), attr);
    int64_t own = stated ? *stated : 0;
    if (node->op->op->num_inputs > 0) {
        if (own < 1 || own == node->batch_size) return PFD_OK;
        return pfd_fail_attr(err, attr, NULL, PFD_INVALID_ARGUMENT,
                             " = %" PRId64 ", and input '%s' comes in batches of %" PRId64, own,
                             declared->inputs[0].name, node->batch_size);
    }
    if (own < 1)
        return pfd_fail(err, PFD_INVALID_ARGUMENT,
                        "input '%s' is missing; without it, give %s, the batch_size of the readers",
                        declared->inputs[0].name, attr);
    node->batch_size = own;
    return PFD_OK;
}

static pfd_status take_inputs(pfd_node *node, const pfd_blob *inputs, int64_t n, pfd_error *err)
{
    const pfd_op *op = node->op->public_op;
    if (n != op->num_inputs) return fail_input_count(op, n, err);
    node->inputs = calloc((size_t)n + 1, sizeof *node->inputs);
    if (!node->inputs) return pfd_fail_memory(err, n * (int64_t)sizeof *node->inputs, "inputs");
    for (int64_t i = 0; i < n; i++) {
        if (!inputs[i].node)
            return pfd_fail(err, PFD_INVALID_ARGUMENT, "input '%s' is missing", op->inputs[i].name);
        PFD_TRY(check_blob(&inputs[i], err));
        node->inputs[i] = (pfd_blob){pfd_node_retain(inputs[i].node), inputs[i].output};
        int64_t batch_size = inputs[i].node->batch_size;
        if (i == 0) node->batch_size = batch_size;
        if (batch_size != node->batch_size)
            return pfd_fail(err, PFD_INVALID_ARGUMENT,
                            "input '%s' comes in batches of %" PRId64 " and input '%s' of %" PRId64
                            "; give their readers the same batch_size",
                            op->inputs[0].name, node->batch_size, op->inputs[i].name, batch_size);
    }
    if (node->reader_attrs) {
        const pfd_reader_attrs *attrs = pfd_attrs_struct(node->reader_attrs);
        node->batch_size = attrs->batch_size;
    }
    return PFD_OK;
}

/* Checks the types of rows that the caller has; they stand in place of blobs. */
static pfd_status check_input_types(const pfd_node *node, const pfd_row_type *types, int64_t n,
                                    pfd_error *err)
{
    const pfd_op *op = node->op->public_op;
    if (n != op->num_inputs) return fail_input_count(op, n, err);
    for (int64_t i = 0; i < n; i++) {
        int32_t is_fit = pfd_dtype_name(types[i].dtype) && types[i].ndim >= 0 &&
                         types[i].ndim <= PFD_MAX_DIMS;
        for (int32_t d = 0; is_fit && d < types[i].ndim; d++) is_fit = types[i].shape[d] >= -1;
        if (!is_fit)
            return pfd_fail(err, PFD_INVALID_ARGUMENT,
                            "the type given for the rows of input '%s' is not valid: dtype "
                            "%" PRId32 ", %" PRId32 " dimensions",
                            op->inputs[i].name, types[i].dtype, types[i].ndim);
    }
    return PFD_OK;
}

/* ---- Types of the outputs -------------------------------------------------------------------- */

/* No machine has this number of bytes: a larger batch is a mistake, and smaller sizes can be added
 * without overflow. */
static const int64_t MOST_BATCH_BYTES = (int64_t)1 << 46;

static pfd_status fail_output(const pfd_node *node, uint32_t output, const char *found,
                              int64_t value, pfd_error *err)
{
    return pfd_fail(err, PFD_INTERNAL,
                    "infer() gave output '%s' %s %" PRId64 "; it must fill in a PFD_BOOL ... "
                    "PFD_BFLOAT16, 0 to %d dimensions and sizes from 0, or -1 for one that varies",
                    node->op->public_op->outputs[output].name, found, value, PFD_MAX_DIMS);
}

static pfd_status check_bytes(const pfd_node *node, uint32_t output, pfd_error *err)
{
    const pfd_row_type *type = &node->outputs[output];
    /* A dimension of 0 must not hide the others: NumPy too multiplies them without it.  A dimension
     * that varies counts as 1: its size is known only with each batch. */
    int64_t bytes = pfd_dtype_size(type->dtype) * node->batch_size;
    int32_t too_large = bytes > MOST_BATCH_BYTES;
    for (int32_t i = 0; i < type->ndim && !too_large; i++) {
        int64_t size = type->shape[i] > 0 ? type->shape[i] : 1;
        too_large = size > MOST_BATCH_BYTES / bytes;
        if (!too_large) bytes *= size;
    }
    if (!too_large) return PFD_OK;
    char data[300];
    pfd_text text = pfd_text_in(data, sizeof data);
    for (int32_t i = 0; i < type->ndim; i++)
        pfd_text_add(&text, i > 0 ? ", %" PRId64 : "%" PRId64, type->shape[i]);
    return pfd_fail(err, PFD_INVALID_ARGUMENT,
                    "output '%s' has rows of %s (%s); %" PRId64
                    " of them are more than the 64 TiB that a batch can have",
                    node->op->public_op->outputs[output].name, pfd_dtype_name(type->dtype), data,
                    node->batch_size);
}

static pfd_status check_output(pfd_node *node, uint32_t output, pfd_error *err)
{
    pfd_row_type *type = &node->outputs[output];
    if (!pfd_dtype_name(type->dtype)) return fail_output(node, output, "dtype", type->dtype, err);
    if (type->ndim < 0 || type->ndim > PFD_MAX_DIMS)
        return fail_output(node, output, "ndim", type->ndim, err);
    for (int32_t i = 0; i < type->ndim; i++)
        if (type->shape[i] < -1)
            return fail_output(node, output, "a dimension of", type->shape[i], err);
    for (int32_t i = type->ndim; i < PFD_MAX_DIMS; i++) type->shape[i] = 0;
    return check_bytes(node, output, err);
}

static pfd_status call_infer(pfd_node *node, const pfd_row_type *inputs, pfd_error *err)
{
    pfd_infer_args args = {
        .struct_size = sizeof args,
        .host = pfd_host_table(),
        .attrs = pfd_attrs_struct(node->attrs),
        .inputs = inputs,
        .outputs = node->outputs,
        .num_inputs = node->op->op->num_inputs,
        .num_outputs = node->op->op->num_outputs,
    };
    pfd_error_clear(err);
    pfd_status status = node->op->op->infer(&args, err);
    if (status == PFD_OK) return PFD_OK;
    if (status > 0 || !err->message[0])
        return pfd_fail(err, status < 0 ? status : PFD_INTERNAL,
                        "infer() returned %" PRId32 " and no message", status);
    err->status = status;
    return status;
}

/* Refuses ragged inputs of an op without PFD_TAKES_RAGGED: it would read the table of rows as
 * data. */
static pfd_status check_ragged(const pfd_op *op, const pfd_row_type *inputs, pfd_error *err)
{
    if (op->flags & PFD_TAKES_RAGGED) return PFD_OK;
    for (uint32_t i = 0; i < op->num_inputs; i++) {
        char found[256];
        for (int32_t d = 0; d < inputs[i].ndim; d++)
            if (inputs[i].shape[d] < 0)
                return pfd_fail(err, PFD_INVALID_ARGUMENT,
                                "the rows of input '%s' are %s and vary in size, but %s takes rows "
                                "of one size",
                                op->inputs[i].name,
                                pfd_format_row_type(&inputs[i], found, sizeof found), op->name);
    }
    return PFD_OK;
}

/* `given`: the types of the inputs' rows; NULL: those of the blobs. */
static pfd_status infer_outputs(pfd_node *node, const pfd_row_type *given, pfd_error *err)
{
    const pfd_op *op = node->op->op, *public_op = node->op->public_op;
    node->outputs = calloc(public_op->num_outputs, sizeof *node->outputs);
    pfd_row_type *inputs = calloc(op->num_inputs + 1, sizeof *inputs);
    if (!node->outputs || !inputs) {
        free(inputs);
        return pfd_fail_memory(err, public_op->num_outputs * (int64_t)sizeof *inputs, "types");
    }
    for (uint32_t i = 0; i < op->num_inputs; i++)
        inputs[i] = given ? given[i] : node->inputs[i].node->outputs[node->inputs[i].output];
    pfd_status status = check_ragged(op, inputs, err);
    if (status == PFD_OK) status = call_infer(node, inputs, err);
    free(inputs);
    PFD_TRY(status);
    if (pfd_op_is_reader(op)) {
        node->outputs[op->num_outputs] = (pfd_row_type){.dtype = PFD_BOOL};
        node->outputs[op->num_outputs + 1] =
            (pfd_row_type){.dtype = PFD_INT64, .ndim = 1, .shape = {2}};
    }
    for (uint32_t i = 0; i < public_op->num_outputs; i++) PFD_TRY(check_output(node, i, err));
    return PFD_OK;
}

/* ---- Life ------------------------------------------------------------------------------------ */

/* The inputs of a new node: blobs, or the types of rows. */
typedef struct parts {
    const char *name;
    const pfd_attr_value *values;
    int64_t num_values;
    const pfd_blob *blobs;
    const pfd_row_type *types;
    int64_t num_inputs;
} parts;

static pfd_status fill(pfd_node *node, const parts *of, pfd_error *err)
{
    node->name = strdup(of->name ? of->name : "");
    if (!node->name) return pfd_fail_memory(err, 0, "a name");
    if (of->num_values < 0 || of->num_inputs < 0 || (of->num_values > 0 && !of->values) ||
        (of->num_inputs > 0 && !of->blobs && !of->types))
        return pfd_fail(err, PFD_INVALID_ARGUMENT, "%" PRId64 " attr values and %" PRId64
                        " inputs are given, at NULL", of->num_values, of->num_inputs);
    PFD_TRY(create_attrs(node, of->values, of->num_values, err));
    PFD_TRY(infer_attrs(node, of->values, of->num_values, err));
    PFD_TRY(create_ports(node->op, pfd_attrs_struct(node->attrs), of->blobs,
                                  of->num_inputs, &node->own_op, err));
    const pfd_op *declared = node->op->op;
    if (node->own_op) node->op = node->own_op;
    PFD_TRY(of->types ? check_input_types(node, of->types, of->num_inputs, err)
                      : take_inputs(node, of->blobs, of->num_inputs, err));
    if (!of->types && !pfd_op_is_reader(declared)) PFD_TRY(take_batch_size(node, declared, err));
    if (!of->types) PFD_TRY(find_order(node, err));
    return infer_outputs(node, of->types, err);
}

static pfd_status create(const pfd_registered_op *op, const parts *of, pfd_node **out,
                         pfd_error *err)
{
    pfd_node *node = calloc(1, sizeof *node);
    if (!node) return pfd_fail_memory(err, sizeof *node, "a node");
    atomic_init(&node->references, 1);
    node->op = op;
    node->batch_size = 1; /* take_inputs() says better */
    pfd_status status = fill(node, of, err);
    if (status != PFD_OK) {
        pfd_node_release(node);
        pfd_error_set_op(err, op->op->name);
        return pfd_error_explain_file(err);
    }
    *out = node;
    return PFD_OK;
}

pfd_status pfd_node_create(const char *op, const char *name, const pfd_attr_value *values,
                           int64_t num_values, const pfd_blob *inputs, int64_t num_inputs,
                           pfd_node **out, pfd_error *err)
{
    const pfd_registered_op *found = pfd_registry_find(op, err);
    if (!found) return err->status;
    parts of = {.name = name, .values = values, .num_values = num_values, .blobs = inputs,
                .num_inputs = num_inputs};
    return create(found, &of, out, err);
}

pfd_status pfd_node_create_on_rows(const char *op, const char *name, const pfd_attr_value *values,
                                   int64_t num_values, const pfd_row_type *inputs,
                                   int64_t num_inputs, pfd_node **out, pfd_error *err)
{
    const pfd_registered_op *found = pfd_registry_find(op, err);
    if (!found) return err->status;
    if (pfd_op_is_reader(found->op) || (found->op->flags & PFD_VIEW)) {
        (void)fail_input_count(found->op, num_inputs, err);
        pfd_error_set_op(err, found->op->name);
        return err->status;
    }
    parts of = {.name = name, .values = values, .num_values = num_values, .types = inputs,
                .num_inputs = num_inputs};
    return create(found, &of, out, err);
}

static pfd_status fill_part(pfd_node *part, const int32_t *kept, int32_t num_kept, pfd_error *err)
{
    const pfd_node *whole = part->whole;
    const pfd_registered_op *from = whole->op;
    const pfd_op *op = from->op;
    uint32_t list = 0, all = from->public_op->num_outputs;
    while (strcmp(op->attrs[list].name, op->outputs_attr)) list++;
    part->name = strdup(whole->name);
    part->attrs = pfd_attrs_with_fewer(whole->attrs, op->attrs_struct_size, &op->attrs[list], kept,
                                       num_kept);
    part->outputs = calloc(all, sizeof *part->outputs);
    if (!part->name || !part->attrs || !part->outputs)
        return pfd_fail_memory(err, (int64_t)sizeof *part, "a node");
    for (int32_t i = 0; i < num_kept; i++) part->outputs[i] = whole->outputs[kept[i]];
    for (uint32_t i = op->num_outputs; i < all; i++)
        part->outputs[(uint32_t)num_kept + i - op->num_outputs] = whole->outputs[i];
    const void *attrs = pfd_attrs_struct(part->attrs);
    PFD_TRY(write_ports(from, attr_of(op, attrs, op->outputs_attr), op->num_inputs, &part->own_op,
                        err));
    part->op = part->own_op;
    return PFD_OK;
}

pfd_status pfd_node_part(pfd_node *node, const int32_t *kept, int32_t num_kept, pfd_node **out,
                         pfd_error *err)
{
    *out = NULL;
    const pfd_op *op = node->op->op;
    if (!op->outputs_attr || !op->same_without || num_kept < 1) return PFD_OK;
    pfd_node *part = calloc(1, sizeof *part);
    if (!part) return pfd_fail_memory(err, sizeof *part, "a node");
    atomic_init(&part->references, 1);
    part->op = node->op;
    part->whole = pfd_node_retain(node);
    part->file_attrs = node->file_attrs;
    part->reader_attrs = node->reader_attrs;
    part->batch_size = node->batch_size;
    part->order = node->order == node ? part : node->order;
    pfd_status status = fill_part(part, kept, num_kept, err);
    if (status == PFD_OK && op->same_without(pfd_host_table(), pfd_attrs_struct(node->attrs),
                                             pfd_attrs_struct(part->attrs)))
        *out = part;
    else
        pfd_node_release(part);
    return status;
}

pfd_node *pfd_node_retain(pfd_node *node)
{
    (void)atomic_fetch_add_explicit(&node->references, 1, memory_order_relaxed);
    return node;
}

/* Drops a reference; a node without references is put in front of the list. */
static void drop(pfd_node *node, pfd_node **released)
{
    if (!node) return;
    if (atomic_fetch_sub_explicit(&node->references, 1, memory_order_acq_rel) != 1) return;
    node->next_released = *released;
    *released = node;
}

/* Uses a list instead of recursion, so that a long chain of ops needs no deep stack. */
void pfd_node_release(pfd_node *node)
{
    pfd_node *released = NULL;
    drop(node, &released);
    while (released) {
        pfd_node *next = released;
        released = next->next_released;
        for (uint32_t i = 0; next->inputs && i < next->op->public_op->num_inputs; i++)
            drop(next->inputs[i].node, &released);
        pfd_attrs_free(next->attrs);
        if (!next->whole) {
            pfd_attrs_free(next->file_attrs);
            pfd_attrs_free(next->reader_attrs);
        }
        drop(next->whole, &released);
        free(next->inferred);
        pfd_path_list_free(&next->left_out);
        free(next->inputs);
        free(next->outputs);
        free(next->name);
        free(next->own_op);
        free(next);
    }
}

const pfd_op *pfd_node_op(const pfd_node *node)
{
    return node->op->public_op;
}

const pfd_attr_value *pfd_node_found(const pfd_node *node, int64_t *n)
{
    *n = node->num_inferred;
    return node->inferred;
}

const char *const *pfd_node_left_out(const pfd_node *node, int64_t *n)
{
    *n = node->left_out.size;
    return (const char *const *)node->left_out.paths;
}

pfd_status pfd_blob_type(const pfd_blob *blob, pfd_row_type *type, int64_t *batch_size,
                         pfd_error *err)
{
    PFD_TRY(check_blob(blob, err));
    *type = blob->node->outputs[blob->output];
    *batch_size = blob->node->batch_size;
    return PFD_OK;
}
