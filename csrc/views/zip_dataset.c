/* ZipDataset: the fields of several data sets side by side. */
#include "core/error.h"
#include "views/view_base.h"

#include <inttypes.h>

typedef struct zip_dataset_attrs {
    pfd_list_string fields;
} zip_dataset_attrs;

static const pfd_view_methods methods = {.name = "ZipDataset", .close = pfd_view_free};

static pfd_status open_view(const pfd_view_args *args, pfd_view **out, pfd_error *err)
{
    int64_t first = args->inner[0]->size;
    for (int32_t i = 1; i < args->num_inner; i++)
        if (args->inner[i]->size != first)
            return pfd_fail(err, PFD_INVALID_ARGUMENT,
                            "data set 0 has %" PRId64 " records, data set %" PRId32 " has %" PRId64
                            "; records are paired by their number: take() the common ones",
                            first, i, args->inner[i]->size);
    PFD_TRY(pfd_view_create(sizeof **out, &methods, out, err));
    (*out)->size = first;
    return PFD_OK;
}

static const pfd_attr attr_table[] = {PFD_FIELDS_ATTR(zip_dataset_attrs)};

static const pfd_port inputs[] = {
    {"in", "The fields of several data sets, the fields of each data set together."},
};
static const pfd_port outputs[] = {
    {"out", "All fields: record i has the fields of record i of each data set."},
};

static const pfd_op zip_dataset = {
    PFD_VIEW_OP_WITH(zip_dataset_attrs, attr_table, inputs, outputs, pfd_view_infer),
    .name = "ZipDataset",
    .doc = "Data sets of the same length side by side: a record has the fields of all of them. A "
           "record that is skipped in one of them is skipped in all.",
};

const pfd_view_op pfd_view_zip_dataset = {&zip_dataset, PFD_VIEW_ZIP, open_view, "zip"};
