/* EnumerateDataset: the same records, each with its number in the data set. */
#include "core/error.h"
#include "views/elements.h"
#include "views/view_base.h"

#include <inttypes.h>

typedef struct enumerate_dataset_attrs {
    pfd_list_string fields;
} enumerate_dataset_attrs;

/* ---- The view: each row is one piece, which begins at its number ----------------------------- */

static int64_t num_pieces(const pfd_view *view, const pfd_places *places)
{
    (void)view;
    return places->n;
}

static void expand(const pfd_view *view, const pfd_places *places, const pfd_places *inner,
                   pfd_piece *pieces)
{
    (void)view;
    for (int64_t i = 0; i < places->n; i++) {
        inner->epochs[i] = places->epochs[i];
        inner->positions[i] = places->positions[i];
        inner->draws[i] = places->draws[i];
        pieces[i] = (pfd_piece){.row = i, .begin = places->positions[i], .length = 1, .whole = 1};
    }
}

static const pfd_view_methods methods = {
    .name = "EnumerateDataset", .close = pfd_view_free, .num_pieces = num_pieces, .expand = expand};

static pfd_status open_view(const pfd_view_args *args, pfd_view **out, pfd_error *err)
{
    pfd_view *self;
    PFD_TRY(pfd_view_create(sizeof *self, &methods, &self, err));
    self->size = args->inner[0]->size;
    *out = self;
    return PFD_OK;
}

/* ---- The fields, then the number ------------------------------------------------------------- */

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    if (args->num_outputs != args->num_inputs + 1)
        return pfd_fail_attr(err, "fields", NULL, PFD_INVALID_ARGUMENT,
                             " has %" PRId64 " names; it must have %" PRId64 ", one for each input "
                             "and one for the number",
                             args->num_outputs, args->num_inputs + 1);
    for (int64_t i = 0; i < args->num_inputs; i++) args->outputs[i] = args->inputs[i];
    args->outputs[args->num_inputs] = (pfd_row_type){.dtype = PFD_INT64};
    return PFD_OK;
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    const pfd_join_args *join = args->source;
    int32_t last = (int32_t)args->num_outputs - 1;
    PFD_TRY(pfd_elements_write(args, (pfd_list_string){0}, (pfd_list_int64){0}, "", err));
    int64_t *numbers = (int64_t *)(void *)args->outputs[last]->data;
    for (int64_t k = 0; k < join->num_pieces; k++)
        numbers[join->pieces[k].row] = join->pieces[k].begin;
    return PFD_OK;
}

static const pfd_attr attr_table[] = {
    PFD_ATTR_ROW(enumerate_dataset_attrs, fields, PFD_ATTR_LIST_STRING, NULL, 0, 0, NULL,
                 "Names of the outputs: one for each field, then one for the number."),
};

static const pfd_port outputs[] = {
    {"out", "The same fields; then the record's number in the data set, int64, from 0."},
};

static const pfd_op enumerate_dataset = {
    PFD_VIEW_OP_WITH(enumerate_dataset_attrs, attr_table, pfd_view_inputs, outputs, infer),
    .name = "EnumerateDataset",
    .doc = "Adds to each record its number in the data set as one more field.",
    .compute = compute,
};

const pfd_view_op pfd_view_enumerate_dataset = {&enumerate_dataset, PFD_VIEW_JOIN, open_view,
                                                "enumerate"};
