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

/* The record that 64 random bits draw. */
int64_t pfd_alias_table_draw(const pfd_alias_column *columns, int64_t n, uint64_t bits);
#endif
