/* Offers an op inputs of many types, and computes rows of those that its infer() accepts. */
#include "core/error.h"
#include "core/random.h"
#include "core/scratch.h"
#include "kit/visit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { made_up_rows = 5 };
static const int64_t MOST_ROW_BYTES = 1 << 20; /* types with larger rows are not computed */

static const pfd_row_type shapes[] = {
    {.ndim = 0},
    {.ndim = 1, .shape = {0}},
    {.ndim = 1, .shape = {1}},
    {.ndim = 1, .shape = {2}},
    {.ndim = 1, .shape = {7}},
    {.ndim = 2, .shape = {2, 3}},
    {.ndim = 3, .shape = {4, 4, 3}},
};

typedef struct trial {
    pfd_kit_run_state *run;
    pfd_kit_call call;
    pfd_node node;        /* a copy with the outputs of the current types */
    pfd_row_type *inputs; /* one per input */
    pfd_scratch *scratch; /* of the made-up tensors */
} trial;

static int64_t row_bytes(const pfd_row_type *type)
{
    int64_t bytes = pfd_dtype_size(type->dtype);
    for (int32_t i = 0; i < type->ndim; i++) {
        if (type->shape[i] < 0) return -1;
        bytes *= type->shape[i];
        if (bytes > MOST_ROW_BYTES) return -1;
    }
    return bytes;
}

/* ---- infer() ------------------------------------------------------------------------------------
 */
static const char *fault_of(const pfd_row_type *type)
{
    if (!pfd_dtype_name(type->dtype)) return "no dtype";
    if (type->ndim < 0 || type->ndim > PFD_MAX_DIMS) return "a number of dimensions out of range";
    for (int32_t i = 0; i < type->ndim; i++)
        if (type->shape[i] < -1) return "a dimension below -1";
    return NULL;
}

static int32_t accepts(trial *t, uint32_t varied)
{
    const pfd_op *op = t->node.op->op;
    const pfd_row_type *type = &t->inputs[varied];
    pfd_error err = {.struct_size = sizeof err};
    pfd_infer_args args = {.struct_size = sizeof args,
                           .host = pfd_kit_host(),
                           .attrs = pfd_attrs_struct(t->node.attrs),
                           .inputs = t->inputs,
                           .outputs = t->node.outputs,
                           .num_inputs = op->num_inputs,
                           .num_outputs = op->num_outputs};
    memset(t->node.outputs, 0, op->num_outputs * sizeof *t->node.outputs);
    pfd_error_init(&err);
    pfd_kit_enter(&t->call, "infer()", NULL);
    pfd_status status = pfd_kit_leave(&t->call, op->infer(&args, &err), &err);
    if (status != PFD_OK && status != PFD_INVALID_ARGUMENT && status != PFD_UNSUPPORTED)
        pfd_kit_report(t->run, "infer-status",
                       "infer() fails with status %d for an input '%s' of dtype %s and %d "
                       "dimensions (%.200s): an input that does not fit is PFD_INVALID_ARGUMENT",
                       status, op->inputs[varied].name, pfd_dtype_name(type->dtype), type->ndim,
                       err.message);
    for (uint32_t i = 0; status == PFD_OK && i < op->num_outputs; i++) {
        const char *fault = fault_of(&t->node.outputs[i]);
        if (!fault) continue;
        pfd_kit_report(t->run, "infer-output",
                       "infer() accepts an input '%s' of dtype %s and %d dimensions, and gives "
                       "output '%s' %s: fill in every output, or refuse the input with "
                       "PFD_INVALID_ARGUMENT",
                       op->inputs[varied].name, pfd_dtype_name(type->dtype), type->ndim,
                       op->outputs[i].name, fault);
        return 0;
    }
    return status == PFD_OK;
}

/* ---- compute() ----------------------------------------------------------------------------------
 */
static void make_up(uint8_t *data, int64_t bytes, int32_t dtype)
{
    for (int64_t i = 0; i < bytes; i++) {
        data[i] = (uint8_t)pfd_random_bits(7, (uint64_t)i);
        if (dtype == PFD_BOOL) data[i] &= 1;
    }
}

static const pfd_tensor *make_tensor(trial *t, const pfd_row_type *type)
{
    int64_t bytes = row_bytes(type);
    if (bytes < 0) return NULL;
    pfd_tensor *tensor = pfd_scratch_alloc(t->scratch, sizeof *tensor);
    uint8_t *data = pfd_scratch_alloc(t->scratch, made_up_rows * bytes + 1);
    if (!tensor || !data) return NULL;
    make_up(data, made_up_rows * bytes, type->dtype);
    *tensor = (pfd_tensor){
        .struct_size = sizeof *tensor, .type = *type, .data = data, .row_bytes = bytes};
    return tensor;
}

static void compute(trial *t)
{
    const pfd_op *op = t->node.op->op;
    pfd_record records[made_up_rows];
    uint64_t hashes[made_up_rows];
    pfd_error err = {.struct_size = sizeof err};
    const pfd_tensor **inputs = calloc(op->num_inputs + 1, sizeof *inputs);
    int32_t can = inputs != NULL;
    for (uint32_t i = 0; can && i < op->num_inputs; i++)
        can = (inputs[i] = make_tensor(t, &t->inputs[i])) != NULL;
    for (uint32_t i = 0; can && i < op->num_outputs; i++)
        for (int32_t d = 0; can && d < t->node.outputs[i].ndim; d++)
            can = t->node.outputs[i].shape[d] <= MOST_ROW_BYTES;
    for (int64_t i = 0; i < made_up_rows; i++)
        records[i] = (pfd_record){.data = (const uint8_t *)"", .ordinal = i};
    /* It may fail in any way: the bytes are random. */
    if (can) (void)pfd_kit_compute_with(&t->call, inputs, records, made_up_rows, hashes, &err);
    free(inputs);
    pfd_scratch_reset(t->scratch);
}

static void try_all(trial *t)
{
    const pfd_node *node = t->run->node;
    for (uint32_t varied = 0; varied < node->op->op->num_inputs; varied++) {
        for (int32_t dtype = PFD_BOOL; dtype <= PFD_BFLOAT16; dtype++) {
            for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
                for (uint32_t k = 0; k < node->op->op->num_inputs; k++)
                    t->inputs[k] = node->inputs[k].node->outputs[node->inputs[k].output];
                t->inputs[varied] = shapes[i];
                t->inputs[varied].dtype = dtype;
                t->run->result->num_records++;
                if (accepts(t, varied)) compute(t);
            }
        }
    }
    t->run->result->status = PFD_OK; /* refusing is right */
}

pfd_status pfd_kit_try_types(pfd_kit_run_state *run, pfd_error *err)
{
    const pfd_op *op = run->node->op->op;
    trial t = {.run = run, .node = *run->node, .scratch = pfd_scratch_create()};
    pfd_kit_run_state computing = *run; /* of the node with the current outputs */
    computing.node = &t.node;
    t.inputs = calloc(op->num_inputs + 1, sizeof *t.inputs);
    t.node.outputs = calloc(op->num_outputs, sizeof *t.node.outputs);
    pfd_status status = PFD_OK;
    if (t.scratch && t.inputs && t.node.outputs) {
        t.call.run = &computing;
        pfd_kit_active = &t.call;
        try_all(&t);
        pfd_kit_active = NULL;
    } else {
        status = pfd_fail_memory(err, 0, "the kit");
    }
    pfd_scratch_free(t.scratch);
    free(t.inputs);
    free(t.node.outputs);
    return status;
}
