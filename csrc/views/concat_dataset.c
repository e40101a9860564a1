/* ConcatDataset: the records of several data sets one after another. */
#include "core/error.h"
#include "core/search.h"
#include "views/view_base.h"

typedef struct concat_dataset_attrs {
    pfd_list_string fields;
    int64_t num_sources;
} concat_dataset_attrs;

typedef struct concat_view {
    pfd_view base;
    int32_t num_sources;
    int64_t begins[]; /* begin of each source, then the end of the last one */
} concat_view;

static void map(const pfd_view *view, const pfd_places *places)
{
    const concat_view *self = (const concat_view *)view;
    int64_t source = 0; /* neighbours are mostly of one source; a source may be empty */
    for (int64_t i = 0; i < places->n; i++) {
        int64_t position = places->positions[i];
        if (position < self->begins[source] || position >= self->begins[source + 1])
            source = pfd_last_at_most(self->begins, (int64_t)sizeof *self->begins, 0,
                                      self->num_sources, position);
        places->sources[i] = (int32_t)source;
        places->positions[i] = position - self->begins[source];
    }
}

static const pfd_view_methods methods = {
    .name = "ConcatDataset", .close = pfd_view_free, .map = map};

static pfd_status open_view(const pfd_view_args *args, pfd_view **out, pfd_error *err)
{
    concat_view *self;
    size_t bytes = sizeof *self + ((size_t)args->num_inner + 1) * sizeof self->begins[0];
    PFD_TRY(pfd_view_create(bytes, &methods, &self, err));
    self->num_sources = args->num_inner;
    for (int32_t i = 0; i < args->num_inner; i++) {
        int64_t more = args->inner[i]->size;
        if (more > INT64_MAX / 4 - self->begins[i]) {
            pfd_view_free(&self->base);
            return pfd_fail(err, PFD_INVALID_ARGUMENT,
                            "the data sets have more records together than can be counted; if one "
                            "is repeated without end, take(n) limits it");
        }
        self->begins[i + 1] = self->begins[i] + more;
    }
    self->base.size = self->begins[args->num_inner];
    *out = &self->base;
    return PFD_OK;
}

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const concat_dataset_attrs *attrs = args->attrs;
    return pfd_choice_infer(args, attrs->num_sources, err);
}

static const pfd_attr attr_table[] = {
    PFD_FIELDS_ATTR(concat_dataset_attrs),
    PFD_NUM_SOURCES_ATTR(concat_dataset_attrs),
};

static const pfd_op concat_dataset = {
    PFD_VIEW_OP_WITH(concat_dataset_attrs, attr_table, pfd_choice_inputs, pfd_view_outputs, infer),
    .name = "ConcatDataset",
    .doc = "Joins the records of several data sets, one after another. Their fields have the same "
           "types; their files may have different formats.",
};

const pfd_view_op pfd_view_concat_dataset = {&concat_dataset, PFD_VIEW_CHOICE, open_view, "concat"};
