/* Offers an op inputs of many types, and computes rows of those that its infer() accepts. */
#include "core/error.h"
#include "core/scratch.h"
#include "check/made_up_rows.h"
#include "check/range_lengths.h"
#include "check/visit_records.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int64_t MOST_ROW_BYTES = 9 << 20; /* types with larger rows are not computed */
static const int64_t LARGE = 300001;           /* elements of a large row whose size varies */

/* Shapes of rows; the first one that is accepted is computed in ranges of many lengths too. */
static const pfd_row_type shapes[] = {
    {.ndim = 0},
    {.ndim = 1, .shape = {7}},
    {.ndim = 1, .shape = {-1}},
    {.ndim = 1, .shape = {0}},
    {.ndim = 1, .shape = {1}},
    {.ndim = 1, .shape = {2}},
    {.ndim = 1, .shape = {257}},
    {.ndim = 1, .shape = {4099}},
    {.ndim = 2, .shape = {2, 3}},
    {.ndim = 2, .shape = {-1, 2}},
    {.ndim = 3, .shape = {4, 4, 3}},
    {.ndim = 3, .shape = {-1, -1, 3}},
};
enum { num_shapes = sizeof shapes / sizeof *shapes };

/* Of large rows: as float64 larger than a stack. */
static const pfd_row_type large_shapes[] = {
    {.ndim = 1, .shape = {1050000}},     {.ndim = 1, .shape = {-1}},
    {.ndim = 2, .shape = {525000, 2}},   {.ndim = 2, .shape = {-1, 2}},
    {.ndim = 3, .shape = {300, 400, 3}}, {.ndim = 3, .shape = {-1, -1, 3}},
};
enum { num_large_shapes = sizeof large_shapes / sizeof *large_shapes };

typedef struct trial {
    pfd_kit_run_state *run;
    pfd_kit_call call;
    pfd_node node;        /* a copy with the outputs of the current types */
    pfd_row_type *inputs; /* one per input */
    pfd_scratch *scratch; /* of the made-up tensors */
    char words[300];      /* of the types that are offered */
} trial;

/* ---- In words ------------------------------------------------------------------------------- */
__attribute__((format(printf, 2, 3))) static void add_words(trial *t, const char *format, ...)
{
    size_t used = strlen(t->words);
    va_list args;
    va_start(args, format);
    (void)vsnprintf(t->words + used, sizeof t->words - used, format, args);
    va_end(args);
}

/* "inputs: 'in' float32, dense rows of shape (7)". */
static void describe_types(trial *t)
{
    const pfd_op *op = t->node.op->op;
    t->words[0] = 0;
    for (uint32_t i = 0; i < op->num_inputs; i++) {
        const pfd_row_type *type = &t->inputs[i];
        int32_t is_ragged = 0;
        for (int32_t d = 0; d < type->ndim; d++) is_ragged |= type->shape[d] < 0;
        add_words(t, "%s'%.40s' %s, %s rows of shape (", i ? "; " : "inputs: ", op->inputs[i].name,
                  pfd_dtype_name(type->dtype), is_ragged ? "ragged" : "dense");
        for (int32_t d = 0; d < type->ndim; d++)
            add_words(t, "%s%" PRId64, d ? ", " : "", type->shape[d]);
        add_words(t, ")");
    }
}

/* ---- infer() --------------------------------------------------------------------------------- */
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
                           .attrs = t->run->attrs,
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

/* ---- compute() ------------------------------------------------------------------------------- */
/* The host offers ragged inputs only to ops that say they take them. */
static int32_t may_be_given(const pfd_op *op, const pfd_row_type *type)
{
    for (int32_t i = 0; i < type->ndim; i++)
        if (type->shape[i] < 0) return (op->flags & PFD_TAKES_RAGGED) != 0;
    return 1;
}

static int32_t outputs_fit(const trial *t)
{
    for (uint32_t i = 0; i < t->node.op->op->num_outputs; i++) {
        const pfd_row_type *type = &t->node.outputs[i];
        int64_t bytes = pfd_dtype_size(type->dtype);
        for (int32_t d = 0; d < type->ndim; d++) {
            if (type->shape[d] > 0) bytes *= type->shape[d];
            if (bytes > 2 * MOST_ROW_BYTES) return 0;
        }
    }
    return 1;
}

/* It may fail in any way: the numbers are made up. */
static void compute(trial *t, int64_t rows, int64_t large, int64_t most)
{
    const pfd_op *op = t->node.op->op;
    pfd_record records[PFD_KIT_MADE_ROWS];
    const pfd_tensor **inputs = calloc(op->num_inputs + 1, sizeof *inputs);
    int32_t can = inputs != NULL && outputs_fit(t);
    for (uint32_t i = 0; can && i < op->num_inputs; i++)
        can = (inputs[i] =
                   pfd_kit_make_up(&t->inputs[i], rows, large, MOST_ROW_BYTES, t->scratch)) != NULL;
    for (int64_t i = 0; i < rows; i++)
        records[i] = (pfd_record){.data = (const uint8_t *)"", .ordinal = i};
    t->call.row_words = pfd_kit_made_words;
    if (can) (void)pfd_kit_try_ranges(&t->call, inputs, records, rows, most);
    t->call.row_words = NULL;
    free(inputs);
    pfd_scratch_reset(t->scratch);
}

/* Offers a type for one input, the others as they are in the sample. */
static int32_t offer(trial *t, uint32_t varied, const pfd_row_type *shape)
{
    const pfd_node *node = t->run->node;
    if (!may_be_given(node->op->op, shape)) return 0;
    for (uint32_t k = 0; k < node->op->op->num_inputs; k++)
        t->inputs[k] = node->inputs[k].node->outputs[node->inputs[k].output];
    t->inputs[varied] = *shape;
    t->inputs[varied].dtype = t->run->options->varied.dtype;
    t->run->result->num_records++;
    describe_types(t);
    return accepts(t, varied);
}

static void try_all(trial *t)
{
    const int32_t rows = t->run->options->varied.rows;
    uint32_t varied = (uint32_t)t->run->options->varied.input;
    int32_t accepted = 0;
    for (int32_t i = 0; rows != PFD_KIT_LARGE_ROWS && i < num_shapes; i++) {
        if (rows == PFD_KIT_ONE_SHAPE && accepted) break;
        if (!offer(t, varied, &shapes[i])) continue;
        accepted++;
        int64_t most = rows == PFD_KIT_ONE_SHAPE ? 17 : PFD_KIT_MOST_LENGTH;
        compute(t, PFD_KIT_MADE_ROWS, 0, accepted == 1 ? most : 0);
    }
    /* A dense one and a ragged one are enough. */
    for (int32_t i = 0, dense = 0, ragged = 0; rows == PFD_KIT_LARGE_ROWS && i < num_large_shapes;
         i++) {
        int32_t *done = large_shapes[i].shape[0] < 0 ? &ragged : &dense;
        if (*done || !offer(t, varied, &large_shapes[i])) continue;
        *done = 1;
        compute(t, 1, LARGE, 0);
    }
    t->run->result->num_accepted = accepted;
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
        t.call.type_words = t.words;
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
