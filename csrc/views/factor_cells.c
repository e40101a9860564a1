/* Systematic sampling of rows by factors.
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
#include "views/factor_cells.h"

#include "core/error.h"
#include "core/radix_sort.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

__extension__ typedef unsigned __int128 uint128;

enum { fraction_bits = 32, group_bits = 6 };
#define FRACTION UINT64_C(0xffffffff)
#define MOST_ROWS (INT64_C(1) << 31)

void pfd_factor_cells_free(pfd_factor_cells *cells)
{
    free(cells->begins);
    free(cells->guide);
    free(cells->members);
    free(cells->records);
    *cells = (pfd_factor_cells){0};
}

/* ---- Making cells ---------------------------------------------------------------------------- */

/* The cells before the next one to be added. */
typedef struct line {
    pfd_factor_cells *cells;
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
    pfd_factor_cells *cells = at->cells;
    cells->begins[cells->num_cells] = end_of(at);
    cells->members[cells->num_cells++] = members;
    at->whole += (uint64_t)count * (factor >> fraction_bits);
    at->fractions += (uint64_t)count * (factor & FRACTION);
}

/* The end of the group that begins at i of records[], which are sorted by factor. */
static int64_t end_of_group(const uint64_t *factors, const uint32_t *records, int64_t n, int64_t i)
{
    const int shift = fraction_bits - group_bits;
    uint64_t number = factors[records[i]] >> shift;
    do i++;
    while (i < n && factors[records[i]] >> shift == number);
    return i;
}

static int64_t count_rests(const uint64_t *factors, const uint32_t *records, int64_t begin,
                           int64_t end)
{
    int64_t rests = 0;
    for (int64_t i = begin; i < end; i++) rests += factors[records[i]] > factors[records[begin]];
    return rests;
}

/* Of n records that are sorted by factor; those with a rest are listed again after them. */
static void add_cells(line *at, const uint64_t *factors, int64_t n)
{
    pfd_factor_cells *cells = at->cells;
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
static pfd_status reserve_cells(pfd_factor_cells *cells, const uint64_t *factors, int64_t n,
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
static pfd_status make_guide(pfd_factor_cells *cells, pfd_error *err)
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

static pfd_status make_cells(pfd_factor_cells *cells, const double *factors, int64_t n,
                             uint64_t *numbers, uint32_t *work, pfd_error *err)
{
    line at = {.cells = cells};
    PFD_TRY(measure(factors, n, numbers, &at, err));
    pfd_radix_sort(numbers, n, cells->records, work);
    PFD_TRY(reserve_cells(cells, numbers, n, err));
    add_cells(&at, numbers, n);
    cells->num_rows = (int64_t)(cells->begins[cells->num_cells] >> fraction_bits);
    return make_guide(cells, err);
}

pfd_status pfd_factor_cells_make(const double *factors, int64_t n, pfd_factor_cells *out,
                                 pfd_error *err)
{
    size_t count = (size_t)n + 1;
    uint64_t *numbers = calloc(count, sizeof *numbers);
    uint32_t *work = malloc(count * sizeof *work);
    *out = (pfd_factor_cells){.records = malloc(count * sizeof *out->records)};
    pfd_status status = numbers && work && out->records
                            ? make_cells(out, factors, n, numbers, work, err)
                            : pfd_fail_memory(err, (int64_t)count * 16, "the rows of factors");
    free(numbers);
    free(work);
    if (status != PFD_OK) pfd_factor_cells_free(out);
    return status;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

pfd_factor_row pfd_factor_cells_find(const pfd_factor_cells *cells, uint32_t offset, int64_t row)
{
    const uint64_t at = ((uint64_t)row << fraction_bits) + offset;
    const uint32_t *guide = pfd_factor_cells_guide(cells, offset, row);
    int64_t cell = guide[0], last = guide[1]; /* the one that `at` is in is one of these */
    while (cell < last) {
        int64_t middle = cell + (last - cell + 1) / 2;
        if (cells->begins[middle] <= at) cell = middle;
        else last = middle - 1;
    }
    /* a cell's first row is the first with row + offset >= its beginning */
    uint64_t first = (cells->begins[cell] + (FRACTION - offset)) >> fraction_bits;
    uint64_t end = (cells->begins[cell + 1] + (FRACTION - offset)) >> fraction_bits;
    return (pfd_factor_row){cell, row - (int64_t)first, (int64_t)(end - first)};
}
