/* FlatDataset: each record as a fixed number of rows. */
#include "core/error.h"
#include "core/rows.h"
#include "parse/row_type.h"
#include "views/view_base.h"

#include <inttypes.h>
#include <string.h>

typedef struct flat_dataset_attrs {
    pfd_list_string fields;
    int64_t fan_out;
    pfd_list_int64 divided;
} flat_dataset_attrs;

typedef struct flat {
    pfd_view base;
    int64_t fan_out;
} flat;

/* ---- The view: row p is part p % fan_out of record p / fan_out ------------------------------- */

/* Whether row i is the next part of the record that row i - 1 is of. */
static int32_t goes_on(const flat *self, const pfd_places *places, int64_t i)
{
    int64_t p = places->positions[i];
    return i > 0 && p % self->fan_out > 0 && places->positions[i - 1] == p - 1 &&
           places->epochs[i - 1] == places->epochs[i] && places->draws[i - 1] == places->draws[i];
}

static int64_t num_parts(const pfd_view *view, const pfd_places *places)
{
    int64_t n = 0;
    for (int64_t i = 0; i < places->n; i++) n += !goes_on((const flat *)view, places, i);
    return n;
}

/* Consecutive rows of a record are one part, so that it is computed once. */
static void expand(const pfd_view *view, const pfd_places *places, const pfd_places *inner,
                   pfd_part *parts)
{
    const flat *self = (const flat *)view;
    int64_t k = -1;
    for (int64_t i = 0; i < places->n; i++) {
        if (goes_on(self, places, i)) {
            parts[k].length++;
            continue;
        }
        int64_t p = places->positions[i];
        parts[++k] = (pfd_part){
            .row = i, .begin = p % self->fan_out, .length = 1, .whole = self->fan_out};
        inner->epochs[k] = places->epochs[i];
        inner->positions[k] = p / self->fan_out;
        inner->draws[k] = places->draws[i];
    }
}

static const pfd_view_methods methods = {
    .name = "FlatDataset", .close = pfd_view_free, .num_parts = num_parts, .expand = expand};

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

static int32_t is_divided(const flat_dataset_attrs *attrs, int64_t field)
{
    for (int64_t i = 0; i < attrs->divided.size; i++)
        if (attrs->divided.data[i] == field) return 1;
    return 0;
}

static pfd_status infer_divided(const flat_dataset_attrs *attrs, const pfd_row_type *in,
                                int64_t field, pfd_row_type *out, pfd_error *err)
{
    char found[256];
    if (in->ndim == 0 || (in->shape[0] >= 0 && in->shape[0] != attrs->fan_out))
        return pfd_fail_attr(err, "fan_out", NULL, PFD_INVALID_ARGUMENT,
                             " = %" PRId64 "; the rows of input number %" PRId64
                             " are %s, and their first dimension must be that",
                             attrs->fan_out, field, pfd_format_row_type(in, found, sizeof found));
    *out = *in;
    out->ndim--;
    memmove(out->shape, in->shape + 1, (size_t)out->ndim * sizeof *out->shape);
    return PFD_OK;
}

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const flat_dataset_attrs *attrs = args->attrs;
    for (int64_t i = 0; i < attrs->divided.size; i++)
        if (attrs->divided.data[i] < 0 || attrs->divided.data[i] >= args->num_inputs)
            return pfd_fail_attr(err, "divided", NULL, PFD_INVALID_ARGUMENT,
                                 ": element %" PRId64 " = %" PRId64 "; there are %" PRId64
                                 " inputs, numbered from 0",
                                 i, attrs->divided.data[i], args->num_inputs);
    for (int64_t i = 0; i < args->num_inputs; i++) {
        args->outputs[i] = args->inputs[i];
        if (is_divided(attrs, i))
            PFD_TRY(infer_divided(attrs, &args->inputs[i], i, &args->outputs[i], err));
    }
    return PFD_OK;
}

/* Writes a row of a field: one of `count` equal pieces of a record's row. */
static pfd_status write_piece(const pfd_compute_args *args, int32_t field, int64_t row,
                              const pfd_row *from, int32_t drops, int64_t piece, int64_t count,
                              pfd_error *err)
{
    const pfd_tensor *out = args->outputs[field];
    int64_t bytes = from->num_elements / count * pfd_dtype_size(out->type.dtype);
    const uint8_t *data = bytes ? from->data + piece * bytes : from->data;
    if (out->is_ragged)
        return pfd_row_points_at(args, field, row, data, from->shape + drops, err) ? PFD_OK
                                                                                   : err->status;
    if (bytes) memcpy(out->data + row * out->row_bytes, data, (size_t)bytes);
    return PFD_OK;
}

static pfd_status write_field(const pfd_compute_args *args, int32_t field,
                              const pfd_join_args *join, pfd_error *err)
{
    const flat_dataset_attrs *attrs = args->attrs;
    int32_t divided = is_divided(attrs, field);
    for (int64_t k = 0; k < join->num_parts; k++) {
        const pfd_part *part = &join->parts[k];
        pfd_row from;
        pfd_row_at(args->inputs[field], k, &from);
        if (divided && from.shape[0] != part->whole)
            return args->host->fail_row(err, part->row, -1, PFD_CORRUPT_DATA,
                                        "input number %d has %" PRId64
                                        " parts in this record; attr 'fan_out' says %" PRId64,
                                        field, from.shape[0], part->whole);
        for (int64_t i = 0; i < part->length; i++)
            PFD_TRY(write_piece(args, field, part->row + i, &from, divided,
                                divided ? part->begin + i : 0, divided ? part->whole : 1, err));
    }
    return PFD_OK;
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    const pfd_join_args *join = args->source;
    for (int32_t i = 0; i < args->num_outputs; i++) PFD_TRY(write_field(args, i, join, err));
    return PFD_OK;
}

static const pfd_attr attr_table[] = {
    PFD_FIELDS_ATTR(flat_dataset_attrs),
    PFD_ATTR_ROW(flat_dataset_attrs, fan_out, PFD_ATTR_INT64, NULL, 1, 1e9, NULL,
                 "How many rows are made of each record."),
    PFD_ATTR_ROW(flat_dataset_attrs, divided, PFD_ATTR_LIST_INT64, NULL, 0, 0, NULL,
                 "Which inputs have a part for each row, along their first dimension: numbers from "
                 "0. The other inputs are the same in all rows of a record."),
};

static const pfd_port outputs[] = {
    {"out", "The same fields; a divided field has one part of the record's row."},
};

static const pfd_op flat_dataset = {
    PFD_VIEW_OP_WITH(flat_dataset_attrs, attr_table, pfd_view_inputs, outputs, infer),
    .name = "FlatDataset",
    .doc = "Several rows of each record: row p is part p mod fan_out of record p div fan_out. "
           "Consecutive rows of a record are computed once in a range of rows; a shuffle after it "
           "takes them apart.",
    .compute = compute,
};

const pfd_view_op pfd_view_flat_dataset = {&flat_dataset, PFD_VIEW_JOIN, open_view, "flat_map"};
