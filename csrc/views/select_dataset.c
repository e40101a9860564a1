/* SelectDataset: the rows that a table names, by index or by a bit for each row. */
#include "core/error.h"
#include "core/tables.h"
#include "index/bitmap.h"
#include "views/view_base.h"

#include <inttypes.h>
#include <stdlib.h>

typedef struct select_dataset_attrs {
    pfd_list_string fields;
    int64_t table;
} select_dataset_attrs;

typedef struct selection {
    pfd_view base;
    pfd_table indexes;  /* without data where there is a bitmap */
    int32_t has_repeats; /* an index is there more than once */
    pfd_bitmap bitmap;
} selection;

static void close_view(pfd_view *view)
{
    pfd_bitmap_close(&((selection *)view)->bitmap);
    free(view);
}

static int64_t index_at(const pfd_table *indexes, int64_t i)
{
    switch (indexes->dtype) {
    case PFD_INT32:
        return ((const int32_t *)indexes->data)[i];
    case PFD_UINT32:
        return ((const uint32_t *)indexes->data)[i];
    default:
        return ((const int64_t *)indexes->data)[i];
    }
}

static void map(const pfd_view *view, const pfd_places *places)
{
    const selection *self = (const selection *)view;
    int64_t *positions = places->positions;
    if (!self->indexes.data) {
        pfd_bitmap_select(&self->bitmap, positions, places->n, positions);
        return;
    }
    for (int64_t i = 0; i < places->n; i++) {
        if (self->has_repeats) pfd_view_count_draw(&places->draws[i], (uint64_t)positions[i]);
        positions[i] = index_at(&self->indexes, positions[i]);
    }
}

static const pfd_view_methods methods = {
    .name = "SelectDataset", .close = close_view, .map = map};

/* ---- Opening --------------------------------------------------------------------------------- */

/* Checks that each index is a row of the inner view, and whether one is there twice. */
static pfd_status take_indexes(selection *self, const pfd_table *table, int64_t rows,
                               pfd_error *err)
{
    uint8_t *seen = calloc((size_t)rows / 8 + 1, 1);
    if (!seen) return pfd_fail_memory(err, rows / 8 + 1, "the rows that are selected");
    for (int64_t i = 0; i < table->count; i++) {
        const int64_t index = index_at(table, i);
        if (index < 0 || index >= rows) {
            free(seen);
            return pfd_fail_attr(err, "table", NULL, PFD_INVALID_ARGUMENT,
                                 ": index %" PRId64 " (element %" PRId64 ") is not in [0, %" PRId64
                                 "), the rows of the data set",
                                 index, i, rows);
        }
        const uint8_t bit = (uint8_t)(1u << (index % 8));
        self->has_repeats |= (seen[index / 8] & bit) != 0;
        seen[index / 8] |= bit;
    }
    free(seen);
    self->indexes = *table;
    self->base.size = table->count;
    return PFD_OK;
}

static pfd_status take_bitmap(selection *self, const pfd_table *table, int64_t rows, pfd_error *err)
{
    const uint64_t *words = table->data;
    const int64_t needed = (rows + 63) / 64;
    if (table->count != needed)
        return pfd_fail_attr(err, "table", NULL, PFD_INVALID_ARGUMENT,
                             ": a bitmap of %" PRId64 " words; the data set has %" PRId64
                             " rows, whose bitmap has %" PRId64 " words of 64 bits",
                             table->count, rows, needed);
    if (rows % 64 > 0 && words[needed - 1] >> (rows % 64) != 0)
        return pfd_fail_attr(err, "table", NULL, PFD_INVALID_ARGUMENT,
                             ": the bitmap has a bit after row %" PRId64
                             ", the last one of the data set",
                             rows - 1);
    PFD_TRY(pfd_bitmap_open(&self->bitmap, words, rows, err));
    self->base.size = self->bitmap.num_ones;
    return PFD_OK;
}

static pfd_status take_table(selection *self, int64_t number, int64_t rows, pfd_error *err)
{
    pfd_table table;
    PFD_TRY(pfd_table_find(number, &table, err));
    switch (table.dtype) {
    case PFD_UINT64:
        return take_bitmap(self, &table, rows, err);
    case PFD_INT32:
    case PFD_UINT32:
    case PFD_INT64:
        return take_indexes(self, &table, rows, err);
    default:
        return pfd_fail_attr(err, "table", NULL, PFD_INVALID_ARGUMENT,
                             " has dtype %s; indexes are int32, uint32 or int64, the words of a "
                             "bitmap uint64",
                             pfd_dtype_name(table.dtype));
    }
}

static pfd_status open_view(const pfd_view_args *args, pfd_view **out, pfd_error *err)
{
    const select_dataset_attrs *attrs = args->attrs;
    PFD_TRY(pfd_view_need_end(args, "what is selected is compared with all records", err));
    selection *self;
    PFD_TRY(pfd_view_create(sizeof *self, &methods, &self, err));
    pfd_status status = take_table(self, attrs->table, args->inner[0]->size, err);
    if (status != PFD_OK) {
        free(self);
        return status;
    }
    *out = &self->base;
    return PFD_OK;
}

static const pfd_attr attr_table[] = {
    PFD_FIELDS_ATTR(select_dataset_attrs),
    PFD_ATTR_ROW(select_dataset_attrs, table, PFD_ATTR_OBJECT, NULL, 0, 0, NULL,
                 "The rows to select: an array of indexes in any order (int32, uint32, int64), or "
                 "a bitmap (uint64; bit i % 64 of word i / 64 is row i)."),
};

static const pfd_op select_dataset = {
    PFD_VIEW_OP(select_dataset_attrs, attr_table, pfd_view_infer),
    .name = "SelectDataset",
    .doc = "Selects the records of a data set that a table names.",
};

const pfd_view_op pfd_view_select_dataset = {&select_dataset, PFD_VIEW_ORDER, open_view, "where"};
