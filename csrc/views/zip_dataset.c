/* ZipDataset: the fields of several data sets side by side. */
#include "core/error.h"
#include "views/view_infer.h"

#include <inttypes.h>

typedef struct zip_dataset_attrs {
    pfd_list_string fields;
} zip_dataset_attrs;

static int64_t size(const pfd_view *view)
{
    return pfd_view_size(view->inner[0]);
}

static const pfd_view_methods methods = {
    .name = "ZipDataset", .close = pfd_view_free, .size = size};

static pfd_status open_view(const pfd_view_args *args, pfd_view **out, pfd_error *err)
{
    int64_t first = pfd_view_size(args->inner[0]);
    for (int32_t i = 1; i < args->num_inner; i++)
        if (pfd_view_size(args->inner[i]) != first)
            return pfd_fail(err, PFD_INVALID_ARGUMENT,
                            "data set 0 has %" PRId64 " records, data set %" PRId32 " has %" PRId64
                            "; records are paired by their number: take() the common ones",
                            first, i, pfd_view_size(args->inner[i]));
    return pfd_view_create(sizeof(pfd_view), &methods, out, err);
}

static const pfd_attr attr_table[] = {PFD_FIELDS_ATTR(zip_dataset_attrs)};

static const pfd_port inputs[] = {
    {"in", "The fields of several data sets, those of each one together."},
};
static const pfd_port outputs[] = {
    {"out", "All of them: record i has the fields of record i of each data set."},
};

static const pfd_op zip_dataset = {
    PFD_OP_SIZES,
    .flags = PFD_VIEW | PFD_MANY_INPUTS | PFD_TAKES_RAGGED,
    .name = "ZipDataset",
    .doc = "Data sets of the same length side by side: a record has the fields of all of them. A "
           "record that is skipped in one of them is skipped in all.",
    PFD_OP_ATTRS(zip_dataset_attrs, attr_table),
    PFD_OP_INPUTS(inputs),
    PFD_OP_OUTPUTS(outputs),
    .infer = pfd_view_infer,
    .outputs_attr = "fields",
};

const pfd_view_op pfd_view_zip_dataset = {&zip_dataset, PFD_VIEW_ZIP, open_view};
