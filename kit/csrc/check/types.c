/* Offers an op inputs of many types, and computes rows of those that its infer() accepts. */
#include "check/calls.h"
#include "check/visit_records.h"
#include "core/convert.h"
#include "core/error.h"
#include "core/narrow_floats.h"
#include "core/random.h"
#include "core/scratch.h"
#include "pyflowdata/op.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Rows made up: each is of one kind of numbers, such as all NaN --------------------------- */
#define PFD_KIT_MADE_ROWS 13

static const char *const made_words[PFD_KIT_MADE_ROWS] = {
    "small numbers",
    "all 0",
    "all NaN (integers: -1)",
    "all infinite (integers: the largest)",
    "all -infinite (integers: the smallest)",
    "all -0.0 (integers: 1)",
    "denormal numbers (integers: 2)",
    "the largest numbers",
    "the smallest numbers",
    "the largest and the smallest in turn",
    "small numbers, the last one NaN (integers: the largest)",
    "random bytes",
    "small numbers and 0 in turn",
};

static double small_number(int64_t i)
{
    return (double)(pfd_random_bits(11, (uint64_t)i) % 17) - 4;
}

/* ---- Floats ---------------------------------------------------------------------------------- */
static double limit_of(int32_t dtype)
{
    if (dtype == PFD_FLOAT64) return 1.7976931348623157e308;
    if (dtype == PFD_FLOAT16) return 65504;
    return dtype == PFD_BFLOAT16 ? 3.3895313892515355e38 : 3.4028234663852886e38;
}

static double denormal_of(int32_t dtype)
{
    if (dtype == PFD_FLOAT64) return 4.9406564584124654e-324 * 3;
    return dtype == PFD_FLOAT16 ? 5.9604644775390625e-08 * 3 : 1e-39;
}

static double float_at(int32_t kind, int64_t i, int64_t n, int32_t dtype)
{
    switch (kind) {
    case 1: return 0;
    case 2: return (double)NAN;
    case 3: return (double)INFINITY;
    case 4: return -(double)INFINITY;
    case 5: return -0.0;
    case 6: return i % 2 ? -denormal_of(dtype) : denormal_of(dtype);
    case 7: return limit_of(dtype);
    case 8: return -limit_of(dtype);
    case 9: return i % 2 ? -limit_of(dtype) : limit_of(dtype);
    case 10: return i == n - 1 ? (double)NAN : small_number(i);
    case 12: return i % 2 ? 0 : small_number(i);
    default: return small_number(i);
    }
}

static void store_float(int32_t dtype, double value, uint8_t *at)
{
    float single = dtype == PFD_FLOAT32 ? (float)value : 0;
    uint16_t narrow = 0;
    if (pfd_is_narrow_float(dtype)) pfd_narrow_from_float64(dtype, &value, &narrow, 1);
    if (dtype == PFD_FLOAT64)
        memcpy(at, &value, sizeof value);
    else if (dtype == PFD_FLOAT32)
        memcpy(at, &single, sizeof single);
    else
        memcpy(at, &narrow, sizeof narrow);
}

/* ---- Integers -------------------------------------------------------------------------------- */
static int32_t is_signed(int32_t dtype)
{
    return dtype == PFD_INT8 || dtype == PFD_INT16 || dtype == PFD_INT32 || dtype == PFD_INT64;
}

static uint64_t largest_of(int32_t dtype)
{
    uint64_t all = UINT64_MAX >> (64 - 8 * pfd_dtype_size(dtype));
    return dtype == PFD_BOOL ? 1 : is_signed(dtype) ? all >> 1 : all;
}

/* The number's bytes are the lower ones. */
static uint64_t integer_at(int32_t kind, int64_t i, int64_t n, int32_t dtype)
{
    uint64_t largest = largest_of(dtype), smallest = is_signed(dtype) ? largest + 1 : 0;
    int64_t small = (int64_t)small_number(i) + (is_signed(dtype) ? 0 : 4);
    switch (kind) {
    case 1: return 0;
    case 2: return UINT64_MAX;
    case 3:
    case 7: return largest;
    case 4:
    case 8: return smallest;
    case 5: return 1;
    case 6: return 2;
    case 9: return i % 2 ? smallest : largest;
    case 10: return i == n - 1 ? largest : (uint64_t)small;
    case 12: return i % 2 ? 0 : (uint64_t)small;
    default: return (uint64_t)small;
    }
}

static void fill(uint8_t *data, int64_t n, int32_t dtype, int32_t kind)
{
    int64_t item = pfd_dtype_size(dtype);
    for (int64_t i = 0; i < n; i++) {
        uint8_t *at = data + i * item;
        uint64_t bits = pfd_random_bits(7, (uint64_t)(kind + i));
        if (kind != 11 && dtype >= PFD_FLOAT16 && dtype <= PFD_BFLOAT16) {
            store_float(dtype, float_at(kind, i, n, dtype), at);
            continue;
        }
        if (kind != 11) bits = integer_at(kind, i, n, dtype);
        if (dtype == PFD_BOOL) bits &= 1;
        memcpy(at, &bits, (size_t)item);
    }
}

/* ---- Tensors --------------------------------------------------------------------------------- */
static const int64_t sizes[PFD_KIT_MADE_ROWS] = {5,  0,  1,   2,   3,    8,   16,
                                                  17, 63, 255, 257, 1025, 4099};

/* Chooses the dimensions of a ragged row with about `wanted` elements; returns the elements. */
static int64_t choose_shape(const pfd_row_type *type, int64_t wanted, int64_t *shape)
{
    int64_t product = 1, left = wanted;
    for (int32_t i = 0; i < type->ndim; i++)
        if (type->shape[i] > 0) left /= type->shape[i];
    if (wanted > 0 && left == 0) left = 1;
    for (int32_t i = 0; i < type->ndim; i++) {
        shape[i] = type->shape[i] < 0 ? left : type->shape[i];
        if (type->shape[i] < 0 && left > 1) left = 1; /* the first that varies has all */
        product *= shape[i];
    }
    return product;
}

static int32_t make_ragged(pfd_tensor *tensor, int64_t n, int64_t large, int64_t most_bytes,
                           pfd_scratch *scratch)
{
    int64_t item = pfd_dtype_size(tensor->type.dtype);
    tensor->rows = pfd_scratch_alloc(scratch, n * (int64_t)sizeof *tensor->rows);
    for (int64_t i = 0; tensor->rows && i < n; i++) {
        int64_t *shape = pfd_scratch_alloc(scratch, PFD_MAX_DIMS * (int64_t)sizeof *shape);
        if (!shape) return 0;
        int64_t count = choose_shape(&tensor->type, large ? large : sizes[i], shape);
        uint8_t *data = count * item > most_bytes ? NULL
                                                  : pfd_scratch_alloc(scratch, count * item + 1);
        if (!data) return 0;
        fill(data, count, tensor->type.dtype, (int32_t)i);
        tensor->rows[i] = (pfd_ragged_row){count ? data : NULL, count, count ? shape : NULL};
    }
    return tensor->rows != NULL;
}

static int32_t make_dense(pfd_tensor *tensor, int64_t n, int64_t most_bytes, pfd_scratch *scratch)
{
    int64_t elements = 1, item = pfd_dtype_size(tensor->type.dtype);
    for (int32_t i = 0; i < tensor->type.ndim; i++) {
        elements *= tensor->type.shape[i];
        if (elements > most_bytes) return 0;
    }
    if (elements * item > most_bytes) return 0;
    tensor->row_bytes = elements * item;
    tensor->data = pfd_scratch_alloc(scratch, n * tensor->row_bytes + 1);
    for (int64_t i = 0; tensor->data && i < n; i++)
        fill(tensor->data + i * tensor->row_bytes, elements, tensor->type.dtype, (int32_t)i);
    return tensor->data != NULL;
}

/* A tensor of n rows of this type, 1 to PFD_KIT_MADE_ROWS.  Where dimensions vary, row i has
 * another size than the rows before: from none to a few thousand elements, or `large` elements.
 * NULL: out of memory, or the rows would be larger than `most_bytes`. */
static const pfd_tensor *make_up(const pfd_row_type *type, int64_t n, int64_t large,
                                 int64_t most_bytes, pfd_scratch *scratch)
{
    pfd_tensor *tensor = pfd_scratch_alloc(scratch, sizeof *tensor);
    if (!tensor) return NULL;
    *tensor = (pfd_tensor){.struct_size = sizeof *tensor, .type = *type};
    for (int32_t i = 0; i < type->ndim; i++) tensor->is_ragged |= type->shape[i] < 0;
    int32_t made = tensor->is_ragged ? make_ragged(tensor, n, large, most_bytes, scratch)
                                     : make_dense(tensor, n, most_bytes, scratch);
    return made ? tensor : NULL;
}

/* ---- A trial --------------------------------------------------------------------------------- */
static const int64_t MOST_ROW_BYTES = 9 << 20; /* types with larger rows are not computed */

static const int64_t LARGE = 300001; /* elements of a large row whose size varies */

/* Shapes of rows; the first shape that is accepted is also computed in ranges of many lengths. */
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

/* The shapes of large rows: in float64 a row is larger than a stack. */
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
    pfd_scratch *scratch; /* holds the made-up tensors */
    char words[300];      /* say which types are offered */
} trial;

/* ---- In words -------------------------------------------------------------------------------- */
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
/* The host offers ragged inputs only to ops that declare them. */
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

/* The call may fail in any way: the numbers are made up. */
static void compute(trial *t, int64_t rows, int64_t large, int64_t most)
{
    const pfd_op *op = t->node.op->op;
    pfd_record records[PFD_KIT_MADE_ROWS];
    const pfd_tensor **inputs = calloc(op->num_inputs + 1, sizeof *inputs);
    int32_t can = inputs != NULL && outputs_fit(t);
    for (uint32_t i = 0; can && i < op->num_inputs; i++)
        can = (inputs[i] = make_up(&t->inputs[i], rows, large, MOST_ROW_BYTES,
                                   t->scratch)) != NULL;
    for (int64_t i = 0; i < rows; i++)
        records[i] = (pfd_record){.data = (const uint8_t *)"", .ordinal = i};
    t->call.row_words = made_words;
    if (can) (void)pfd_kit_try_ranges(&t->call, inputs, records, rows, most);
    t->call.row_words = NULL;
    free(inputs);
    pfd_scratch_reset(t->scratch);
}

/* Offers a type for one input; the other inputs keep the types of the sample. */
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
    /* One dense and one ragged shape are enough. */
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
    pfd_kit_run_state computing = *run; /* the node with the current outputs */
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
