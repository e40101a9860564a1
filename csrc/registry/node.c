/* Makes nodes: checks attrs and inputs, and infers the types of the outputs. */
#include "registry/node.h"

#include "core/error.h"
#include "files/file_hint.h"
#include "parse/row_type.h"
#include "parse/words.h"
#include "registry/attr_text.h"
#include "registry/inferred_attrs.h"
#include "registry/node_order.h"
#include "registry/node_ports.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* More bytes than any machine has: a larger batch is a mistake, and smaller sizes can be added
 * without overflow. */
static const int64_t MOST_BATCH_BYTES = (int64_t)1 << 46;

/* ---- Attrs ---- */

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

/* ---- Inputs ---- */

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

/* What the attr of batch_size_attr says; 0: nothing. */
static int64_t own_batch_size(const pfd_node *node)
{
    const pfd_op *op = node->op->op;
    for (uint32_t i = 0; op->batch_size_attr && i < op->num_attrs; i++)
        if (!strcmp(op->attrs[i].name, op->batch_size_attr))
            return *(const int64_t *)(const void *)((const char *)pfd_attrs_struct(node->attrs) +
                                                    op->attrs[i].offset);
    return 0;
}

/* `declared`: the op with all its inputs. */
static pfd_status take_batch_size(pfd_node *node, const pfd_op *declared, pfd_error *err)
{
    int64_t own = own_batch_size(node);
    const char *attr = declared->batch_size_attr;
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

/* In place of blobs, what the caller says of rows that it has. */
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
                            "the type given for the rows of input '%s' is none: dtype %" PRId32
                            ", %" PRId32 " dimensions",
                            op->inputs[i].name, types[i].dtype, types[i].ndim);
    }
    return PFD_OK;
}

/* ---- Outputs ---- */

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

/* ---- Life ---- */

/* What a node is made of: blobs, or the types of rows. */
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
    PFD_TRY(pfd_node_infer_attrs(node, of->values, of->num_values, err));
    PFD_TRY(pfd_node_ports_create(node->op, pfd_attrs_struct(node->attrs), of->blobs,
                                  of->num_inputs, &node->own_op, err));
    const pfd_op *declared = node->op->op;
    if (node->own_op) node->op = node->own_op;
    PFD_TRY(of->types ? check_input_types(node, of->types, of->num_inputs, err)
                      : take_inputs(node, of->blobs, of->num_inputs, err));
    if (!of->types && !pfd_op_is_reader(declared)) PFD_TRY(take_batch_size(node, declared, err));
    if (!of->types) PFD_TRY(pfd_node_find_order(node, err));
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
        pfd_attrs_free(next->file_attrs);
        pfd_attrs_free(next->reader_attrs);
        free(next->inferred);
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

pfd_status pfd_blob_type(const pfd_blob *blob, pfd_row_type *type, int64_t *batch_size,
                         pfd_error *err)
{
    PFD_TRY(check_blob(blob, err));
    *type = blob->node->outputs[blob->output];
    *batch_size = blob->node->batch_size;
    return PFD_OK;
}
