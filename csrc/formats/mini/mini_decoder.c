/* MiniDecoder: splits rows of two numbers into a column x and a column y.
 *
 * An op without open() is a decoder: infer() makes the types of the outputs from the types of the
 * inputs, and compute() makes rows from rows. */
#include "parse/row_type.h"
#include "pyflowdata/op.h"

#include <string.h>

/* Refuses inputs of other types, and sets the type of a row of each output. */
static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const pfd_row_type *in = &args->inputs[0];
    int is_float = in->dtype == PFD_FLOAT32 || in->dtype == PFD_FLOAT64;
    if (!is_float || in->ndim != 1 || in->shape[0] != 2) {
        char found[256];
        return args->host->fail(err, PFD_INVALID_ARGUMENT,
                                "the rows of input 'in' are %s; they must be float32 (2,) or "
                                "float64 (2,), like those of MiniReader",
                                pfd_format_row_type(in, found, sizeof found));
    }
    pfd_row_type column = {.dtype = in->dtype, .ndim = 1, .shape = {1}};
    args->outputs[0] = args->outputs[1] = column;
    return PFD_OK;
}

/* Called with a constant `bytes`, so that the compiler makes one instruction of each memcpy(). */
static inline void split(const uint8_t *rows, int64_t n, size_t bytes, uint8_t *x, uint8_t *y)
{
    for (size_t i = 0; i < (size_t)n; i++) {
        memcpy(x + i * bytes, rows + 2 * i * bytes, bytes);
        memcpy(y + i * bytes, rows + (2 * i + 1) * bytes, bytes);
    }
}

/* Row i of a dense tensor is at data + i * row_bytes, with nothing between the rows. */
static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    (void)err;
    const uint8_t *rows = args->inputs[0]->data;
    uint8_t *x = args->outputs[0]->data, *y = args->outputs[1]->data;
    if (args->inputs[0]->type.dtype == PFD_FLOAT64) split(rows, args->num_rows, 8, x, y);
    else split(rows, args->num_rows, 4, x, y);
    return PFD_OK;
}

static const pfd_port inputs[] = {
    {"in", "Rows of two numbers, float32 or float64 of shape (batch, 2)."},
};

static const pfd_port outputs[] = {
    {"x", "The first number of each row, shape (batch, 1), dtype as the input."},
    {"y", "The second number of each row, shape (batch, 1), dtype as the input."},
};

const pfd_op pfd_op_mini_decoder = {
    PFD_OP_SIZES,
    .name = "MiniDecoder",
    .doc = "Splits rows of two numbers into a column x and a column y. "
           "The numbers are copied bit for bit.",
    PFD_OP_INPUTS(inputs),
    PFD_OP_OUTPUTS(outputs),
    .infer = infer,
    .compute = compute,
};
