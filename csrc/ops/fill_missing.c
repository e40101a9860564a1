/* FillMissing: numbers in place of NaN, and of the NaT of dates. */
#include "core/convert.h"
#include "core/cpu.h"
#include "core/op_shorthand.h"
#include "core/rows.h"
#include "parse/row_type.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct fill_missing_attrs {
    pfd_list_float64 value;
    int32_t with_missing;
} fill_missing_attrs;

/* Whether a finite number stays finite in a dtype of floats, and int64 holds any other. */
static uint8_t fits(double value, int32_t dtype)
{
    if (dtype == PFD_INT64) return fabs(value) < 0x1p63;
    uint64_t element = 0;
    double back = 0;
    (void)pfd_convert(PFD_FLOAT64, &value, dtype, &element, 1, PFD_OVERFLOW_WRAP);
    (void)pfd_convert(dtype, &element, PFD_FLOAT64, &back, 1, PFD_OVERFLOW_WRAP);
    return !isfinite(value) || isfinite(back);
}

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const fill_missing_attrs *attrs = args->attrs;
    const pfd_row_type *in = &args->inputs[0];
    int64_t n = attrs->value.size;
    if (!pfd_dtype_is_float(in->dtype) && in->dtype != PFD_INT64)
        return pfd_refuse_rows(args, 0, "in", "they must be floats, with NaN for missing numbers, "
                               "or int64 dates, with NaT for missing dates: read the column as "
                               "float32 or float64", err);
    args->outputs[0] = args->outputs[1] = *in;
    args->outputs[1].dtype = PFD_BOOL;
    char expected[96];
    (void)snprintf(expected, sizeof expected, "with a value of %" PRId64
                   " numbers, their last dimension must be %" PRId64, n, n);
    if (n < 1)
        return args->host->fail_attr(err, "value", NULL, PFD_INVALID_ARGUMENT,
                                     " has no number; give one, or one for each element of the "
                                     "last dimension");
    if (n > 1 && (in->ndim < 1 || in->shape[in->ndim - 1] != n))
        return pfd_refuse_rows(args, 0, "in", expected, err);
    for (int64_t i = 0; i < n; i++)
        if (!fits(attrs->value.data[i], in->dtype))
            return args->host->fail_attr(err, "value", NULL, PFD_INVALID_ARGUMENT,
                                         "[%" PRId64 "] = %g %s as %s, the dtype of in; "
                                         "give a smaller number, or read the column as float64", i,
                                         attrs->value.data[i],
                                         in->dtype == PFD_INT64 ? "does not fit" : "is infinite",
                                         pfd_dtype_name(in->dtype));
    return PFD_OK;
}

PFD_INLINE uint8_t is_nan(int32_t dtype, const uint8_t *element)
{
    int64_t date;
    uint16_t half;
    float single;
    double twice;
    switch (dtype) {
    case PFD_INT64:
        memcpy(&date, element, sizeof date);
        return date == INT64_MIN;
    case PFD_FLOAT32:
        memcpy(&single, element, sizeof single);
        return single != single;
    case PFD_FLOAT64:
        memcpy(&twice, element, sizeof twice);
        return twice != twice;
    default: /* above infinity: all bits of the exponent, and one of the fraction */
        memcpy(&half, element, sizeof half);
        return (half & 0x7fff) > (dtype == PFD_FLOAT16 ? 0x7c00 : 0x7f80);
    }
}

/* Writes a number; in the place of a date, the nearest integer. */
static void put(double value, int32_t dtype, uint8_t *out)
{
    if (dtype == PFD_INT64) value = nearbyint(value);
    (void)pfd_convert(PFD_FLOAT64, &value, dtype, out, 1, PFD_OVERFLOW_WRAP);
}

/* Fills n numbers, of which the first is at the beginning of a row.  missing: NULL or n bools.  The
 * dtype is a constant. */
PFD_INLINE void fill_each(pfd_list_float64 value, int32_t dtype, const uint8_t *in, uint8_t *out,
                          uint8_t *missing, int64_t n)
{
    const int64_t bytes = dtype == PFD_FLOAT32                          ? 4
                          : dtype == PFD_INT64 || dtype == PFD_FLOAT64 ? 8
                                                                       : 2;
    if (n) memcpy(out, in, (size_t)(n * bytes));
    for (int64_t k = 0; k < n; k++) {
        uint8_t is_missing = is_nan(dtype, in + k * bytes);
        if (missing) missing[k] = is_missing;
        if (is_missing) put(value.data[k % value.size], dtype, out + k * bytes);
    }
}

static void fill(pfd_list_float64 value, int32_t dtype, const uint8_t *in, uint8_t *out,
                 uint8_t *missing, int64_t n)
{
    switch (dtype) {
    case PFD_INT64: fill_each(value, PFD_INT64, in, out, missing, n); break;
    case PFD_FLOAT32: fill_each(value, PFD_FLOAT32, in, out, missing, n); break;
    case PFD_FLOAT64: fill_each(value, PFD_FLOAT64, in, out, missing, n); break;
    case PFD_FLOAT16: fill_each(value, PFD_FLOAT16, in, out, missing, n); break;
    default: fill_each(value, PFD_BFLOAT16, in, out, missing, n);
    }
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    const fill_missing_attrs *attrs = args->attrs;
    const pfd_tensor *in = args->inputs[0], *to = args->outputs[0];
    uint8_t *missing = attrs->with_missing ? args->outputs[1]->data : NULL;
    if (!in->is_ragged) {
        fill(attrs->value, in->type.dtype, in->data, to->data, missing,
             args->num_rows * pfd_row_elements(&in->type));
        return PFD_OK;
    }
    for (int64_t i = 0; i < args->num_rows; i++) {
        pfd_row row;
        pfd_row_at(in, i, &row);
        uint8_t *out = pfd_row_to_write(args, 0, i, row.shape, err);
        if (!out) return err->status;
        if (attrs->with_missing && !(missing = pfd_row_to_write(args, 1, i, row.shape, err)))
            return err->status;
        fill(attrs->value, in->type.dtype, row.data, out, missing, row.num_elements);
    }
    return PFD_OK;
}

static const pfd_attr attr_table[] = {
    PFD_FLOATS_ATTR(fill_missing_attrs, value, NULL, 0, 0,
                    "The value that replaces a missing number, such as the mean or median of "
                    "Statistics.fit(): one number, or one for each element of the last dimension. "
                    "For integers it is rounded to the nearest one."),
    PFD_BOOL_ATTR(fill_missing_attrs, with_missing, "false",
                  "Whether the output missing is returned too."),
};

static const pfd_port inputs[] = {
    {"in", "Floats of any shape, or int64 as ParseDate makes them, dense or ragged."}};
static const pfd_port outputs[] = {
    {"out", "The numbers, with value in place of missing ones; dtype and shape are those of the "
            "input."},
    {"missing", "Which numbers were missing, bool of the same shape."},
};

const pfd_op pfd_op_fill_missing = {
    PFD_ROW_OP(PFD_TAKES_RAGGED | PFD_KEEPS_EQUAL_ROWS, inputs, outputs),
    .name = "FillMissing",
    .doc = "Replaces each missing number by a value: NaN among floats, NaT among int64. NaT is the "
           "least int64, which ParseDate writes for a text that it cannot read. A gap in a CSV "
           "column is NaN if the column has floats and the default nan, as in \"age:float32=nan\"; "
           "CSVReader infers such a column if the first records have gaps or fractions.",
    PFD_OP_ATTRS(fill_missing_attrs, attr_table),
};
