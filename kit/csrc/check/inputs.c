/* Computes the ops upstream of the op under check, without checks. */
#include "check/run_state.h"
#include "core/error.h"
#include "core/scratch.h"
#include "registry/attrs.h"

#include <string.h>

typedef struct upstream {
    const pfd_record *records;
    int64_t n;
    uint64_t random_key;
    const void *source; /* of the reader */
    pfd_scratch *scratch;
} upstream;

/* Bytes of a dense row, and 1 for a ragged one. */
static int64_t row_bytes_of(const pfd_row_type *type, int32_t *is_ragged)
{
    int64_t bytes = pfd_dtype_size(type->dtype);
    *is_ragged = 0;
    for (int32_t i = 0; i < type->ndim; i++) {
        if (type->shape[i] < 0) *is_ragged = 1;
        bytes *= type->shape[i];
    }
    return *is_ragged ? 0 : bytes;
}

static int32_t make_tensor(const upstream *at, const pfd_row_type *type, pfd_tensor *out)
{
    int32_t is_ragged;
    int64_t row_bytes = row_bytes_of(type, &is_ragged);
    int64_t row = is_ragged ? (int64_t)sizeof(pfd_ragged_row) : row_bytes;
    void *memory = pfd_scratch_alloc(at->scratch, at->n * row + 1);
    if (!memory) return 0;
    memset(memory, 0, (size_t)(at->n * row));
    *out = (pfd_tensor){.struct_size = sizeof *out,
                        .is_ragged = is_ragged,
                        .type = *type,
                        .data = is_ragged ? NULL : memory,
                        .row_bytes = row_bytes,
                        .rows = is_ragged ? memory : NULL};
    return 1;
}

/* The outputs that the host fills itself. */
static pfd_status evaluate(const upstream *at, const pfd_node *node, pfd_tensor *outputs,
                           pfd_error *err);

static pfd_status make_inputs(const upstream *at, const pfd_node *node, const pfd_tensor **inputs,
                              pfd_error *err)
{
    for (uint32_t i = 0; i < node->op->op->num_inputs; i++) {
        const pfd_blob *blob = &node->inputs[i];
        uint32_t n = blob->node->op->public_op->num_outputs;
        pfd_tensor *outputs = pfd_scratch_alloc(at->scratch, (int64_t)(n * sizeof(pfd_tensor)));
        if (!outputs) return pfd_fail_memory(err, n, "tensors");
        PFD_TRY(evaluate(at, blob->node, outputs, err));
        inputs[i] = &outputs[blob->output];
    }
    return PFD_OK;
}

static pfd_status evaluate(const upstream *at, const pfd_node *node, pfd_tensor *outputs,
                           pfd_error *err)
{
    const pfd_op *op = node->op->op, *public_op = node->op->public_op;
    int64_t pointers = (int64_t)((op->num_inputs + public_op->num_outputs) * sizeof(void *));
    const pfd_tensor **inputs = pfd_scratch_alloc(at->scratch, pointers);
    if (!inputs) return pfd_fail_memory(err, pointers, "tensors");
    pfd_tensor **ports = (pfd_tensor **)(void *)(inputs + op->num_inputs);
    PFD_TRY(make_inputs(at, node, inputs, err));
    for (uint32_t i = 0; i < public_op->num_outputs; i++) {
        ports[i] = &outputs[i];
        if (!make_tensor(at, &node->outputs[i], &outputs[i]))
            return pfd_fail_memory(err, at->n, "a tensor");
    }
    pfd_compute_args args = {.struct_size = sizeof args,
                             .host = pfd_host_table(),
                             .attrs = pfd_attrs_struct(node->attrs),
                             .num_rows = at->n,
                             .records = at->records,
                             .inputs = inputs,
                             .outputs = ports,
                             .scratch = at->scratch,
                             .random_key = at->random_key,
                             .num_inputs = op->num_inputs,
                             .num_outputs = op->num_outputs,
                             .source = pfd_op_is_reader(op) ? at->source : NULL};
    pfd_error_clear(err);
    PFD_TRY(pfd_check_returned(op->compute(&args, err), "compute", err));
    if (pfd_op_is_reader(op))
        pfd_reader_ports_fill(at->records, at->n, outputs[op->num_outputs].data,
                              (int64_t *)(void *)outputs[op->num_outputs + 1].data);
    return PFD_OK;
}

pfd_status pfd_kit_inputs_make(const pfd_node *node, const pfd_record *records, int64_t n,
                               uint64_t random_key, const void *source, pfd_scratch *scratch,
                               const pfd_tensor **inputs, pfd_error *err)
{
    return make_inputs(&(upstream){records, n, random_key, source, scratch}, node, inputs, err);
}

const pfd_node *pfd_kit_reader_of(const pfd_node *node)
{
    const pfd_node *reader = NULL;
    if (pfd_op_is_reader(node->op->op)) return node;
    for (uint32_t i = 0; i < node->op->op->num_inputs; i++) {
        const pfd_node *found = pfd_kit_reader_of(node->inputs[i].node);
        if (!found || (reader && found != reader)) return NULL;
        reader = found;
    }
    return reader;
}
