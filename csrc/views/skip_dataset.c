/* SkipDataset: all but the first records. */
#include "views/view_infer.h"

typedef struct skip_dataset_attrs {
    pfd_list_string fields;
    int64_t count;
} skip_dataset_attrs;

typedef struct skip {
    pfd_view base;
    int64_t first, size;
} skip;

static int64_t size(const pfd_view *view)
{
    return ((const skip *)view)->size;
}

static void map(const pfd_view *view, const pfd_places *places)
{
    const int64_t first = ((const skip *)view)->first;
    for (int64_t i = 0; i < places->n; i++) places->positions[i] += first;
}

static const pfd_view_methods methods = {
    .name = "SkipDataset", .close = pfd_view_free, .size = size, .map = map};

static pfd_status open_view(const pfd_view_args *args, pfd_view **out, pfd_error *err)
{
    const skip_dataset_attrs *attrs = args->attrs;
    skip *self;
    PFD_TRY(pfd_view_create(sizeof *self, &methods, &self, err));
    int64_t records = pfd_view_size(args->inner[0]);
    self->first = attrs->count < records ? attrs->count : records;
    self->size = records - self->first;
    *out = &self->base;
    return PFD_OK;
}

static const pfd_attr attr_table[] = {
    PFD_FIELDS_ATTR(skip_dataset_attrs),
    PFD_ATTR_ROW(skip_dataset_attrs, count, PFD_ATTR_INT64, NULL, 0, 9.2e18, NULL,
                 "How many records to leave out; all where there are fewer."),
};

static const pfd_op skip_dataset = {
    PFD_VIEW_OP(skip_dataset_attrs, attr_table, pfd_view_infer),
    .name = "SkipDataset",
    .doc = "All but the first records of a data set.",
};

const pfd_view_op pfd_view_skip_dataset = {&skip_dataset, PFD_VIEW_ORDER, open_view};
