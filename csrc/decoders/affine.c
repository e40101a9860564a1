/* Affine: in * scale + shift, and a change of dtype. */
#include "pyflowdata/op.h"
#include "text/row_type.h"

typedef struct affine_attrs {
    double scale;
    double shift;
    int32_t dtype;
} affine_attrs;

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const affine_attrs *attrs = args->attrs;
    const pfd_row_type *in = &args->inputs[0];
    if (in->dtype == PFD_FLOAT16) {
        char found[256];
        return args->host->fail(err, PFD_INVALID_ARGUMENT,
                                "the rows of input 'in' are %s; bool, the integers, float32 and "
                                "float64 can be scaled, float16 cannot",
                                pfd_format_row_type(in, found, sizeof found));
    }
    args->outputs[0] = *in;
    args->outputs[0].dtype = attrs->dtype;
    return PFD_OK;
}

/* Product and sum are rounded one after the other, also where the machine could fuse them, so that
 * results are the same everywhere. */
static inline double scaled(const affine_attrs *attrs, double value)
{
    double product = value * attrs->scale;
    return product + attrs->shift;
}

#define APPLY(in_type, out_type)                                                                   \
    {                                                                                              \
        const in_type *from = (const void *)in;                                                    \
        out_type *to = (void *)out;                                                                \
        for (int64_t i = 0; i < n; i++) to[i] = (out_type)scaled(attrs, (double)from[i]);          \
        break;                                                                                     \
    }

#define APPLY_TO_EVERY_DTYPE(out_type)                                                             \
    switch (dtype) {                                                                               \
    case PFD_BOOL:                                                                                 \
    case PFD_UINT8: APPLY(uint8_t, out_type)                                                       \
    case PFD_INT8: APPLY(int8_t, out_type)                                                         \
    case PFD_INT16: APPLY(int16_t, out_type)                                                       \
    case PFD_UINT16: APPLY(uint16_t, out_type)                                                     \
    case PFD_INT32: APPLY(int32_t, out_type)                                                       \
    case PFD_UINT32: APPLY(uint32_t, out_type)                                                     \
    case PFD_INT64: APPLY(int64_t, out_type)                                                       \
    case PFD_UINT64: APPLY(uint64_t, out_type)                                                     \
    case PFD_FLOAT32: APPLY(float, out_type)                                                       \
    case PFD_FLOAT64: APPLY(double, out_type)                                                      \
    default: break;                                                                                \
    }

static void apply_float32(const affine_attrs *attrs, int32_t dtype, const uint8_t *in, uint8_t *out,
                          int64_t n)
{
    APPLY_TO_EVERY_DTYPE(float)
}

static void apply_float64(const affine_attrs *attrs, int32_t dtype, const uint8_t *in, uint8_t *out,
                          int64_t n)
{
    APPLY_TO_EVERY_DTYPE(double)
}

static void apply(const affine_attrs *attrs, int32_t dtype, const void *in, void *out, int64_t n)
{
    if (attrs->dtype == PFD_FLOAT32)
        apply_float32(attrs, dtype, in, out, n);
    else
        apply_float64(attrs, dtype, in, out, n);
}

static pfd_status compute_ragged(const pfd_compute_args *args, pfd_error *err)
{
    const affine_attrs *attrs = args->attrs;
    int64_t element_bytes = attrs->dtype == PFD_FLOAT32 ? 4 : 8;
    for (int64_t i = 0; i < args->num_rows; i++) {
        const pfd_ragged_row *in = &args->inputs[0]->rows[i];
        void *data = args->host->alloc(args->scratch, in->num_elements * element_bytes);
        if (!data)
            return args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for a row of %lld numbers",
                                    (long long)in->num_elements);
        apply(attrs, args->inputs[0]->type.dtype, in->data, data, in->num_elements);
        args->outputs[0]->rows[i] = (pfd_ragged_row){data, in->num_elements, in->shape};
    }
    return PFD_OK;
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    const pfd_tensor *in = args->inputs[0];
    if (in->is_ragged) return compute_ragged(args, err);
    int64_t n = args->num_rows;
    for (int32_t i = 0; i < in->type.ndim; i++) n *= in->type.shape[i];
    apply(args->attrs, in->type.dtype, in->data, args->outputs[0]->data, n);
    return PFD_OK;
}

#define ROW(field, type, default_value, choices, doc)                                              \
    PFD_ATTR_ROW(affine_attrs, field, type, default_value, 0, 0, choices, doc)

static const pfd_attr attr_table[] = {
    ROW(scale, PFD_ATTR_FLOAT64, "1", NULL, "Each number is multiplied by this."),
    ROW(shift, PFD_ATTR_FLOAT64, "0", NULL, "Added after the multiplication."),
    ROW(dtype, PFD_ATTR_DTYPE, "float64", "float32|float64", "The dtype of the output."),
};

static const pfd_port inputs[] = {
    {"in", "Numbers of any shape, also ragged: bool, any integer dtype, float32 or float64."},
};

static const pfd_port outputs[] = {
    {"out", "The scaled numbers, shape as the input."},
};

const pfd_op pfd_op_affine = {
    PFD_OP_SIZES,
    .flags = PFD_TAKES_RAGGED,
    .name = "Affine",
    .doc = "Computes in * scale + shift for each number. "
           "The arithmetic is that of float64, product and sum rounded one after the other, then "
           "the result is rounded to dtype; with the default scale and shift this is a cast.",
    .attrs = attr_table,
    .num_attrs = PFD_COUNT(attr_table),
    .attrs_struct_size = sizeof(affine_attrs),
    .inputs = inputs,
    .num_inputs = PFD_COUNT(inputs),
    .outputs = outputs,
    .num_outputs = PFD_COUNT(outputs),
    .infer = infer,
    .compute = compute,
};
