/* RepeatFactorDataset: each record so often as its factor says, on average over the epochs. */
#include "core/error.h"
#include "core/random.h"
#include "views/factor_cells.h"
#include "views/item_order.h"
#include "views/record_table.h"
#include "views/view_infer.h"

#include <stdlib.h>

typedef struct repeat_factor_dataset_attrs {
    pfd_list_string fields;
    int64_t factors, seed;
} repeat_factor_dataset_attrs;

typedef struct repeat_factor {
    pfd_view base;
    pfd_view_args args;
    int64_t seed;
    pfd_factor_cells cells;
} repeat_factor;

static void close_view(pfd_view *view)
{
    pfd_factor_cells_free(&((repeat_factor *)view)->cells);
    free(view);
}

static int64_t size(const pfd_view *view)
{
    return ((const repeat_factor *)view)->cells.num_rows;
}

/* The place in cells.records of a row.  The records of a cell take turns.  Only which of them have
 * the last turn, if that is not for all, is random. */
static int64_t find_place(const pfd_factor_cells *cells, pfd_factor_row row, uint64_t key)
{
    int64_t begin = cells->members[row.cell], n = cells->members[row.cell + 1] - begin;
    int64_t turn = row.draw % n, last = row.num_draws - row.num_draws % n;
    if (n == 1 || row.draw < last) return begin + turn;
    pfd_item_order order;
    pfd_item_order_init(&order, pfd_random_bits(key, (uint64_t)row.cell), n);
    pfd_item_order_map(&order, 1, &turn);
    return begin + turn;
}

/* In steps, so that the waits for memory overlap. */
static void map_epoch(const repeat_factor *self, int64_t epoch, int64_t *positions, int64_t n)
{
    const pfd_factor_cells *cells = &self->cells;
    const uint64_t key = pfd_view_key(&self->args, self->seed, epoch);
    const uint64_t cells_key = pfd_random_bits(key, 1);
    const uint32_t offset = (uint32_t)pfd_random_bits(key, 2);
    pfd_permutation rows;
    pfd_permutation_init(&rows, pfd_random_bits(key, 0), cells->num_rows);
    pfd_permute(&rows, positions, n, positions);
    for (int64_t i = 0; i < n; i++)
        __builtin_prefetch(pfd_factor_cells_guide(cells, offset, positions[i]));
    for (int64_t i = 0; i < n; i++) {
        uint32_t cell = *pfd_factor_cells_guide(cells, offset, positions[i]);
        __builtin_prefetch(&cells->begins[cell]);
        __builtin_prefetch(&cells->members[cell]);
    }
    for (int64_t i = 0; i < n; i++) {
        pfd_factor_row row = pfd_factor_cells_find(cells, offset, positions[i]);
        positions[i] = find_place(cells, row, cells_key);
        __builtin_prefetch(&cells->records[positions[i]]);
    }
    for (int64_t i = 0; i < n; i++) positions[i] = cells->records[positions[i]];
}

static void map(const pfd_view *view, const pfd_places *places)
{
    const repeat_factor *self = (const repeat_factor *)view;
    for (int64_t i = 0; i < places->n;) {
        int64_t epoch = places->epochs[i], end = i;
        for (; end < places->n && places->epochs[end] == epoch; end++) {
            places->epochs[end] = 0;
            pfd_view_count_draw(&places->draws[end], (uint64_t)places->positions[end]);
        }
        map_epoch(self, epoch, places->positions + i, end - i);
        i = end;
    }
}

static const pfd_view_methods methods = {
    .name = "RepeatFactorDataset", .close = close_view, .size = size, .map = map};

static pfd_status open_view(const pfd_view_args *args, pfd_view **out, pfd_error *err)
{
    const repeat_factor_dataset_attrs *attrs = args->attrs;
    const double *factors;
    PFD_TRY(pfd_record_weights(args, "factors", attrs->factors, &factors, err));
    repeat_factor *self;
    PFD_TRY(pfd_view_create(sizeof *self, &methods, &self, err));
    pfd_status status =
        pfd_factor_cells_make(factors, pfd_view_size(args->inner[0]), &self->cells, err);
    if (status != PFD_OK) {
        close_view(&self->base);
        return status;
    }
    self->args = *args;
    self->seed = attrs->seed;
    *out = &self->base;
    return PFD_OK;
}

static const pfd_attr attr_table[] = {
    PFD_FIELDS_ATTR(repeat_factor_dataset_attrs),
    PFD_ATTR_ROW(repeat_factor_dataset_attrs, factors, PFD_ATTR_OBJECT, NULL, 0, 0, NULL,
                 "A float64 for each record: how often an epoch has it on average, such as 2.5."),
    PFD_SEED_ATTR(repeat_factor_dataset_attrs),
};

static const pfd_op repeat_factor_dataset = {
    PFD_VIEW_OP(repeat_factor_dataset_attrs, attr_table, pfd_view_infer),
    .name = "RepeatFactorDataset",
    .doc = "The records of a data set in a random order, each as often as its factor says. Of a "
           "factor that is not a whole number, each epoch has the whole number below or above, and "
           "on average the factor. An epoch has as many records as the factors add up to, rounded. "
           "A factor belongs to a position of epoch 0 of the data set, and each epoch has these "
           "records.",
};

const pfd_view_op pfd_view_repeat_factor_dataset = {&repeat_factor_dataset, PFD_VIEW_ORDER,
                                                    open_view};
