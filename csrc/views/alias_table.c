/* Alias tables in integers: the same on every machine, whatever the order of the sums.
 *
 * A weight becomes a whole number below 2^62; the largest has 62 bits.  A column has room for the
 * mass `full`, the sum of the whole numbers, and record i has n times its number: so all records
 * fill all columns.  One sweep (L. Huebschle-Schneider, P. Sanders: Parallel weighted random
 * sampling, 2019) goes over light records, which do not fill a column, and heavy ones, which
 * overfill it.  A light one's column is filled up by the current heavy one.  When that one fits
 * into its own column itself, the next heavy one fills it up.  As the sums are exact, a light
 * record is left whenever the current heavy one does not fit.
 */
#include "views/alias_table.h"

#include <math.h>

__extension__ typedef unsigned __int128 uint128;

typedef struct masses {
    const double *weights;
    int64_t n;
    int shift;
    uint128 full;
} masses;

static inline uint64_t whole(const masses *of, int64_t i)
{
    return (uint64_t)ldexp(of->weights[i], of->shift);
}

static inline uint128 mass(const masses *of, int64_t i)
{
    return (uint128)whole(of, i) * (uint64_t)of->n;
}

static masses measure(const double *weights, int64_t n)
{
    double most = 0;
    for (int64_t i = 0; i < n; i++) most = weights[i] > most ? weights[i] : most;
    int exponent;
    (void)frexp(most, &exponent);
    masses found = {.weights = weights, .n = n, .shift = 62 - exponent};
    for (int64_t i = 0; i < n; i++) found.full += whole(&found, i);
    return found;
}

/* The first record from i on that is heavy, or is light; n: there is none. */
static int64_t next(const masses *of, int64_t i, int heavy)
{
    while (i < of->n && (mass(of, i) > of->full) != heavy) i++;
    return i;
}

/* Column i with so much of its own record. */
static void fill(pfd_alias_column *columns, int64_t i, const masses *of, uint128 own,
                 int64_t alias)
{
    uint128 share = (own << 32) / of->full;
    int is_full = share > UINT32_MAX;
    columns[i].share = is_full ? UINT32_MAX : (uint32_t)share;
    columns[i].alias = (uint32_t)(is_full ? i : alias);
}

void pfd_alias_table_make(const double *weights, int64_t n, pfd_alias_column *columns)
{
    const masses of = measure(weights, n);
    int64_t light = next(&of, 0, 0), heavy = next(&of, 0, 1);
    uint128 left = heavy < n ? mass(&of, heavy) : 0;
    while (heavy < n) {
        if (left > of.full) {
            uint128 own = mass(&of, light);
            fill(columns, light, &of, own, heavy);
            left -= of.full - own;
            light = next(&of, light + 1, 0);
        } else {
            int64_t other = next(&of, heavy + 1, 1);
            fill(columns, heavy, &of, left, other);
            if (other < n) left = mass(&of, other) - (of.full - left);
            heavy = other;
        }
    }
    for (; light < n; light = next(&of, light + 1, 0))
        fill(columns, light, &of, of.full, light);
}
