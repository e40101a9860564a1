/* SliceDataset: the records that a slice of Python's selects. */
#include "core/error.h"
#include "views/view_base.h"

typedef struct slice_dataset_attrs {
    pfd_list_string fields;
    int64_t begin, end, step;
} slice_dataset_attrs;

/* An index from the end becomes one from the beginning, and one outside of [0, n) the nearest place
 * where a slice may begin or end: in [0, n], or in [-1, n - 1] where it goes backwards. */
static int64_t clamp(int64_t index, int64_t n, int64_t step)
{
    int64_t least = step < 0 ? -1 : 0, most = step < 0 ? n - 1 : n;
    if (index < 0) index += n;
    return index < least ? least : index > most ? most : index;
}

static int32_t counts_from_end(const slice_dataset_attrs *attrs, int64_t n)
{
    return (attrs->begin < 0 && attrs->begin >= -n) || (attrs->end < 0 && attrs->end >= -n) ||
           (attrs->step < 0 && attrs->begin >= n);
}

static pfd_status open_view(const pfd_view_args *args, pfd_view **out, pfd_error *err)
{
    const slice_dataset_attrs *attrs = args->attrs;
    int64_t n = args->inner[0]->size, step = attrs->step;
    if (counts_from_end(attrs, n))
        PFD_TRY(pfd_view_need_end(args, "the slice counts from the end", err));
    int64_t begin = clamp(attrs->begin, n, step), end = clamp(attrs->end, n, step);
    int64_t span = step < 0 ? begin - end : end - begin, stride = step < 0 ? -step : step;
    return pfd_range_view_open(begin, step, span > 0 ? (span - 1) / stride + 1 : 0, out, err);
}

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const slice_dataset_attrs *attrs = args->attrs;
    if (attrs->step == 0)
        return pfd_fail_attr(err, "step", NULL, PFD_INVALID_ARGUMENT, " = 0; it must not be 0");
    return pfd_view_infer(args, err);
}

static const pfd_attr attr_table[] = {
    PFD_FIELDS_ATTR(slice_dataset_attrs),
    PFD_ATTR_ROW(slice_dataset_attrs, begin, PFD_ATTR_INT64, "0", 0, 0, NULL,
                 "The first record; a negative one counts from the end."),
    PFD_ATTR_ROW(slice_dataset_attrs, end, PFD_ATTR_INT64, "9223372036854775807", 0, 0, NULL,
                 "The record before which the slice ends; a negative number counts from the end, "
                 "and a number outside of the data set means all records up to its end."),
    PFD_ATTR_ROW(slice_dataset_attrs, step, PFD_ATTR_INT64, "1", -9.2e18, 9.2e18, NULL,
                 "The step from one record to the next; a negative step goes backwards."),
};

static const pfd_op slice_dataset = {
    PFD_VIEW_OP(slice_dataset_attrs, attr_table, infer),
    .name = "SliceDataset",
    .doc = "Selects the records begin, begin + step, and so on of a data set, as Python's slices "
           "do.",
};

const pfd_view_op pfd_view_slice_dataset = {&slice_dataset, PFD_VIEW_ORDER, open_view, "slice"};
