/* Pad: makes rows of any size rows of one shape. */
#include "core/op_shorthand.h"
#include "core/rows.h"
#include "core/scratch.h"
#include "parse/row_type.h"
#include "pyflowdata/pyflowdata.h"

#include <inttypes.h>
#include <string.h>

enum { RAISE, TRUNCATE }; /* attr on_longer */

typedef struct pad_attrs {
    pfd_list_int64 shape;
    double value;
    int32_t on_longer;
    int32_t with_mask, with_length;
} pad_attrs;

static pfd_status check_shape(const pfd_infer_args *args, pfd_error *err)
{
    const pad_attrs *attrs = args->attrs;
    const pfd_row_type *in = &args->inputs[0];
    if (in->ndim == 0)
        return pfd_refuse_rows(args, 0, "in", "numbers have no dimension that could be padded",
                               err);
    if (attrs->shape.size != in->ndim)
        return pfd_refuse_rows(args, 0, "in", "the attr shape must have a number for each "
                                              "dimension of the rows",
                               err);
    for (int32_t d = 0; d < in->ndim && attrs->on_longer == RAISE; d++)
        if (in->shape[d] > attrs->shape.data[d])
            return pfd_refuse_rows(args, 0, "in", "the rows are longer than the attr shape: set "
                                   "on_longer='truncate' to cut them", err);
    return PFD_OK;
}

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const pad_attrs *attrs = args->attrs;
    pfd_row_type *out = &args->outputs[0];
    PFD_TRY(check_shape(args, err));
    *out = args->inputs[0];
    memcpy(out->shape, attrs->shape.data, (size_t)out->ndim * sizeof *out->shape);
    return pfd_infer_padding(args, attrs->value, err);
}

static pfd_status check_row(const pfd_compute_args *args, int64_t i, const pfd_row *row,
                            pfd_error *err)
{
    const pad_attrs *attrs = args->attrs;
    for (int32_t d = 0; d < args->inputs[0]->type.ndim && attrs->on_longer == RAISE; d++)
        if (row->shape[d] > attrs->shape.data[d])
            return args->host->fail_row(err, i, -1, PFD_CORRUPT_DATA,
                                        "dimension %d of the row is %" PRId64 ", but shape allows "
                                        "%" PRId64 ": use a larger shape, or set "
                                        "on_longer='truncate'",
                                        d, row->shape[d], attrs->shape.data[d]);
    return PFD_OK;
}

static int64_t kept_elements(const int64_t *row, const int64_t *most, int32_t ndim)
{
    int64_t n = 1;
    for (int32_t d = 0; d < ndim; d++) n *= row[d] < most[d] ? row[d] : most[d];
    return n;
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    const pad_attrs *attrs = args->attrs;
    const pfd_tensor *in = args->inputs[0], *out = args->outputs[0], *mask = args->outputs[1];
    int64_t bytes = pfd_dtype_size(in->type.dtype);
    int64_t *lengths = (void *)args->outputs[2]->data;
    _Alignas(8) uint8_t element[8];
    (void)pfd_convert(PFD_FLOAT64, &attrs->value, in->type.dtype, element, 1, PFD_OVERFLOW_WRAP);
    int64_t elements = args->num_rows * (out->row_bytes / bytes), padded = elements;
    for (int64_t i = 0; i < args->num_rows; i++) {
        pfd_row row;
        pfd_row_at(in, i, &row);
        PFD_TRY(check_row(args, i, &row, err));
        pfd_pad_array(row.data, row.shape, out->data + i * out->row_bytes, out->type.shape,
                      in->type.ndim, element, bytes);
        padded -= kept_elements(row.shape, out->type.shape, in->type.ndim);
        if (attrs->with_mask)
            pfd_pad_mask(row.shape, mask->data + i * mask->row_bytes, mask->type.shape,
                         mask->type.ndim);
        for (int32_t d = 0; d < mask->type.ndim; d++) {
            int64_t most = out->type.shape[d];
            *lengths++ = row.shape[d] < most ? row.shape[d] : most;
        }
    }
    pfd_scratch_note_padding(args->scratch, elements, padded);
    return PFD_OK;
}

static const pfd_attr attr_table[] = {
    PFD_ATTR_ROW(pad_attrs, shape, PFD_ATTR_SHAPE, NULL, 0, 9007199254740992.0, NULL,
                 "The shape of every row."),
    PFD_FLOAT_ATTR(pad_attrs, value, "0", 0, 0, "The value of the padding."),
    PFD_CHOICE_ATTR(pad_attrs, on_longer, "raise", "raise|truncate",
                    "How to handle a row that is longer: raise an error of the row, or use only "
                    "its beginning."),
    PFD_BOOL_ATTR(pad_attrs, with_mask, "false", "Whether the output mask is returned too."),
    PFD_BOOL_ATTR(pad_attrs, with_length, "false", "Whether the output length is returned too."),
};

static const pfd_port inputs[] = {
    {"in", "Rows of one dimension or more, of any dtype, dense or ragged."},
};
static const pfd_port outputs[] = {
    {"out", "Rows of the given shape: the row first, then the padding."},
    {"mask", "Bool: false for padding. It has the dimensions up to the last one that is padded."},
    {"length", "The sizes of the row, int64, along the dimensions of the mask; one number if the "
               "mask has one dimension."},
};

const pfd_op pfd_op_pad = {
    PFD_ROW_OP(PFD_TAKES_RAGGED, inputs, outputs),
    .name = "Pad",
    .doc = "Brings rows of different sizes to one shape. Rows that are too short are padded with a "
           "value. A row that is too long is an error, or is cut if on_longer is truncate.",
    PFD_OP_ATTRS(pad_attrs, attr_table),
};
