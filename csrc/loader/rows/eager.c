/* An op without a graph: attrs and types are checked once, and any number of calls then compute
 * rows that the program has.  The functions are in pyflowdata.h. */
#include "core/cpu.h"
#include "core/error.h"
#include "core/scratch.h"
#include "loader/plan/plan.h"
#include "loader/rows/kernel_call.h"
#include "loader/rows/ragged_rows.h"

#include <stdlib.h>
#include <string.h>

/* ---- The op with its attrs and types --------------------------------------------------------- */

struct pfd_eager {
    pfd_node *node;           /* node of pfd_node_create_on_rows() */
    pfd_plan_tensor *tensors; /* one per input, then one per output of the op */
};

static pfd_status make_tensors(pfd_eager *eager, const pfd_row_type *inputs, pfd_error *err)
{
    const pfd_op *op = eager->node->op->op;
    uint32_t ports = op->num_inputs + op->num_outputs;
    eager->tensors = calloc(ports, sizeof *eager->tensors);
    if (!eager->tensors)
        return pfd_fail_memory(err, ports * (int64_t)sizeof *eager->tensors, "an op's types");
    pfd_plan_tensor *tensor = eager->tensors;
    for (uint32_t i = 0; i < op->num_inputs; i++)
        *tensor++ = pfd_plan_tensor_of(&inputs[i], op->inputs[i].name);
    for (uint32_t i = 0; i < op->num_outputs; i++)
        *tensor++ = pfd_plan_tensor_of(&eager->node->outputs[i], op->outputs[i].name);
    return PFD_OK;
}

pfd_status pfd_eager_create(const char *op, const char *name, const pfd_attr_value *values,
                            int64_t num_values, const pfd_row_type *inputs, int64_t num_inputs,
                            pfd_eager **out, pfd_error *err)
{
    pfd_eager *eager = calloc(1, sizeof *eager);
    if (!eager) return pfd_fail_memory(err, sizeof *eager, "an op");
    pfd_status status = pfd_node_create_on_rows(op, name, values, num_values, inputs, num_inputs,
                                                &eager->node, err);
    if (status == PFD_OK) status = make_tensors(eager, inputs, err);
    if (status == PFD_OK)
        *out = eager;
    else
        pfd_eager_release(eager);
    return status;
}

void pfd_eager_release(pfd_eager *eager)
{
    if (!eager) return;
    free(eager->tensors);
    pfd_node_release(eager->node);
    free(eager);
}

const pfd_op *pfd_eager_op(const pfd_eager *eager)
{
    return eager->node->op->public_op;
}

const pfd_row_type *pfd_eager_outputs(const pfd_eager *eager)
{
    return eager->node->outputs;
}

/* ---- One call ----------------------------------------------------------------------------------
 *
 * The rows go through the op range after range: a range stays in the cache, and the scratch small.
 * Dense outputs are written into the caller's memory; ragged rows are kept until the caller, who
 * then knows their sizes, copies them. */

enum { ALIGNMENT = 64, RANGE_BYTES = 64 * 1024 };

struct pfd_eager_call {
    const pfd_eager *eager;
    const pfd_ragged_row *const *inputs;
    void *const *outputs;
    int64_t rows, done, most_rows; /* rows of the call; made so far; of a range */
    int64_t ordinal;
    uint64_t random_key;
    pfd_tensor *tensors; /* tensors of the range; inputs, then outputs */
    pfd_tensor **ports;
    pfd_record *records;     /* records of the range */
    pfd_ragged_row **ragged; /* per output that is ragged, all rows */
    uint8_t *scattered;      /* per input: 1, its rows do not lie back to back */
    pfd_scratch *scratch;    /* scratch of the range */
    pfd_scratch *arena;      /* memory of the call, and of the arrays above */
};

static const pfd_op *op_of(const pfd_eager_call *call)
{
    return call->eager->node->op->op;
}

static int32_t is_whole(const pfd_eager_call *call)
{
    return (op_of(call)->flags & PFD_WHOLE_BATCH) != 0;
}

/* ---- Open and close -------------------------------------------------------------------------- */

static int32_t is_scattered(const pfd_plan_tensor *type, const pfd_ragged_row *rows, int64_t n)
{
    if (type->is_ragged || n == 0) return 0;
    const uint8_t *expected = rows[0].data;
    for (int64_t i = 0; i < n; i++, expected += type->row_bytes)
        if (rows[i].data != expected) return 1;
    return 0;
}

/* As many rows as a loader would take at once. */
static int64_t choose_range(const pfd_eager_call *call)
{
    const pfd_plan_tensor *type = call->eager->tensors;
    const pfd_op *op = op_of(call);
    int64_t row = 1 + (int64_t)sizeof(pfd_record), ragged = 0;
    if (is_whole(call) || call->rows <= 1) return call->rows;
    for (uint32_t i = 0; i < op->num_inputs; i++, type++) {
        row += type->row_bytes;
        for (int64_t k = 0; type->is_ragged && k < call->rows; k++)
            ragged += call->inputs[i][k].num_elements * pfd_dtype_size(type->type.dtype);
    }
    ragged /= call->rows;
    row += ragged;
    for (uint32_t i = 0; i < op->num_outputs; i++, type++)
        row += type->row_bytes + (type->is_ragged ? ragged : 0);
    int64_t rows = row < RANGE_BYTES ? RANGE_BYTES / row : 1;
    return rows < call->rows ? rows : call->rows;
}

static void *reserve(pfd_eager_call *call, int64_t number, size_t bytes)
{
    return pfd_scratch_alloc(call->arena, number * (int64_t)bytes);
}

static int32_t allocate(pfd_eager_call *call)
{
    const pfd_op *op = op_of(call);
    uint32_t ports = op->num_inputs + op->num_outputs;
    const pfd_plan_tensor *outputs = call->eager->tensors + op->num_inputs;
    call->arena = pfd_scratch_create();
    call->scratch = pfd_scratch_create();
    if (!call->arena || !call->scratch) return 0;
    call->tensors = reserve(call, ports, sizeof *call->tensors);
    call->ports = reserve(call, ports, sizeof *call->ports);
    call->records = reserve(call, call->most_rows, sizeof *call->records);
    call->ragged = reserve(call, op->num_outputs, sizeof *call->ragged);
    call->scattered = reserve(call, op->num_inputs, sizeof *call->scattered);
    if (!call->tensors || !call->ports || !call->records || !call->ragged || !call->scattered)
        return 0;
    for (uint32_t i = 0; i < ports; i++) call->ports[i] = &call->tensors[i];
    for (uint32_t i = 0; i < op->num_outputs; i++) {
        call->ragged[i] = NULL;
        if (!outputs[i].is_ragged) continue;
        call->ragged[i] = reserve(call, call->rows, sizeof **call->ragged);
        if (!call->ragged[i]) return 0;
    }
    return 1;
}

pfd_status pfd_eager_open(const pfd_eager *eager, const pfd_ragged_row *const *inputs,
                          int64_t rows, void *const *outputs, int64_t seed, int64_t epoch,
                          int64_t ordinal, pfd_eager_call **out, pfd_error *err)
{
    pfd_eager_call *call = calloc(1, sizeof *call);
    if (!call) return pfd_fail_memory(err, sizeof *call, "a call");
    *call = (pfd_eager_call){
        .eager = eager, .inputs = inputs, .outputs = outputs, .rows = rows, .ordinal = ordinal};
    call->most_rows = choose_range(call);
    if (!allocate(call)) {
        pfd_eager_close(call);
        return pfd_fail_memory(err, rows * (int64_t)sizeof(pfd_record), "a call");
    }
    for (uint32_t i = 0; i < op_of(call)->num_inputs; i++)
        call->scattered[i] = (uint8_t)is_scattered(&eager->tensors[i], inputs[i], rows);
    if (seed < 0) seed = pfd_draw_seed();
    call->random_key = pfd_node_random_key(eager->node, seed, epoch, 0);
    *out = call;
    return PFD_OK;
}

void pfd_eager_close(pfd_eager_call *call)
{
    if (!call) return;
    pfd_scratch_free(call->scratch);
    pfd_scratch_free(call->arena);
    free(call);
}

/* ---- A range --------------------------------------------------------------------------------- */

static int32_t is_aligned(const void *data)
{
    return (uintptr_t)data % ALIGNMENT == 0;
}

static pfd_tensor tensor_of(const pfd_plan_tensor *type)
{
    return (pfd_tensor){.struct_size = sizeof(pfd_tensor),
                        .is_ragged = type->is_ragged,
                        .type = type->type,
                        .row_bytes = type->is_ragged ? 0 : type->row_bytes};
}

/* The rows of a dense input, copied where they are not one array, or a whole batch is not aligned
 * as one. NULL: out of memory. */
static const uint8_t *gathered(pfd_eager_call *call, uint32_t input, int64_t n)
{
    const pfd_ragged_row *rows = call->inputs[input] + call->done;
    size_t bytes = (size_t)call->eager->tensors[input].row_bytes;
    int32_t is_array = rows->data && !call->scattered[input];
    if (is_array && (!is_whole(call) || is_aligned(rows->data))) return rows->data;
    uint8_t *data = pfd_scratch_alloc(call->scratch, n * (int64_t)bytes);
    for (int64_t i = 0; data && bytes && i < n; i++)
        memcpy(data + i * (int64_t)bytes, rows[i].data, bytes);
    return data;
}

static int32_t set_inputs(pfd_eager_call *call, int64_t n)
{
    for (uint32_t i = 0; i < op_of(call)->num_inputs; i++) {
        pfd_tensor *tensor = &call->tensors[i];
        *tensor = tensor_of(&call->eager->tensors[i]);
        /* Written to by no op. */
        if (tensor->is_ragged) {
            tensor->rows = (pfd_ragged_row *)(uintptr_t)(call->inputs[i] + call->done);
        } else {
            const uint8_t *data = gathered(call, i, n);
            if (!data) return 0;
            tensor->data = (uint8_t *)(uintptr_t)data;
        }
    }
    return 1;
}

static uint8_t *place_of(const pfd_eager_call *call, uint32_t output)
{
    const pfd_plan_tensor *type = &call->eager->tensors[op_of(call)->num_inputs + output];
    return (uint8_t *)call->outputs[output] + call->done * type->row_bytes;
}

/* In place, but for a whole batch that is not aligned as one. */
static int32_t set_outputs(pfd_eager_call *call, int64_t n)
{
    const pfd_op *op = op_of(call);
    for (uint32_t i = 0; i < op->num_outputs; i++) {
        pfd_tensor *tensor = &call->tensors[op->num_inputs + i];
        *tensor = tensor_of(&call->eager->tensors[op->num_inputs + i]);
        if (tensor->is_ragged) {
            tensor->rows = call->ragged[i] + call->done;
            continue;
        }
        tensor->data = place_of(call, i);
        if (is_whole(call) && !is_aligned(tensor->data))
            tensor->data = pfd_scratch_alloc(call->scratch, n * tensor->row_bytes);
        if (!tensor->data) return 0;
    }
    return 1;
}

/* A row of the first input stands for its record; one that was copied has no place there. */
static void set_records(pfd_eager_call *call, int64_t n)
{
    const pfd_ragged_row *rows = call->inputs[0] + call->done;
    const pfd_tensor *tensor = &call->tensors[0];
    int64_t element = pfd_dtype_size(tensor->type.dtype);
    int32_t is_copy = !tensor->is_ragged && tensor->data != rows->data;
    for (int64_t i = 0; i < n; i++) {
        int64_t bytes = tensor->is_ragged ? rows[i].num_elements * element : tensor->row_bytes;
        call->records[i] = (pfd_record){.data = is_copy ? NULL : rows[i].data,
                                        .size = is_copy ? 0 : bytes,
                                        .ordinal = call->ordinal + call->done + i};
    }
}

/* Dense rows to the caller's memory; ragged ones to memory that lasts, unless the scratch does. */
static pfd_status keep_outputs(pfd_eager_call *call, int64_t n, pfd_error *err)
{
    const pfd_op *op = op_of(call);
    for (uint32_t i = 0; i < op->num_outputs; i++) {
        const pfd_tensor *tensor = &call->tensors[op->num_inputs + i];
        if (tensor->is_ragged && n < call->rows)
            PFD_TRY(pfd_ragged_rows_keep(&call->eager->tensors[op->num_inputs + i], tensor->rows,
                                         n, call->records, NULL, call->arena, err));
        else if (!tensor->is_ragged && tensor->data != place_of(call, i))
            memcpy(place_of(call, i), tensor->data, (size_t)(n * tensor->row_bytes));
    }
    return PFD_OK;
}

static pfd_status run_range(pfd_eager_call *call, int64_t n, pfd_error *err)
{
    const pfd_op *op = op_of(call);
    if (!set_inputs(call, n) || !set_outputs(call, n))
        return pfd_fail_memory(err, 0, "the rows of a call");
    set_records(call, n);
    pfd_kernel_call kernel = {
        .node = call->eager->node,
        .num_rows = n,
        .records = call->records,
        .inputs = (const pfd_tensor *const *)call->ports,
        .outputs = call->ports + op->num_inputs,
        .output_types = call->eager->tensors + op->num_inputs,
        .scratch = call->scratch,
        .random_key = call->random_key,
    };
    pfd_status status = pfd_kernel_call_run(&kernel, err);
    return status == PFD_OK ? keep_outputs(call, n, err) : status;
}

pfd_status pfd_eager_run(pfd_eager_call *call, int64_t timeout_ns, pfd_error *err)
{
    int64_t began_ns = call->most_rows < call->rows ? pfd_clock_ns() : 0;
    while (call->done < call->rows) {
        int64_t left = call->rows - call->done;
        int64_t n = left < call->most_rows ? left : call->most_rows;
        pfd_status status = run_range(call, n, err);
        if (status != PFD_OK) {
            if (err->row >= 0) err->row += call->done;
            pfd_error_set_op(err, op_of(call)->name);
            return status;
        }
        call->done += n;
        if (call->done == call->rows) break; /* the scratch may have what is to be copied */
        pfd_scratch_reset(call->scratch);
        if (pfd_clock_ns() - began_ns > timeout_ns) return PFD_PENDING;
    }
    return PFD_OK;
}

/* ---- Ragged outputs -------------------------------------------------------------------------- */

int64_t pfd_eager_shapes(const pfd_eager_call *call, int32_t output, int64_t *shapes)
{
    const pfd_plan_tensor *type =
        &call->eager->tensors[op_of(call)->num_inputs + (uint32_t)output];
    const pfd_ragged_row *rows = call->ragged[output];
    int64_t elements = 0;
    for (int64_t i = 0; i < call->rows; i++) {
        pfd_ragged_row_shape(type, &rows[i], shapes + i * type->type.ndim);
        elements += rows[i].num_elements;
    }
    return elements;
}

void pfd_eager_copy(const pfd_eager_call *call, int32_t output, void *values)
{
    const pfd_plan_tensor *type =
        &call->eager->tensors[op_of(call)->num_inputs + (uint32_t)output];
    const pfd_ragged_row *rows = call->ragged[output];
    pfd_copy_rows(rows, call->rows, pfd_dtype_size(type->type.dtype), values);
}
