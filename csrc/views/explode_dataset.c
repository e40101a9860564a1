/* ExplodeDataset: as many rows of each record as a table says. */
#include "core/error.h"
#include "core/search.h"
#include "views/elements.h"
#include "views/record_table.h"
#include "views/view_base.h"

#include <inttypes.h>
#include <stdlib.h>

typedef struct explode_dataset_attrs {
    pfd_list_string fields;
    int64_t counts;
    pfd_list_int64 divided;
} explode_dataset_attrs;

typedef struct explode {
    pfd_view base;
    int64_t num_records;
    int64_t *starts; /* the first row of each record, then the number of rows */
} explode;

/* ---- The view -------------------------------------------------------------------------------- */

static void close_view(pfd_view *view)
{
    free(((explode *)view)->starts);
    free(view);
}

/* The record of a row: the last one that starts there or before; those before it have no rows. */
static int64_t record_of(const explode *self, int64_t row)
{
    return pfd_last_at_most(self->starts, (int64_t)sizeof *self->starts, 0, self->num_records, row);
}

/* Counts the pieces and, unless `pieces` is NULL, sets them.  Consecutive rows of a record are one
 * piece, so that it is computed once.  The counts belong to the records of the first epoch, so
 * every epoch has these records. */
static int64_t find_pieces(const explode *self, const pfd_places *places, const pfd_places *inner,
                           pfd_piece *pieces)
{
    int64_t k = -1, end = -1; /* the row after those of the record; -1: not looked for */
    for (int64_t i = 0; i < places->n; i++) {
        const int64_t p = places->positions[i];
        if (i > 0 && p == places->positions[i - 1] + 1 &&
            places->draws[i] == places->draws[i - 1]) {
            if (end < 0) end = self->starts[record_of(self, p - 1) + 1];
            if (p < end) {
                if (pieces) pieces[k].length++;
                continue;
            }
        }
        k++;
        end = -1;
        if (!pieces) continue;
        const int64_t record = record_of(self, p), start = self->starts[record];
        end = self->starts[record + 1];
        pieces[k] = (pfd_piece){.row = i, .begin = p - start, .length = 1, .whole = end - start};
        inner->epochs[k] = 0;
        inner->positions[k] = record;
        inner->draws[k] = places->draws[i];
    }
    return k + 1;
}

static int64_t num_pieces(const pfd_view *view, const pfd_places *places)
{
    return find_pieces((const explode *)view, places, NULL, NULL);
}

static void expand(const pfd_view *view, const pfd_places *places, const pfd_places *inner,
                   pfd_piece *pieces)
{
    (void)find_pieces((const explode *)view, places, inner, pieces);
}

static const pfd_view_methods methods = {
    .name = "ExplodeDataset", .close = close_view, .num_pieces = num_pieces, .expand = expand};

static pfd_status add_up(explode *self, const pfd_lengths *counts, pfd_error *err)
{
    int64_t bytes = (counts->count + 1) * (int64_t)sizeof *self->starts;
    self->num_records = counts->count;
    self->starts = malloc((size_t)bytes);
    if (!self->starts) return pfd_fail_memory(err, bytes, "the rows of each record");
    self->starts[0] = 0;
    for (int64_t i = 0; i < counts->count; i++)
        if (__builtin_add_overflow(self->starts[i], pfd_length_at(counts, i), &self->starts[i + 1]))
            return pfd_fail_attr(err, "counts", NULL, PFD_INVALID_ARGUMENT,
                                 " add up to more than 2^63 rows");
    self->base.size = self->starts[counts->count];
    return PFD_OK;
}

static pfd_status open_view(const pfd_view_args *args, pfd_view **out, pfd_error *err)
{
    const explode_dataset_attrs *attrs = args->attrs;
    pfd_lengths counts;
    PFD_TRY(pfd_lengths_find("counts", attrs->counts, args->inner[0]->size, &counts, err));
    explode *self;
    PFD_TRY(pfd_view_create(sizeof *self, &methods, &self, err));
    return pfd_view_opened(add_up(self, &counts, err), self, out);
}

/* ---- The fields, and which element of its record a row is ------------------------------------ */

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const explode_dataset_attrs *attrs = args->attrs;
    if (args->num_outputs > args->num_inputs + 1 || args->num_outputs < args->num_inputs)
        return pfd_fail_attr(err, "fields", NULL, PFD_INVALID_ARGUMENT,
                             " has %" PRId64 " names; it has one for each of the %" PRId64 " "
                             "inputs, and optionally one for the element",
                             args->num_outputs, args->num_inputs);
    PFD_TRY(pfd_elements_infer(args, attrs->divided, "counts", -1, err));
    if (args->num_outputs > args->num_inputs)
        args->outputs[args->num_inputs] =
            (pfd_row_type){.dtype = PFD_INT64, .ndim = 1, .shape = {2}};
    return PFD_OK;
}

static void write_numbers(const pfd_compute_args *args)
{
    const pfd_join_args *join = args->source;
    int64_t(*out)[2] = (int64_t(*)[2])(void *)args->outputs[args->num_inputs]->data;
    for (int64_t k = 0; k < join->num_pieces; k++) {
        const pfd_piece *piece = &join->pieces[k];
        for (int64_t i = 0; i < piece->length; i++) {
            out[piece->row + i][0] = piece->begin + i;
            out[piece->row + i][1] = piece->whole;
        }
    }
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    const explode_dataset_attrs *attrs = args->attrs;
    PFD_TRY(pfd_elements_write(args, attrs->fields, attrs->divided, "counts", err));
    if (args->num_outputs > args->num_inputs) write_numbers(args);
    return PFD_OK;
}

static const pfd_attr attr_table[] = {
    PFD_ATTR_ROW(explode_dataset_attrs, fields, PFD_ATTR_LIST_STRING, "", 0, 0, NULL,
                 "Names of the outputs: one for each input, then optionally one for the element; "
                 "if left out, the names of the inputs."),
    PFD_ATTR_ROW(explode_dataset_attrs, counts, PFD_ATTR_OBJECT, NULL, 0, 0, NULL,
                 "An array (int32 or int64) with the number of rows of each record, 0 or more, in "
                 "the order of the data set's first epoch."),
    PFD_DIVIDED_ATTR(explode_dataset_attrs),
};

static const pfd_port outputs[] = {
    {"out", "The same fields; a divided field has one element of the record's row. Then the "
            "element, int64 (2,): its number in the record, from 0, and the number of elements "
            "that the record has."},
};

static const pfd_op explode_dataset = {
    PFD_VIEW_OP_WITH(explode_dataset_attrs, attr_table, pfd_view_inputs, outputs, infer),
    .name = "ExplodeDataset",
    .doc = "Makes as many rows of each record as a table says, one record after another; a record "
           "with 0 has none. In a range of rows, a record is computed once for all of its "
           "consecutive rows. The view needs 8 bytes per record.",
    .compute = compute,
};

const pfd_view_op pfd_view_explode_dataset = {&explode_dataset, PFD_VIEW_JOIN, open_view,
                                              "explode"};
