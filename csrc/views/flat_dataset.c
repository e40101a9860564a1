/* FlatDataset: each record as a fixed number of rows. */
#include "core/error.h"
#include "views/elements.h"
#include "views/view_base.h"

#include <inttypes.h>

typedef struct flat_dataset_attrs {
    pfd_list_string fields;
    int64_t fan_out;
    pfd_list_int64 divided;
} flat_dataset_attrs;

typedef struct flat {
    pfd_view base;
    int64_t fan_out;
} flat;

/* ---- The view: row p is element p % fan_out of record p / fan_out ---------------------------- */

/* Whether row i is the next element of the record that row i - 1 is of. */
static int32_t goes_on(const flat *self, const pfd_places *places, int64_t i)
{
    int64_t p = places->positions[i];
    return i > 0 && p % self->fan_out > 0 && places->positions[i - 1] == p - 1 &&
           places->epochs[i - 1] == places->epochs[i] && places->draws[i - 1] == places->draws[i];
}

static int64_t num_pieces(const pfd_view *view, const pfd_places *places)
{
    int64_t n = 0;
    for (int64_t i = 0; i < places->n; i++) n += !goes_on((const flat *)view, places, i);
    return n;
}

/* Consecutive rows of a record are one piece, so that it is computed once. */
static void expand(const pfd_view *view, const pfd_places *places, const pfd_places *inner,
                   pfd_piece *pieces)
{
    const flat *self = (const flat *)view;
    int64_t k = -1;
    for (int64_t i = 0; i < places->n; i++) {
        if (goes_on(self, places, i)) {
            pieces[k].length++;
            continue;
        }
        int64_t p = places->positions[i];
        pieces[++k] = (pfd_piece){
            .row = i, .begin = p % self->fan_out, .length = 1, .whole = self->fan_out};
        inner->epochs[k] = places->epochs[i];
        inner->positions[k] = p / self->fan_out;
        inner->draws[k] = places->draws[i];
    }
}

static const pfd_view_methods methods = {
    .name = "FlatDataset", .close = pfd_view_free, .num_pieces = num_pieces, .expand = expand};

static pfd_status open_view(const pfd_view_args *args, pfd_view **out, pfd_error *err)
{
    const flat_dataset_attrs *attrs = args->attrs;
    flat *self;
    int64_t total, records = args->inner[0]->size;
    if (__builtin_mul_overflow(records, attrs->fan_out, &total))
        return pfd_fail_attr(err, "fan_out", NULL, PFD_INVALID_ARGUMENT,
                             " = %" PRId64 "; of %" PRId64 " records that is more than 2^63 rows",
                             attrs->fan_out, records);
    PFD_TRY(pfd_view_create(sizeof *self, &methods, &self, err));
    self->fan_out = attrs->fan_out;
    self->base.size = total;
    *out = &self->base;
    return PFD_OK;
}

/* ---- The fields ------------------------------------------------------------------------------ */

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const flat_dataset_attrs *attrs = args->attrs;
    return pfd_elements_infer(args, attrs->divided, "fan_out", attrs->fan_out, err);
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    const flat_dataset_attrs *attrs = args->attrs;
    return pfd_elements_write(args, attrs->fields, attrs->divided, "fan_out", err);
}

static const pfd_attr attr_table[] = {
    PFD_FIELDS_ATTR(flat_dataset_attrs),
    PFD_ATTR_ROW(flat_dataset_attrs, fan_out, PFD_ATTR_INT64, NULL, 1, 1e9, NULL,
                 "The number of rows that each record becomes."),
    PFD_DIVIDED_ATTR(flat_dataset_attrs),
};

static const pfd_port outputs[] = {
    {"out", "The same fields; a divided field has one element of the record's row."},
};

static const pfd_op flat_dataset = {
    PFD_VIEW_OP_WITH(flat_dataset_attrs, attr_table, pfd_view_inputs, outputs, infer),
    .name = "FlatDataset",
    .doc = "Makes several rows of each record: row p is element p mod fan_out of record p div "
           "fan_out. In a range of rows, a record is computed once for all of its consecutive "
           "rows; a shuffle after this view separates them.",
    .compute = compute,
};

const pfd_view_op pfd_view_flat_dataset = {&flat_dataset, PFD_VIEW_JOIN, open_view, "flat_map"};
