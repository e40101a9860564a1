/* views/alias_table.h -- draws from records with weights, in constant time (A. J. Walker: An
 * efficient method for generating discrete random variables with general distributions, 1977).
 *
 * THREADS  Everything here may be called from any thread.
 */
#ifndef PFD_VIEWS_ALIAS_TABLE_H
#define PFD_VIEWS_ALIAS_TABLE_H
#include <stdint.h>

/* One of n columns that are drawn equally often. */
typedef struct pfd_alias_column {
    uint32_t share; /* of its draws, in 2^-32: record i's, where it is column i; the others: */
    uint32_t alias;
} pfd_alias_column;

/* Makes n columns of n weights, 0 < n < 2^32, finite and not negative, at least one above 0.  A
 * record's share of all draws differs from that of its weight by less than 2^-32 / n for each of
 * the columns that it is in. */
void pfd_alias_table_make(const double *weights, int64_t n, pfd_alias_column *columns);

/* What 64 random bits draw: a column, and which of its two records. */
typedef struct pfd_alias_draw {
    int64_t column;
    uint32_t within;
} pfd_alias_draw;

static inline pfd_alias_draw pfd_alias_draw_column(int64_t n, uint64_t bits)
{
    __extension__ typedef unsigned __int128 uint128;
    uint128 product = (uint128)bits * (uint64_t)n; /* its lower half is uniform in the column */
    return (pfd_alias_draw){.column = (int64_t)(uint64_t)(product >> 64),
                            .within = (uint32_t)((uint64_t)product >> 32)};
}

/* Without a branch: it would be guessed wrong half of the time. */
static inline int64_t pfd_alias_draw_record(const pfd_alias_column *columns, pfd_alias_draw draw)
{
    const pfd_alias_column *column = &columns[draw.column];
    int64_t is_own = -(int64_t)(draw.within < column->share);
    return (draw.column & is_own) | ((int64_t)column->alias & ~is_own);
}
#endif
