/* WindowDataset: rows of several neighbouring records, one after another. */
#include "core/convert.h"
#include "core/error.h"
#include "core/rows.h"
#include "core/search.h"
#include "core/tables.h"
#include "parse/row_type.h"
#include "views/view_base.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct window_dataset_attrs {
    pfd_list_string fields;
    int64_t length, step;
    int32_t last;
    pfd_list_float64 padding;
    pfd_list_int64 kept;
    int64_t runs;
} window_dataset_attrs;

enum { LAST_DROP, LAST_PAD, LAST_SHORT };

/* ---- The view: windows of each run, one run after another ------------------------------------ */

typedef struct windows {
    pfd_view base;
    int64_t length, step; /* length 0: a run is a window */
    const int64_t *runs;  /* the first record of each; borrowed */
    int64_t num_runs, num_records;
    int64_t *firsts; /* the first window of each run, then the number of windows */
} windows;

static void close_view(pfd_view *view)
{
    free(((windows *)view)->firsts);
    free(view);
}

static int64_t run_end(const windows *self, int64_t run)
{
    return run + 1 < self->num_runs ? self->runs[run + 1] : self->num_records;
}

/* The records [*begin, *end) of a window. */
static void find_window(const windows *self, int64_t window, int64_t *begin, int64_t *end)
{
    int64_t run = pfd_last_at_most(self->firsts, (int64_t)sizeof *self->firsts, 0, self->num_runs,
                                   window);
    *begin = self->runs[run] + (window - self->firsts[run]) * self->step;
    *end = run_end(self, run);
    if (self->length > 0 && *end - *begin > self->length) *end = *begin + self->length;
}

/* Whether a window begins within the one of the row before it and ends after it, so that the
 * records which both have are read once. */
static int32_t shares(const pfd_places *places, int64_t i, int64_t begin, int64_t end,
                      const int64_t *former)
{
    return i > 0 && begin >= former[0] && begin < former[1] && end > former[1] &&
           places->epochs[i] == places->epochs[i - 1] && places->draws[i] == places->draws[i - 1];
}

/* Counts the pieces and, unless `pieces` is NULL, sets them.  Several runs belong to the records of
 * the first epoch, so every epoch has these records. */
static int64_t find_pieces(const windows *self, const pfd_places *places, const pfd_places *inner,
                           pfd_piece *pieces)
{
    int64_t k = 0, begin, end, former[2] = {0, 0};
    for (int64_t i = 0; i < places->n; i++) {
        find_window(self, places->positions[i], &begin, &end);
        const int64_t back = shares(places, i, begin, end, former) ? former[1] - begin : 0;
        former[0] = begin;
        former[1] = end;
        if (!pieces) {
            k += end - begin - back;
            continue;
        }
        for (int64_t record = begin + back; record < end; record++, k++) {
            pieces[k] = (pfd_piece){.row = i, .at = record - begin, .length = 1, .whole = 1};
            if (record == begin + back) pieces[k].back = back;
            inner->epochs[k] = self->num_runs > 1 ? 0 : places->epochs[i];
            inner->positions[k] = record;
            inner->draws[k] = places->draws[i];
        }
    }
    return k;
}

static int64_t num_pieces(const pfd_view *view, const pfd_places *places)
{
    return find_pieces((const windows *)view, places, NULL, NULL);
}

static void expand(const pfd_view *view, const pfd_places *places, const pfd_places *inner,
                   pfd_piece *pieces)
{
    (void)find_pieces((const windows *)view, places, inner, pieces);
}

static const pfd_view_methods methods = {
    .name = "WindowDataset", .close = close_view, .num_pieces = num_pieces, .expand = expand};

/* ---- Opening --------------------------------------------------------------------------------- */

static int64_t windows_of_run(const windows *self, int64_t records, int32_t last)
{
    if (self->length == 0) return 1;
    if (last != LAST_DROP) return (records - 1) / self->step + 1;
    return records < self->length ? 0 : (records - self->length) / self->step + 1;
}

static pfd_status take_runs(windows *self, const window_dataset_attrs *attrs, pfd_error *err)
{
    pfd_table table;
    PFD_TRY(pfd_table_find(attrs->runs, &table, err));
    if (table.dtype != PFD_INT64)
        return pfd_fail_attr(err, "runs", NULL, PFD_INVALID_ARGUMENT, " has %s, not int64",
                             pfd_dtype_name(table.dtype));
    self->runs = table.data;
    self->num_runs = self->num_records > 0 ? table.count : 0;
    if (self->num_records > 0 && (table.count == 0 || self->runs[0] != 0))
        return pfd_fail_attr(err, "runs", NULL, PFD_INVALID_ARGUMENT,
                             ": the first run must begin at record 0");
    for (int64_t i = 0; i < self->num_runs; i++)
        if (run_end(self, i) <= self->runs[i] || self->runs[i] < 0)
            return pfd_fail_attr(err, "runs", NULL, PFD_INVALID_ARGUMENT,
                                 ": element %" PRId64 " = %" PRId64
                                 "; the elements must ascend, below the %" PRId64 " records",
                                 i, self->runs[i], self->num_records);
    return PFD_OK;
}

static pfd_status count_windows(windows *self, int32_t last, pfd_error *err)
{
    int64_t bytes = (self->num_runs + 1) * (int64_t)sizeof *self->firsts;
    self->firsts = malloc((size_t)bytes);
    if (!self->firsts) return pfd_fail_memory(err, bytes, "the windows of each run");
    self->firsts[0] = 0;
    for (int64_t i = 0; i < self->num_runs; i++)
        self->firsts[i + 1] =
            self->firsts[i] + windows_of_run(self, run_end(self, i) - self->runs[i], last);
    self->base.size = self->firsts[self->num_runs];
    return PFD_OK;
}

static pfd_status open_view(const pfd_view_args *args, pfd_view **out, pfd_error *err)
{
    const window_dataset_attrs *attrs = args->attrs;
    windows *self;
    PFD_TRY(pfd_view_create(sizeof *self, &methods, &self, err));
    self->length = attrs->length;
    self->step = attrs->step > 0 ? attrs->step : attrs->length;
    self->num_records = args->inner[0]->size;
    pfd_status status = take_runs(self, attrs, err);
    if (status == PFD_OK) status = count_windows(self, attrs->last, err);
    return pfd_view_opened(status, self, out);
}

/* ---- Types ----------------------------------------------------------------------------------- */

static int32_t is_kept(const window_dataset_attrs *attrs, int64_t field)
{
    for (int64_t i = 0; i < attrs->kept.size; i++)
        if (attrs->kept.data[i] == field) return 1;
    return 0;
}

static double padding_of(const window_dataset_attrs *attrs, int64_t input)
{
    if (attrs->padding.size == 0) return 0;
    return attrs->padding.data[attrs->padding.size > 1 ? input : 0];
}

/* The first dimension of a window; -1: windows differ in length. */
static int64_t first_dimension(const window_dataset_attrs *attrs)
{
    return attrs->length == 0 || attrs->last == LAST_SHORT ? -1 : attrs->length;
}

static pfd_status infer_field(const pfd_infer_args *args, int64_t i, pfd_error *err)
{
    const window_dataset_attrs *attrs = args->attrs;
    const pfd_row_type *in = &args->inputs[i];
    pfd_row_type *out = &args->outputs[i];
    char found[256];
    *out = *in;
    if (is_kept(attrs, i)) return PFD_OK;
    if (pfd_is_ragged(in) || in->ndim == PFD_MAX_DIMS)
        return pfd_fail(err, PFD_INVALID_ARGUMENT,
                        "the rows of input number %" PRId64
                        " are %s; windows are made of rows of one shape, of at most %d dimensions",
                        i, pfd_format_row_type(in, found, sizeof found), PFD_MAX_DIMS - 1);
    if (!pfd_is_exact(padding_of(attrs, i), in->dtype) && !pfd_dtype_is_float(in->dtype))
        return pfd_fail_attr(err, "padding", NULL, PFD_INVALID_ARGUMENT,
                             " = %g; input number %" PRId64 " is %s, which holds %s",
                             padding_of(attrs, i), i, pfd_dtype_name(in->dtype),
                             pfd_dtype_limits(in->dtype));
    memmove(out->shape + 1, in->shape, (size_t)in->ndim * sizeof *in->shape);
    out->shape[0] = first_dimension(attrs);
    out->ndim++;
    return PFD_OK;
}

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const window_dataset_attrs *attrs = args->attrs;
    if (attrs->padding.size > 1 && attrs->padding.size != args->num_inputs)
        return pfd_fail_attr(err, "padding", NULL, PFD_INVALID_ARGUMENT,
                             " has %" PRId64 " values; give one, or one for each of the %" PRId64
                             " inputs",
                             attrs->padding.size, args->num_inputs);
    if (args->num_outputs > args->num_inputs + 1 || args->num_outputs < args->num_inputs)
        return pfd_fail_attr(err, "fields", NULL, PFD_INVALID_ARGUMENT,
                             " has %" PRId64 " names; it has one for each of the %" PRId64 " "
                             "inputs, and optionally one for the mask",
                             args->num_outputs, args->num_inputs);
    for (int64_t i = 0; i < args->num_inputs; i++) PFD_TRY(infer_field(args, i, err));
    if (args->num_outputs > args->num_inputs)
        args->outputs[args->num_inputs] =
            (pfd_row_type){.dtype = PFD_BOOL, .ndim = 1, .shape = {first_dimension(attrs)}};
    return PFD_OK;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* A row on its way: rows [first, first + count) of the inputs. */
typedef struct window {
    int64_t row, first, count;
} window;

static pfd_status write_kept(const pfd_compute_args *args, const window *w, int32_t field,
                             pfd_error *err)
{
    const pfd_tensor *out = args->outputs[field];
    pfd_row from;
    pfd_row_at(args->inputs[field], w->first, &from);
    if (out->is_ragged)
        return pfd_row_points_at(args, field, w->row, from.data, from.shape, err) ? PFD_OK
                                                                                  : err->status;
    if (out->row_bytes)
        memcpy(out->data + w->row * out->row_bytes, from.data, (size_t)out->row_bytes);
    return PFD_OK;
}

/* The memory of a window with `count` records, and room for the padding. */
static uint8_t *window_to_write(const pfd_compute_args *args, const window *w, int32_t output,
                                pfd_error *err)
{
    int64_t shape[PFD_MAX_DIMS];
    const pfd_row_type *type = &args->outputs[output]->type;
    memcpy(shape, type->shape, sizeof shape);
    if (shape[0] < 0) shape[0] = w->count;
    return pfd_row_to_write(args, output, w->row, shape, err);
}

static int64_t padded_records(const pfd_compute_args *args, const window *w)
{
    const int64_t length = first_dimension(args->attrs);
    return length < 0 ? 0 : length - w->count;
}

static pfd_status write_records(const pfd_compute_args *args, const window *w, int32_t field,
                                pfd_error *err)
{
    const pfd_tensor *in = args->inputs[field];
    const int64_t element_bytes = pfd_dtype_size(in->type.dtype), bytes = in->row_bytes;
    uint8_t *out = window_to_write(args, w, field, err);
    if (!out) return err->status;
    if (bytes == 0) return PFD_OK;
    memcpy(out, in->data + w->first * bytes, (size_t)(w->count * bytes));
    _Alignas(8) uint8_t element[8];
    double padding = padding_of(args->attrs, field);
    (void)pfd_convert(PFD_FLOAT64, &padding, in->type.dtype, element, 1, PFD_OVERFLOW_WRAP);
    pfd_fill(out + w->count * bytes, padded_records(args, w) * (bytes / element_bytes), element,
             element_bytes);
    return PFD_OK;
}

static pfd_status write_mask(const pfd_compute_args *args, const window *w, pfd_error *err)
{
    uint8_t *out = window_to_write(args, w, (int32_t)args->num_inputs, err);
    if (!out) return err->status;
    memset(out, 1, (size_t)w->count);
    memset(out + w->count, 0, (size_t)padded_records(args, w));
    return PFD_OK;
}

static pfd_status write_row(const pfd_compute_args *args, const window *w, pfd_error *err)
{
    for (int32_t i = 0; i < args->num_inputs; i++)
        PFD_TRY((is_kept(args->attrs, i) ? write_kept : write_records)(args, w, i, err));
    return args->num_outputs > args->num_inputs ? write_mask(args, w, err) : PFD_OK;
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    const pfd_join_args *join = args->source;
    for (int64_t first = 0, end; first < join->num_pieces; first = end) {
        const int64_t row = join->pieces[first].row;
        for (end = first + 1; end < join->num_pieces && join->pieces[end].row == row;) end++;
        const int64_t begin = first - join->pieces[first].back;
        PFD_TRY(write_row(args, &(window){row, begin, end - begin}, err));
    }
    return PFD_OK;
}

/* ---- Descriptor ------------------------------------------------------------------------------ */

static const pfd_attr attr_table[] = {
    PFD_ATTR_ROW(window_dataset_attrs, fields, PFD_ATTR_LIST_STRING, "", 0, 0, NULL,
                 "Names of the outputs: one for each input, then optionally one for the mask; if "
                 "left out, the names of the inputs."),
    PFD_ATTR_ROW(window_dataset_attrs, length, PFD_ATTR_INT64, NULL, 0, 1e9, NULL,
                 "The number of records in a window; 0: each run is one window."),
    PFD_INT_ATTR(window_dataset_attrs, step, "0", 0, 9.2e18,
                 "The number of records from the start of a window to the start of the next one; "
                 "0: length."),
    PFD_CHOICE_ATTR(window_dataset_attrs, last, "drop", "drop|pad|short",
                    "What to do with windows that would go beyond the end of their run. drop: they "
                    "are left out. pad: the padding takes the place of the missing records. short: "
                    "they have fewer records. With pad and short a window begins at every step."),
    PFD_FLOATS_ATTR(window_dataset_attrs, padding, "", 0, 0,
                    "For pad, the value in place of missing records: one for all inputs, or one "
                    "for each; if left out, 0."),
    PFD_INTS_ATTR(window_dataset_attrs, kept, "", 0, 0,
                  "Which inputs are the same in all records of a run, and appear once: numbers "
                  "from 0. The others get a first dimension for the records."),
    PFD_ATTR_ROW(window_dataset_attrs, runs, PFD_ATTR_OBJECT, NULL, 0, 0, NULL,
                 "An int64 array with the number of the first record of each run, in increasing "
                 "order, the first one 0; no window has records of two runs. If there are several "
                 "runs, they are runs of the first epoch."),
};

static const pfd_port inputs[] = {
    {"in", "The fields of a data set, whose rows have one shape; those in `kept` may vary."},
};
static const pfd_port outputs[] = {
    {"out", "The fields with a first dimension of `length`, or None where windows differ; fields "
            "in `kept` as they are. Then the mask, bool (length,): true for records, false for "
            "padding."},
};

static const pfd_op window_dataset = {
    PFD_VIEW_OP_WITH(window_dataset_attrs, attr_table, inputs, outputs, infer),
    .name = "WindowDataset",
    .doc = "Makes windows of neighbouring records: `length` records each, or one run of records "
           "each. The records of a window follow from its number; the view needs 8 bytes per run. "
           "In a range of rows, consecutive windows that overlap read a record once; a shuffle "
           "after this view separates them.",
    .compute = compute,
};

const pfd_view_op pfd_view_window_dataset = {&window_dataset, PFD_VIEW_JOIN, open_view, "windows"};
