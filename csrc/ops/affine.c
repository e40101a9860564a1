/* Affine: computes in * scale + shift, and changes the dtype. */
#include "core/convert.h"
#include "core/op_shorthand.h"
#include "core/rows.h"
#include "parse/row_type.h"
#include "pyflowdata/pyflowdata.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#define BLOCK 512 /* elements that are converted at once by way of float64 */

typedef struct affine_attrs {
    pfd_list_float64 scale, shift;
    int32_t axis;
    int32_t dtype;
} affine_attrs;

static int64_t num_channels(const affine_attrs *attrs)
{
    return attrs->scale.size > attrs->shift.size ? attrs->scale.size : attrs->shift.size;
}

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const affine_attrs *attrs = args->attrs;
    const pfd_row_type *in = &args->inputs[0];
    int64_t channels = num_channels(attrs);
    int32_t axis = pfd_axis(attrs->axis, in->ndim);
    args->outputs[0] = *in;
    args->outputs[0].dtype = attrs->dtype                     ? attrs->dtype
                             : pfd_dtype_is_float(in->dtype) ? in->dtype
                                                             : PFD_FLOAT32;
    if (attrs->scale.size == 0 || attrs->shift.size == 0 ||
        (attrs->scale.size != channels && attrs->scale.size != 1) ||
        (attrs->shift.size != channels && attrs->shift.size != 1))
        return args->host->fail(err, PFD_INVALID_ARGUMENT,
                                "scale has %" PRId64 " numbers and shift has %" PRId64
                                "; give one number, or one for each channel",
                                attrs->scale.size, attrs->shift.size);
    if (channels == 1) return PFD_OK;
    if (axis >= 0 && axis < in->ndim && in->shape[axis] == channels) return PFD_OK;
    char expected[128];
    (void)snprintf(expected, sizeof expected,
                   "with scale or shift of %" PRId64 " numbers, dimension %d of the rows must be "
                   "%" PRId64, channels, attrs->axis, channels);
    return pfd_refuse_rows(args, 0, "in", expected, err);
}

/* ---- Elements -------------------------------------------------------------------------------- */

/* The factors of a run of elements: one scale and shift for all of them, or a pattern of scales and
 * shifts, whose element `phase` belongs to the first element. */
typedef struct factors {
    const double *scale, *shift;
    int64_t period; /* length of the pattern; 0: one factor for all */
} factors;

static void scale_run(const factors *by, int64_t phase, const double *in, double *out, int64_t n)
{
    if (by->period)
        pfd_scale_each_float64(in, out, n, by->scale + phase, by->shift + phase);
    else
        pfd_scale_float64(in, out, n, *by->scale, *by->shift);
}

static void scale_bytes(const factors *by, int64_t phase, const uint8_t *in, float *out, int64_t n)
{
    if (by->period)
        pfd_scale_each_uint8(in, out, n, by->scale + phase, by->shift + phase);
    else
        pfd_scale_uint8(in, out, n, *by->scale, *by->shift);
}

/* Dates that are missing, which are NaT, become missing numbers. */
static void put_nan(const uint8_t *dates, double *out, int64_t n)
{
    const int64_t *in = (const void *)dates;
    for (int64_t i = 0; i < n; i++) out[i] = in[i] == INT64_MIN ? NAN : out[i];
}

static void scale_block(const factors *by, int64_t phase, int32_t from, const uint8_t *in,
                        int32_t to, uint8_t *out, int64_t n)
{
    double wide[BLOCK];
    const double *values = wide;
    if (from == PFD_FLOAT64)
        values = (const void *)in;
    else
        (void)pfd_convert(from, in, PFD_FLOAT64, wide, n, PFD_OVERFLOW_WRAP);
    if (from == PFD_INT64) put_nan(in, wide, n);
    if (to == PFD_FLOAT64) {
        scale_run(by, phase, values, (void *)out, n);
        return;
    }
    scale_run(by, phase, values, wide, n);
    (void)pfd_convert(PFD_FLOAT64, wide, to, out, n, PFD_OVERFLOW_WRAP);
}

/* Scales n elements. The place of the first one in its row is a multiple of `period`. */
static void scale_all(const factors *by, int32_t from, const uint8_t *in, int32_t to, uint8_t *out,
                      int64_t n)
{
    int64_t in_bytes = pfd_dtype_size(from), out_bytes = pfd_dtype_size(to);
    int32_t is_fast = (from == PFD_UINT8 || from == PFD_BOOL) && to == PFD_FLOAT32;
    int64_t most = by->period ? by->period : is_fast ? n : BLOCK, phase = 0;
    for (int64_t i = 0, count; i < n; i += count) {
        count = most - phase;
        if (count > n - i) count = n - i;
        if (!is_fast && count > BLOCK) count = BLOCK;
        if (is_fast)
            scale_bytes(by, phase, in + i, (void *)(out + i * out_bytes), count);
        else
            scale_block(by, phase, from, in + i * in_bytes, to, out + i * out_bytes, count);
        phase += count;
        if (phase == most || !by->period) phase = 0;
    }
}

/* ---- Channels -------------------------------------------------------------------------------- */

static double element_of(const pfd_list_float64 *list, int64_t i)
{
    return list->data[list->size == 1 ? 0 : i];
}

/* If channels alternate within few elements, this repeats their factors until the pattern is long
 * enough for a loop.  NULL: no memory. */
static double *make_pattern(const pfd_compute_args *args, int64_t inner, int64_t *period)
{
    const affine_attrs *attrs = args->attrs;
    int64_t once = num_channels(attrs) * inner, times = once < 256 ? 256 / once : 1;
    *period = once * times;
    double *pattern = args->host->alloc(args->scratch, 2 * *period * (int64_t)sizeof *pattern);
    for (int64_t i = 0; pattern && i < *period; i++) {
        int64_t channel = i / inner % num_channels(attrs);
        pattern[i] = element_of(&attrs->scale, channel);
        pattern[*period + i] = element_of(&attrs->shift, channel);
    }
    return pattern;
}

/* Scales n elements; each `inner` consecutive ones are of the same channel. */
static pfd_status apply(const pfd_compute_args *args, const uint8_t *in, uint8_t *out, int64_t n,
                        int64_t inner, pfd_error *err)
{
    const affine_attrs *attrs = args->attrs;
    int32_t from = args->inputs[0]->type.dtype, to = args->outputs[0]->type.dtype;
    int64_t in_bytes = pfd_dtype_size(from), out_bytes = pfd_dtype_size(to);
    factors by = {attrs->scale.data, attrs->shift.data, 0};
    if (n == 0) return PFD_OK;
    if (num_channels(attrs) == 1) {
        scale_all(&by, from, in, to, out, n);
        return PFD_OK;
    }
    if (inner < 64) {
        by.scale = make_pattern(args, inner, &by.period);
        if (!by.scale)
            return args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for the scales");
        by.shift = by.scale + by.period;
        scale_all(&by, from, in, to, out, n);
        return PFD_OK;
    }
    for (int64_t i = 0, channel = 0; i < n; i += inner) {
        double scale = element_of(&attrs->scale, channel);
        double shift = element_of(&attrs->shift, channel);
        by = (factors){&scale, &shift, 0};
        scale_all(&by, from, in + i * in_bytes, to, out + i * out_bytes, inner);
        channel = (channel + 1) % num_channels(attrs);
    }
    return PFD_OK;
}

static int64_t inner_of(const affine_attrs *attrs, const int64_t *shape, int32_t ndim)
{
    int64_t inner = 1;
    for (int32_t d = pfd_axis(attrs->axis, ndim) + 1; d < ndim; d++) inner *= shape[d];
    return inner;
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    const affine_attrs *attrs = args->attrs;
    const pfd_tensor *in = args->inputs[0];
    int32_t ndim = in->type.ndim;
    if (!in->is_ragged)
        return apply(args, in->data, args->outputs[0]->data,
                     args->num_rows * pfd_row_elements(&in->type),
                     inner_of(attrs, in->type.shape, ndim), err);
    for (int64_t i = 0; i < args->num_rows; i++) {
        pfd_row row;
        pfd_row_at(in, i, &row);
        void *out = pfd_row_to_write(args, 0, i, row.shape, err);
        if (!out) return err->status;
        PFD_TRY(apply(args, row.data, out, row.num_elements,
                      inner_of(attrs, row.shape, ndim), err));
    }
    return PFD_OK;
}

static const pfd_attr attr_table[] = {
    PFD_FLOATS_ATTR(affine_attrs, scale, "1", 0, 0,
                    "The factor: one number, or one for each channel."),
    PFD_FLOATS_ATTR(affine_attrs, shift, "0", 0, 0,
                    "Added after the multiplication: one number, or one for each channel."),
    PFD_DTYPE_ATTR(affine_attrs, dtype, "", "float16|float32|float64|bfloat16",
                   "The dtype of the output; left out, floats keep theirs, and integers and bools "
                   "become float32."),
    PFD_INT_ATTR(affine_attrs, axis, "-1", -PFD_MAX_DIMS, PFD_MAX_DIMS - 1,
                 "The dimension of a row that counts the channels; -1 is the last one."),
};

static const pfd_port inputs[] = {{"in", "Numbers of any dtype and shape, dense or ragged."}};
static const pfd_port outputs[] = {{"out", "The results, with the shape of the input."}};

const pfd_op pfd_op_affine = {
    PFD_ROW_OP(PFD_TAKES_RAGGED | PFD_KEEPS_EQUAL_ROWS, inputs, outputs),
    .name = "Affine",
    .doc = "Computes in * scale + shift for each number. The arithmetic is float64: first the "
           "product is rounded, then the sum, and then the result is converted to dtype. A list of "
           "several numbers has one for each channel. The least int64, which is NaT of ParseDate, "
           "becomes NaN.",
    PFD_OP_ATTRS(affine_attrs, attr_table),
};
