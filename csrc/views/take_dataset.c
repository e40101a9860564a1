/* TakeDataset: the first records. */
#include "views/view_base.h"

typedef struct take_dataset_attrs {
    pfd_list_string fields;
    int64_t count;
} take_dataset_attrs;

static void map(const pfd_view *view, const pfd_places *places)
{
    (void)view, (void)places; /* a record stands where it stood */
}

static const pfd_view_methods methods = {
    .name = "TakeDataset", .close = pfd_view_free, .map = map};

static pfd_status open_view(const pfd_view_args *args, pfd_view **out, pfd_error *err)
{
    const take_dataset_attrs *attrs = args->attrs;
    int64_t most = args->inner[0]->size;
    PFD_TRY(pfd_view_create(sizeof **out, &methods, out, err));
    (*out)->size = attrs->count < most ? attrs->count : most;
    return PFD_OK;
}

static const pfd_attr attr_table[] = {
    PFD_FIELDS_ATTR(take_dataset_attrs),
    PFD_ATTR_ROW(take_dataset_attrs, count, PFD_ATTR_INT64, NULL, 0, 9.2e18, NULL,
                 "The number of records; all if there are fewer."),
};

static const pfd_op take_dataset = {
    PFD_VIEW_OP(take_dataset_attrs, attr_table, pfd_view_infer),
    .name = "TakeDataset",
    .doc = "Selects the first records of a data set.",
};

const pfd_view_op pfd_view_take_dataset = {&take_dataset, PFD_VIEW_ORDER, open_view, "take"};
