/* ZipDataset: the fields of several data sets side by side. */
#include "core/error.h"
#include "views/view_base.h"

#include <inttypes.h>

typedef struct zip_dataset_attrs {
    pfd_list_string fields;
} zip_dataset_attrs;

static const pfd_view_methods methods = {.name = "ZipDataset", .close = pfd_view_free};

static pfd_status fail_sizes(int32_t i, int64_t first, int64_t size, pfd_error *err)
{
    if (first < PFD_ENDLESS && size < PFD_ENDLESS)
        return pfd_fail(err, PFD_INVALID_ARGUMENT,
                        "data set 0 has %" PRId64 " records, data set %" PRId32 " has %" PRId64
                        "; records are paired by their number: take() the common ones",
                        first, i, size);
    return pfd_fail(err, PFD_INVALID_ARGUMENT,
                    "data set %" PRId32 " has no end, as repeat() has none, and data set %" PRId32
                    " has %" PRId64 " records; records are paired by their number: take(%" PRId64
                    ") after repeat()",
                    first < size ? i : 0, first < size ? 0 : i, first < size ? first : size,
                    first < size ? first : size);
}

static pfd_status open_view(const pfd_view_args *args, pfd_view **out, pfd_error *err)
{
    int64_t first = args->inner[0]->size;
    for (int32_t i = 1; i < args->num_inner; i++)
        if (args->inner[i]->size != first)
            return fail_sizes(i, first, args->inner[i]->size, err);
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
    .doc = "Joins data sets of the same length side by side: a record has the fields of all of "
           "them. A record that is skipped in one of them is skipped in all.",
};

const pfd_view_op pfd_view_zip_dataset = {&zip_dataset, PFD_VIEW_ZIP, open_view, "zip"};
