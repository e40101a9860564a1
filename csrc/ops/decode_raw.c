/* DecodeRaw: reads bytes as numbers of a dtype and shape. */
#include "core/op_shorthand.h"
#include "core/rows.h"
#include "parse/row_type.h"
#include "pyflowdata/pyflowdata.h"

#include <inttypes.h>
#include <string.h>

typedef struct decode_raw_attrs {
    int32_t dtype;
    pfd_list_int64 shape;
    int32_t byte_order; /* PFD_ORDER_* */
} decode_raw_attrs;

static pfd_status fail_size(const pfd_host *host, int64_t row, int64_t place, int64_t found,
                            const pfd_row_type *type, pfd_error *err)
{
    char expected[256];
    int64_t bytes = pfd_dtype_size(type->dtype);
    for (int32_t d = 0; d < type->ndim; d++)
        if (type->shape[d] >= 0) bytes *= type->shape[d];
    pfd_status status = row < 0 ? PFD_INVALID_ARGUMENT : PFD_CORRUPT_DATA;
    return host->fail_row(err, row, place, status,
                          "the row has %" PRId64 " bytes; a row of %s needs %s%" PRId64, found,
                          pfd_format_row_type(type, expected, sizeof expected),
                          pfd_is_ragged(type) ? "a multiple of " : "", bytes);
}

/* Sets the dimensions of a row of `bytes` bytes.  Returns 0 if no shape fits. */
static int32_t shape_of(const pfd_row_type *type, int64_t bytes, int64_t *shape)
{
    int64_t fixed = pfd_dtype_size(type->dtype);
    for (int32_t d = 0; d < type->ndim; d++) {
        shape[d] = type->shape[d];
        if (shape[d] >= 0) fixed *= shape[d];
    }
    if (!pfd_is_ragged(type)) return bytes == fixed;
    shape[0] = fixed > 0 ? bytes / fixed : 0;
    return shape[0] * fixed == bytes;
}

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const decode_raw_attrs *attrs = args->attrs;
    const pfd_row_type *in = &args->inputs[0];
    pfd_row_type *out = &args->outputs[0];
    PFD_TRY(pfd_expect_bytes(args, err));
    out->dtype = attrs->dtype;
    out->ndim = (int32_t)attrs->shape.size;
    int64_t elements = 1;
    for (int32_t d = 0; d < out->ndim; d++) {
        int64_t size = out->shape[d] = attrs->shape.data[d];
        if (size < 0 && d > 0)
            return args->host->fail(err, PFD_INVALID_ARGUMENT,
                                    "dimension %d of shape is -1; only the first one may vary", d);
        if (size > 0 && __builtin_mul_overflow(elements, size, &elements))
            return args->host->fail(err, PFD_INVALID_ARGUMENT, "shape is too large for a row");
    }
    if (elements > INT64_MAX / 8)
        return args->host->fail(err, PFD_INVALID_ARGUMENT, "shape is too large for a row");
    if (in->shape[0] < 0) return PFD_OK;
    int64_t shape[PFD_MAX_DIMS];
    if (!shape_of(out, in->shape[0], shape))
        return fail_size(args->host, -1, -1, in->shape[0], out, err);
    memcpy(out->shape, shape, (size_t)out->ndim * sizeof *shape); /* all rows have one size */
    return PFD_OK;
}

static pfd_status decode(const pfd_compute_args *args, int64_t i, pfd_error *err)
{
    const decode_raw_attrs *attrs = args->attrs;
    const pfd_tensor *out = args->outputs[0];
    int64_t element_bytes = pfd_dtype_size(attrs->dtype), shape[PFD_MAX_DIMS];
    pfd_bytes row = pfd_row_bytes(args->inputs[0], i);
    int64_t bytes = row.size;
    if (!shape_of(&out->type, bytes, shape))
        return fail_size(args->host, i, pfd_place_in_record(args, i, row.data), bytes, &out->type,
                         err);
    int32_t swap = pfd_order_is_foreign(attrs->byte_order) && element_bytes > 1;
    int32_t is_aligned = (uintptr_t)row.data % (uintptr_t)element_bytes == 0;
    int32_t is_there = args->inputs[0]->is_ragged && is_aligned && !swap;
    if (out->is_ragged && is_there && attrs->dtype != PFD_BOOL)
        return pfd_row_points_at(args, 0, i, row.data, shape, err) ? PFD_OK : err->status;
    void *to = pfd_row_to_write(args, 0, i, shape, err);
    if (!to) return err->status;
    pfd_copy_stored(to, row.data, bytes / element_bytes, attrs->dtype, swap);
    return PFD_OK;
}

PFD_COMPUTE_EACH_ROW(decode)

static const pfd_attr attr_table[] = {
    PFD_DTYPE_ATTR(decode_raw_attrs, dtype, NULL, NULL, "The dtype of the numbers in the bytes."),
    PFD_RAGGED_SHAPE_ATTR(decode_raw_attrs, shape, "-1",
                          "The shape of a row, empty for a number. A first dimension of -1, or "
                          "None in Python, is computed from the number of bytes, and may vary "
                          "from row to row."),
    PFD_CHOICE_ATTR(decode_raw_attrs, byte_order, "little", "little|big",
                    "Which byte of a number comes first."),
};

static const pfd_port inputs[] = {{"in", "Rows of bytes, uint8 of one dimension, which may vary."}};
static const pfd_port outputs[] = {{"out", "The numbers; ragged if the first dimension varies."}};

const pfd_op pfd_op_decode_raw = {
    PFD_ROW_OP(PFD_TAKES_RAGGED, inputs, outputs),
    .name = "DecodeRaw",
    .doc = "Reads the bytes of each row as numbers. "
           "A row whose size does not fit dtype and shape counts as damaged. With bool, every byte "
           "other than 0 is true.",
    PFD_OP_ATTRS(decode_raw_attrs, attr_table),
};
