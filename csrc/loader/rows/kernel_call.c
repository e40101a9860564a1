/* Calls the compute() of an op. */
#include "loader/rows/kernel_call.h"

#include "core/error.h"
#include "core/random.h"
#include "loader/rows/ragged_rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static pfd_status check_ragged_outputs(const pfd_kernel_call *call, pfd_error *err)
{
    for (uint32_t i = 0; i < call->node->op->op->num_outputs; i++)
        if (call->output_types[i].is_ragged)
            PFD_TRY(pfd_ragged_rows_check(&call->output_types[i], call->outputs[i]->rows,
                                          call->num_rows, err));
    return PFD_OK;
}

static pfd_status compute(pfd_kernel_call *call, const pfd_compute_args *args,
                          pfd_error *err)
{
    if (!call->producer) return call->node->op->op->compute(args, err);
    const pfd_producer producer = {pfd_attrs_struct(call->producer->attrs),
                                   &call->producer_has_failed};
    call->producer_has_failed = 0;
    return call->fused(args, &producer, err);
}

pfd_status pfd_kernel_call_run(pfd_kernel_call *call, pfd_error *err)
{
    const pfd_op *op = call->node->op->op;
    pfd_compute_args args = {
        .struct_size = sizeof args,
        .host = pfd_host_table(),
        .attrs = pfd_attrs_struct(call->node->attrs),
        .num_rows = call->num_rows,
        .records = call->records,
        .inputs = call->inputs,
        .outputs = call->outputs,
        .scratch = call->scratch,
        .random_key = call->random_key,
        .num_inputs = op->num_inputs,
        .num_outputs = op->num_outputs,
        .source = call->source,
    };
    size_t bytes = (size_t)call->num_rows * sizeof(pfd_ragged_row);
    for (uint32_t i = 0; i < op->num_outputs; i++)
        if (call->outputs[i]->is_ragged) memset(call->outputs[i]->rows, 0, bytes);
    pfd_error_clear(err);
    call->memory.rows_last = 0;
    pfd_scratch_set_call(call->scratch, &call->memory);
    pfd_status status = pfd_check_returned(compute(call, &args, err), "compute", err);
    pfd_scratch_set_call(call->scratch, NULL);
    status = pfd_scratch_explain(call->scratch, status, err);
    if (status == PFD_OK) status = check_ragged_outputs(call, err);
    if (status == PFD_OK) return PFD_OK;
    call->memory.rows_last = 0;
    pfd_check_failed_row(call->num_rows, err);
    return status;
}

const char *pfd_kernel_call_failed_op(const pfd_kernel_call *call)
{
    return (call->producer_has_failed ? call->producer : call->node)->op->op->name;
}

uint64_t pfd_node_random_key(const pfd_node *node, int64_t seed, int64_t epoch, int32_t number)
{
    char kind[64];
    if (node->name[0]) return pfd_random_key(seed, epoch, node->name);
    pfd_op_kind(node->op->op, kind);
    return pfd_random_bits(pfd_random_key(seed, epoch, kind), (uint64_t)number);
}

void pfd_check_failed_row(int64_t rows, pfd_error *err)
{
    if (err->row >= -1 && err->row < rows) return;
    size_t used = strlen(err->message);
    (void)snprintf(err->message + used, sizeof err->message - used,
                   " (the op named row %" PRId64 " of a range of %" PRId64 " rows)", err->row,
                   rows);
    err->row = -1;
}
