/* RepeatFactorDataset: each record as often as its factor says, on average over the epochs.
 *
 * Factors are laid end to end on a line, a cell for each, and the line is sampled at offset + 0,
 * offset + 1, ..., offset + num_rows - 1, with one random offset in [0, 1) for an epoch.  A cell of
 * length w has floor(w) or ceil(w) of these points, and as the offset is uniform, w of them on
 * average.  The line is num_rows long, a whole number, so every offset has num_rows points.  In
 * formulas: with W(c) the beginning of cell c, it has
 *
 *     floor(W(c + 1) + u) - floor(W(c) + u)
 *
 * points, u = 1 - 2^-32 - offset, which is uniform as well; the mean of floor(x + u) over all u is
 * x, and the sum over all cells is floor(W(end) + u) - floor(u) = W(end).
 *
 * The sum of the factors need not be whole: their fractions are scaled so that it is the next whole
 * number, a change of half a row in all.  Whole factors stay whole.
 *
 * With a cell for each record the line would allow few sets of records: neighbours would never come
 * together.  So records with equal factors share a cell, and which of them have the odd rows is
 * random.  To leave no large cells out, factors w with the same floor(64 w) share a cell of their
 * least factor b, for each of them; for what is left, w - b < 1 / 64, there is a cell for each
 * record that has such a rest.
 */
#include "core/error.h"
#include "core/random.h"
#include "views/record_table.h"
#include "views/sampling.h"
#include "views/view_base.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

__extension__ typedef unsigned __int128 uint128;

typedef struct repeat_factor_dataset_attrs {
    pfd_list_string fields;
    int64_t factors, seed;
} repeat_factor_dataset_attrs;

typedef struct factor_cells {
    int64_t num_rows;  /* rows of every epoch */
    int64_t num_cells; /* groups of records with about the same factor, then single records */
    uint64_t *begins; /* begins of the cells, in 2^-32 of a row, and their end */
    uint32_t *guide;  /* the cell in which each 2^guide_bits begin */
    int guide_bits;
    int64_t *members;  /* where each group's records begin, then those of the single records */
    uint32_t *records; /* records of the cells */
} factor_cells;

typedef struct repeat_factor {
    pfd_view base;
    pfd_view_args args;
    int64_t seed;
    factor_cells cells;
} repeat_factor;

static void close_view(pfd_view *view)
{
    factor_cells *cells = &((repeat_factor *)view)->cells;
    free(cells->begins);
    free(cells->guide);
    free(cells->members);
    free(cells->records);
    free(view);
}

/* ---- Making cells ---------------------------------------------------------------------------- */

enum { fraction_bits = 32, group_bits = 6 };
#define FRACTION UINT64_C(0xffffffff)
#define MOST_ROWS (INT64_C(1) << 31)

/* The cells before the next one to be added. */
typedef struct line {
    factor_cells *cells;
    uint64_t whole, fractions; /* sums, in rows, and in 2^-32 of a row before they are scaled */
    uint64_t all_fractions;
} line;

static uint64_t round_fractions(uint64_t fractions)
{
    return (fractions >> fraction_bits) + (fractions >> (fraction_bits - 1) & 1);
}

static uint64_t end_of(const line *at)
{
    uint64_t scaled = 0;
    if (at->all_fractions > 0)
        scaled = (uint64_t)(((uint128)at->fractions * round_fractions(at->all_fractions)
                             << fraction_bits) / at->all_fractions);
    return (at->whole << fraction_bits) + scaled;
}

static void add_cell(line *at, int64_t members, int64_t count, uint64_t factor)
{
    factor_cells *cells = at->cells;
    cells->begins[cells->num_cells] = end_of(at);
    cells->members[cells->num_cells++] = members;
    at->whole += (uint64_t)count * (factor >> fraction_bits);
    at->fractions += (uint64_t)count * (factor & FRACTION);
}

static int64_t end_of_group(const uint64_t *factors, const uint32_t *records, int64_t n, int64_t i)
{
    return pfd_run_end(factors, records, n, i, fraction_bits - group_bits);
}

static int64_t count_rests(const uint64_t *factors, const uint32_t *records, int64_t begin,
                           int64_t end)
{
    int64_t rests = 0;
    for (int64_t i = begin; i < end; i++) rests += factors[records[i]] > factors[records[begin]];
    return rests;
}

/* Adds the cells of n records that are sorted by factor, then those of the records with a rest. */
static void add_cells(line *at, const uint64_t *factors, int64_t n)
{
    factor_cells *cells = at->cells;
    uint32_t *records = cells->records;
    for (int64_t i = 0, end; i < n; i = end) {
        end = end_of_group(factors, records, n, i);
        add_cell(at, i, end - i, factors[records[i]]);
    }
    int64_t added = n;
    for (int64_t begin = 0, end; begin < n; begin = end) {
        end = end_of_group(factors, records, n, begin);
        for (int64_t i = begin; i < end; i++) {
            uint64_t rest = factors[records[i]] - factors[records[begin]];
            if (rest == 0) continue;
            records[added] = records[i];
            add_cell(at, added++, 1, rest);
        }
    }
    cells->begins[cells->num_cells] = end_of(at);
    cells->members[cells->num_cells] = added;
}

/* Room for the cells of n records that are sorted by factor. */
static pfd_status reserve_cells(factor_cells *cells, const uint64_t *factors, int64_t n,
                                pfd_error *err)
{
    int64_t groups = 0, rests = 0;
    for (int64_t i = 0, end; i < n; i = end) {
        end = end_of_group(factors, cells->records, n, i);
        rests += count_rests(factors, cells->records, i, end);
        groups++;
    }
    size_t count = (size_t)(groups + rests + 1), num_records = (size_t)(n + rests);
    uint32_t *records = realloc(cells->records, num_records * sizeof *records);
    if (records) cells->records = records;
    cells->begins = malloc(count * sizeof *cells->begins);
    cells->members = malloc(count * sizeof *cells->members);
    if (records && cells->begins && cells->members) return PFD_OK;
    return pfd_fail_memory(err, (int64_t)(count * 16 + num_records * 4), "the rows of factors");
}

/* About as many pieces of the line as there are cells. */
static pfd_status make_guide(factor_cells *cells, pfd_error *err)
{
    uint64_t end = cells->begins[cells->num_cells];
    while (end >> cells->guide_bits > (uint64_t)cells->num_cells) cells->guide_bits++;
    int64_t pieces = (int64_t)(end >> cells->guide_bits) + 2, cell = 0;
    cells->guide = malloc((size_t)pieces * sizeof *cells->guide);
    if (!cells->guide) return pfd_fail_memory(err, pieces * 4, "the rows of factors");
    for (int64_t piece = 0; piece < pieces; piece++) {
        uint64_t at = (uint64_t)piece << cells->guide_bits;
        while (cell + 1 < cells->num_cells && cells->begins[cell + 1] <= at) cell++;
        cells->guide[piece] = (uint32_t)cell;
    }
    return PFD_OK;
}

static pfd_status measure(const double *factors, int64_t n, uint64_t *out, line *at,
                          pfd_error *err)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += factors[i];
    if (n >= MOST_ROWS || !(sum < (double)MOST_ROWS))
        return pfd_fail_attr(err, "factors", NULL, PFD_UNSUPPORTED,
                             " of %" PRId64 " records make %.0f; fewer than %" PRId64
                             " are possible",
                             n, sum, MOST_ROWS);
    for (int64_t i = 0; i < n; i++) {
        out[i] = (uint64_t)floor(factors[i] * 0x1p32 + 0.5);
        at->all_fractions += out[i] & FRACTION;
    }
    return PFD_OK;
}

/* From n factors, finite and not negative.  PFD_UNSUPPORTED: 2^31 records or rows, or more. */
static pfd_status make_cells(factor_cells *cells, const double *factors, int64_t n, pfd_error *err)
{
    line at = {.cells = cells};
    uint64_t *numbers = calloc((size_t)n + 1, sizeof *numbers);
    pfd_status status = numbers ? measure(factors, n, numbers, &at, err) : PFD_OK;
    if (numbers && status == PFD_OK) cells->records = pfd_sort_records(numbers, n);
    if (status == PFD_OK)
        status = cells->records ? reserve_cells(cells, numbers, n, err)
                                : pfd_fail_memory(err, (n + 1) * 16, "the rows of factors");
    if (status == PFD_OK) add_cells(&at, numbers, n);
    free(numbers);
    PFD_TRY(status);
    cells->num_rows = (int64_t)(cells->begins[cells->num_cells] >> fraction_bits);
    return make_guide(cells, err);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* A row of an epoch: the `draw`-th one of its cell, which has so many. */
typedef struct factor_row {
    int64_t cell, draw, num_draws;
} factor_row;

/* Where the search for a row begins. */
static inline const uint32_t *guide_of(const factor_cells *cells, uint32_t offset, int64_t row)
{
    return cells->guide + ((((uint64_t)row << 32) + offset) >> cells->guide_bits);
}

/* Row 0 <= row < num_rows of an epoch with a random `offset`. */
static factor_row find_row(const factor_cells *cells, uint32_t offset, int64_t row)
{
    const uint64_t at = ((uint64_t)row << fraction_bits) + offset;
    const uint32_t *guide = guide_of(cells, offset, row);
    int64_t cell = guide[0], last = guide[1]; /* the one that `at` is in is one of these */
    while (cell < last) {
        int64_t middle = cell + (last - cell + 1) / 2;
        if (cells->begins[middle] <= at) cell = middle;
        else last = middle - 1;
    }
    /* a cell's first row is the first with row + offset >= its beginning */
    uint64_t first = (cells->begins[cell] + (FRACTION - offset)) >> fraction_bits;
    uint64_t end = (cells->begins[cell + 1] + (FRACTION - offset)) >> fraction_bits;
    return (factor_row){cell, row - (int64_t)first, (int64_t)(end - first)};
}

/* The place in cells.records of a row.  The records of a cell take turns.  Only which of them have
 * the last turn, if that is not for all, is random. */
static int64_t find_place(const factor_cells *cells, factor_row row, uint64_t key)
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
    const factor_cells *cells = &self->cells;
    const uint64_t key = pfd_view_key(&self->args, self->seed, epoch);
    const uint64_t cells_key = pfd_random_bits(key, 1);
    const uint32_t offset = (uint32_t)pfd_random_bits(key, 2);
    pfd_permutation rows;
    pfd_permutation_init(&rows, pfd_random_bits(key, 0), cells->num_rows);
    pfd_permute(&rows, positions, n, positions);
    for (int64_t i = 0; i < n; i++)
        __builtin_prefetch(guide_of(cells, offset, positions[i]));
    for (int64_t i = 0; i < n; i++) {
        uint32_t cell = *guide_of(cells, offset, positions[i]);
        __builtin_prefetch(&cells->begins[cell]);
        __builtin_prefetch(&cells->members[cell]);
    }
    for (int64_t i = 0; i < n; i++) {
        factor_row row = find_row(cells, offset, positions[i]);
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
    .name = "RepeatFactorDataset", .close = close_view, .map = map};

static pfd_status open_view(const pfd_view_args *args, pfd_view **out, pfd_error *err)
{
    const repeat_factor_dataset_attrs *attrs = args->attrs;
    const double *factors;
    PFD_TRY(pfd_record_weights(args, "factors", attrs->factors, &factors, err));
    repeat_factor *self;
    PFD_TRY(pfd_view_create(sizeof *self, &methods, &self, err));
    pfd_status status = make_cells(&self->cells, factors, args->inner[0]->size, err);
    self->args = *args;
    self->seed = attrs->seed;
    self->base.size = self->cells.num_rows;
    return pfd_view_opened(status, self, out);
}

/* ---- Descriptor ------------------------------------------------------------------------------ */

static const pfd_attr attr_table[] = {
    PFD_FIELDS_ATTR(repeat_factor_dataset_attrs),
    PFD_ATTR_ROW(repeat_factor_dataset_attrs, factors, PFD_ATTR_OBJECT, NULL, 0, 0, NULL,
                 "A float64 for each record: how often an epoch has it on average, such as 2.5."),
    PFD_SEED_ATTR(repeat_factor_dataset_attrs),
};

static const pfd_op repeat_factor_dataset = {
    PFD_VIEW_OP(repeat_factor_dataset_attrs, attr_table, pfd_view_infer),
    .name = "RepeatFactorDataset",
    .doc = "Repeats each record of a data set as often as its factor says, in a random order. If a "
           "factor is not a whole number, each epoch uses the whole number below or above it, and "
           "the average is the factor. The number of records in an epoch is the sum of the "
           "factors, rounded. A factor belongs to a position of epoch 0 of the data set, and each "
           "epoch has these records.",
};

const pfd_view_op pfd_view_repeat_factor_dataset = {
    &repeat_factor_dataset, PFD_VIEW_ORDER, open_view, "repeat_by"};
