/* TruncatePair: cuts two rows to a common length, the longer one first. */
#include "core/op_shorthand.h"
#include "core/rows.h"
#include "parse/row_type.h"
#include "pyflowdata/pyflowdata.h"

#include <string.h>

typedef struct truncate_pair_attrs {
    int64_t max_length;
} truncate_pair_attrs;

/* Cuts two lengths as if elements were taken off the longer row one by one, and off the second one
 * while both are equal. */
static void cut(int64_t max_length, int64_t *first, int64_t *second)
{
    int64_t excess = *first - max_length + *second;
    if (excess <= 0) return;
    int64_t *longer = *first > *second ? first : second;
    int64_t more = *first > *second ? *first - *second : *second - *first;
    if (more > excess) more = excess;
    *longer -= more;
    *first -= (excess - more) / 2;
    *second -= (excess - more + 1) / 2;
}

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const truncate_pair_attrs *attrs = args->attrs;
    pfd_row_type *out = args->outputs;
    static const char *const names[] = {"first", "second"};
    for (int32_t k = 0; k < 2; k++) {
        out[k] = args->inputs[k];
        if (out[k].ndim == 0)
            return pfd_refuse_rows(args, k, names[k], "they must have one dimension or more", err);
    }
    if (out[0].shape[0] < 0 || out[1].shape[0] < 0)
        out[0].shape[0] = out[1].shape[0] = -1; /* how much one loses depends on both */
    else
        cut(attrs->max_length, &out[0].shape[0], &out[1].shape[0]);
    return PFD_OK;
}

static pfd_status write_part(const pfd_compute_args *args, int32_t k, int64_t i, pfd_row *row,
                             int64_t length, pfd_error *err)
{
    const pfd_tensor *out = args->outputs[k];
    int64_t bytes = pfd_dtype_size(out->type.dtype) * length;
    row->shape[0] = length;
    if (out->is_ragged)
        return pfd_row_points_at(args, k, i, row->data, row->shape, err) ? PFD_OK : err->status;
    for (int32_t d = 1; d < out->type.ndim; d++) bytes *= row->shape[d];
    if (bytes > 0) memcpy(out->data + i * out->row_bytes, row->data, (size_t)bytes);
    return PFD_OK;
}

static pfd_status truncate_rows(const pfd_compute_args *args, int64_t i, pfd_error *err)
{
    const truncate_pair_attrs *attrs = args->attrs;
    pfd_row first, second;
    pfd_row_at(args->inputs[0], i, &first);
    pfd_row_at(args->inputs[1], i, &second);
    int64_t lengths[] = {first.shape[0], second.shape[0]};
    cut(attrs->max_length, &lengths[0], &lengths[1]);
    PFD_TRY(write_part(args, 0, i, &first, lengths[0], err));
    return write_part(args, 1, i, &second, lengths[1], err);
}

PFD_COMPUTE_EACH_ROW(truncate_rows)

static const pfd_attr attr_table[] = {
    PFD_INT_ATTR(truncate_pair_attrs, max_length, NULL, 0, 9007199254740992.0,
                 "The maximum number of elements of both rows together."),
};

static const pfd_port inputs[] = {
    {"first", "Rows of one dimension or more, of any dtype, dense or ragged."},
    {"second", "Rows like those of the first input, also of another dtype."},
};
static const pfd_port outputs[] = {
    {"first_part", "The beginnings of the first rows."},
    {"second_part", "The beginnings of the second rows."},
};

const pfd_op pfd_op_truncate_pair = {
    PFD_ROW_OP(PFD_TAKES_RAGGED, inputs, outputs),
    .name = "TruncatePair",
    .doc = "Shortens two rows so that together they have no more than a given number of elements. "
           "Elements are removed from the end of the longer row until both rows have the same "
           "length, and then from both in turn, beginning with the second row.",
    PFD_OP_ATTRS(truncate_pair_attrs, attr_table),
};
