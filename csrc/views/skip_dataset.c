/* SkipDataset: all but the first records. */
#include "views/view_base.h"

typedef struct skip_dataset_attrs {
    pfd_list_string fields;
    int64_t count;
} skip_dataset_attrs;

static pfd_status open_view(const pfd_view_args *args, pfd_view **out, pfd_error *err)
{
    const skip_dataset_attrs *attrs = args->attrs;
    int64_t records = args->inner[0]->size;
    int64_t first = attrs->count < records ? attrs->count : records;
    return pfd_range_view_open(first, 1, records - first, out, err);
}

static const pfd_attr attr_table[] = {
    PFD_FIELDS_ATTR(skip_dataset_attrs),
    PFD_ATTR_ROW(skip_dataset_attrs, count, PFD_ATTR_INT64, NULL, 0, 9.2e18, NULL,
                 "The number of records to leave out; all if there are fewer."),
};

static const pfd_op skip_dataset = {
    PFD_VIEW_OP(skip_dataset_attrs, attr_table, pfd_view_infer),
    .name = "SkipDataset",
    .doc = "Leaves out the first records of a data set.",
};

const pfd_view_op pfd_view_skip_dataset = {&skip_dataset, PFD_VIEW_ORDER, open_view, "skip"};
