/* PadBatch: pads the rows of a batch to its largest row. */
#include "core/op_shorthand.h"
#include "core/rows.h"
#include "core/scratch.h"
#include "parse/row_type.h"
#include "pyflowdata/pyflowdata.h"

#include <inttypes.h>
#include <string.h>

typedef struct pad_batch_attrs {
    double value;
    int64_t multiple_of;
    int32_t with_mask, with_length;
} pad_batch_attrs;

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const pad_batch_attrs *attrs = args->attrs;
    if (!pfd_is_ragged(&args->inputs[0]))
        return pfd_refuse_rows(args, 0, "in", "all rows have one shape already: Pad makes them "
                                              "larger",
                               err);
    args->outputs[0] = args->inputs[0];
    return pfd_infer_padding(args, attrs->value, err);
}

/* Computes the largest size along each dimension, rounded up.  Returns 0 if it is too large. */
static int32_t common_shape(const pfd_compute_args *args, int64_t *shape)
{
    const pad_batch_attrs *attrs = args->attrs;
    const pfd_tensor *in = args->inputs[0];
    memset(shape, 0, PFD_MAX_DIMS * sizeof *shape);
    for (int64_t i = 0; i < args->num_rows; i++) {
        pfd_row row;
        pfd_row_at(in, i, &row);
        for (int32_t d = 0; d < in->type.ndim; d++)
            if (row.shape[d] > shape[d]) shape[d] = row.shape[d];
    }
    for (int32_t d = 0; d < in->type.ndim; d++) {
        if (in->type.shape[d] >= 0) {
            shape[d] = in->type.shape[d]; /* an empty row does not have this size */
            continue;
        }
        if (__builtin_add_overflow(shape[d], attrs->multiple_of - 1, &shape[d])) return 0;
        shape[d] -= shape[d] % attrs->multiple_of;
    }
    return 1;
}

static void write_lengths(const pfd_compute_args *args)
{
    int64_t *lengths = (void *)args->outputs[2]->data;
    int32_t ndim = args->outputs[1]->type.ndim;
    for (int64_t i = 0; i < args->num_rows; i++) {
        pfd_row row;
        pfd_row_at(args->inputs[0], i, &row);
        memcpy(lengths + i * ndim, row.shape, (size_t)ndim * sizeof *lengths);
    }
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    const pad_batch_attrs *attrs = args->attrs;
    const pfd_tensor *in = args->inputs[0], *mask = args->outputs[1];
    int64_t bytes = pfd_dtype_size(in->type.dtype), row_bytes = 0, mask_bytes = 0;
    int64_t *shape = args->host->alloc(args->scratch, PFD_MAX_DIMS * (int64_t)sizeof *shape);
    uint8_t *out = NULL, *masks = NULL;
    if (shape && common_shape(args, shape)) {
        out = pfd_equal_rows_to_write(args, 0, shape, &row_bytes);
        masks = attrs->with_mask ? pfd_equal_rows_to_write(args, 1, shape, &mask_bytes) : out;
    }
    if (!out || !masks)
        return args->host->fail(err, PFD_OUT_OF_MEMORY,
                                "no memory for %" PRId64 " rows that are as large as the largest",
                                args->num_rows);
    _Alignas(8) uint8_t element[8];
    (void)pfd_convert(PFD_FLOAT64, &attrs->value, in->type.dtype, element, 1, PFD_OVERFLOW_WRAP);
    int64_t elements = args->num_rows * (row_bytes / bytes), padded = elements;
    for (int64_t i = 0; i < args->num_rows; i++) {
        pfd_row row;
        pfd_row_at(in, i, &row);
        if (args->host->is_cancelled(args->scratch))
            return args->host->fail(err, PFD_CANCELLED, "the loader is closing");
        pfd_pad_array(row.data, row.shape, out + i * row_bytes, shape, in->type.ndim, element,
                      bytes);
        padded -= row.num_elements;
        if (attrs->with_mask)
            pfd_pad_mask(row.shape, masks + i * mask_bytes, shape, mask->type.ndim);
    }
    write_lengths(args);
    pfd_scratch_note_padding(args->scratch, elements, padded);
    return PFD_OK;
}

static const pfd_attr attr_table[] = {
    PFD_FLOAT_ATTR(pad_batch_attrs, value, "0", 0, 0, "The value of the padding."),
    PFD_INT_ATTR(pad_batch_attrs, multiple_of, "1", 1, 1099511627776.0,
                 "Dimensions that vary are rounded up to a multiple of this number."),
    PFD_BOOL_ATTR(pad_batch_attrs, with_mask, "false", "Whether the output mask is returned too."),
    PFD_BOOL_ATTR(pad_batch_attrs, with_length, "false",
                  "Whether the output length is returned too."),
};

static const pfd_port inputs[] = {{"in", "Ragged rows of any dtype."}};
static const pfd_port outputs[] = {
    {"out", "Rows of one shape: the row first, then the padding."},
    {"mask", "Bool: false for padding. It has the dimensions up to the last one that varies."},
    {"length", "The sizes of the row, int64, along the dimensions of the mask; one number if the "
               "mask has one dimension."},
};

const pfd_op pfd_op_pad_batch = {
    PFD_ROW_OP(PFD_TAKES_RAGGED | PFD_WHOLE_BATCH | PFD_EQUAL_ROWS, inputs, outputs),
    .name = "PadBatch",
    .doc = "Pads the rows of each batch to the size of its largest row. The batch is the part of "
           "this rank. The size differs from batch to batch, so the output is a Ragged; because "
           "its rows have one shape, numpy.asarray() of it, or its attribute dense, is the array "
           "(rows, longest, ...), without a copy, and operators such as != compute with that "
           "array. Pad makes the same size for all batches.",
    PFD_OP_ATTRS(pad_batch_attrs, attr_table),
};
