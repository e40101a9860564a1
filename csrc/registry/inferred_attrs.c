/* Infers the attrs that the user left out from the headers of the files. */
#include "registry/inferred_attrs.h"

#include "core/convert.h"
#include "core/error.h"
#include "core/scratch.h"
#include "files/codecs.h"
#include "files/file_stream.h"
#include "registry/attr_text.h"
#include "registry/attr_value.h"
#include "registry/node_files.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { beginning = 65536 }; /* bytes that are decompressed when a compressed file is opened */

/* A file that propose() opened. */
typedef struct opened_file {
    pfd_input_files *files;   /* has this one file */
    pfd_stream_window window; /* of a compressed file; else zeroed */
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
    return (row->flags & PFD_ATTR_FOUND) && !pfd_attrs_has_value(row, self->given, self->num_given);
}

static int32_t is_inferred(const pfd_node *node, const pfd_attr *row)
{
    for (int64_t i = 0; i < node->num_inferred; i++)
        if (!strcmp(node->inferred[i].name, row->name)) return 1;
    return 0;
}

/* ---- Files ----------------------------------------------------------------------------------- */
static pfd_status open_file(const inference *self, char *const *path, opened_file *out,
                            pfd_error *err)
{
    int64_t n;
    const pfd_file_attrs *attrs = pfd_attrs_struct(self->node->file_attrs);
    int32_t access = pfd_node_file_access(self->node);
    if (access != PFD_FILE_ACCESS_FOLDER) access = PFD_FILE_ACCESS_READ;
    PFD_TRY(pfd_input_files_open(path, 1, access, attrs->compression, &out->files, err));
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

/* ---- Values ---------------------------------------------------------------------------------- */
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
static pfd_status set(inference *self, const pfd_attr *row, pfd_attr_value value, pfd_error *err)
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
        return set(found, row, (pfd_attr_value){.kind = PFD_VALUE_BOOL, .i = value}, err);
    if (row->type != PFD_ATTR_DTYPE && row->type != PFD_ATTR_CHOICE)
        return set(found, row, (pfd_attr_value){.kind = PFD_VALUE_INT, .i = value}, err);
    if (row->type == PFD_ATTR_DTYPE && value == (int32_t)value)
        name = pfd_dtype_name((int32_t)value);
    if (row->type == PFD_ATTR_CHOICE && value >= 0 &&
        value < pfd_split_choices(row->choices, buffer, names))
        name = names[value];
    if (!name)
        return pfd_fail(err, PFD_INTERNAL, "propose() sets '%s' to %" PRId64 ", which is not a %s",
                        attr, value, row->type == PFD_ATTR_DTYPE ? "dtype" : "choice of it");
    return set(found, row, (pfd_attr_value){.kind = PFD_VALUE_STRING, .s = name}, err);
}

static pfd_status set_string(void *found, const char *attr, const char *value, pfd_error *err)
{
    const pfd_attr *row;
    PFD_TRY(find_row(found, attr, &row, err));
    return set(found, row, (pfd_attr_value){.kind = PFD_VALUE_STRING, .s = value}, err);
}

static pfd_status set_ints(void *found, const char *attr, const int64_t *values, int64_t n,
                           pfd_error *err)
{
    const pfd_attr *row;
    pfd_attr_value value = {.kind = PFD_VALUE_LIST_INT, .list = values, .list_size = n};
    PFD_TRY(find_row(found, attr, &row, err));
    return set(found, row, value, err);
}

static pfd_status set_strings(void *found, const char *attr, const char *const *values, int64_t n,
                              pfd_error *err)
{
    const pfd_attr *row;
    pfd_attr_value value = {.kind = PFD_VALUE_LIST_STRING, .list = values, .list_size = n};
    PFD_TRY(find_row(found, attr, &row, err));
    return set(found, row, value, err);
}

/* ---- The call -------------------------------------------------------------------------------- */
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
                             .set_strings = set_strings};
    pfd_error_clear(err);
    pfd_status status = pfd_check_returned(self->node->op->op->propose(&args, err), "propose", err);
    pfd_scratch_free(scratch);
    return status;
}

static pfd_status infer(inference *self, pfd_error *err)
{
    self->node->inferred = calloc(self->node->op->op->num_attrs, sizeof *self->node->inferred);
    if (!self->node->inferred) return pfd_fail_memory(err, 0, "a list of attrs");
    if (!self->node->op->op->propose) return PFD_OK;
    PFD_TRY(pfd_node_find_files(self->node, &self->paths, err));
    self->opened = calloc((size_t)self->paths.size + 1, sizeof(opened_file *));
    if (!self->opened)
        return pfd_fail_memory(err, self->paths.size, "a list of files");
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
    return set(self, row, value, err);
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

pfd_status pfd_node_infer_attrs(pfd_node *node, const pfd_attr_value *given, int64_t num_given,
                                pfd_error *err)
{
    const pfd_op *op = node->op->op;
    inference self = {.node = node, .given = given, .num_given = num_given};
    int32_t left_out = 0;
    for (uint32_t i = 0; i < op->num_attrs; i++) left_out |= is_left_out(&self, &op->attrs[i]);
    if (!left_out && !(op->flags & PFD_CHECKS_FILES)) return PFD_OK;
    pfd_status status = infer(&self, err);
    if (status == PFD_OK) status = set_defaults(&self, err);
    end_inference(&self);
    if (left_out || status == PFD_OK || status == PFD_INVALID_ARGUMENT) return status;
    pfd_error_clear(err); /* opening the files will report it */
    return PFD_OK;
}
