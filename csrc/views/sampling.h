/* views/sampling.h -- draws from n items: in a random order, in rounds, and by weights.
 *
 * Every draw is a function of keys and numbers.
 *
 * THREADS  Any thread may call every function; an order or a round belongs to one thread at a time.
 */
#ifndef PFD_VIEWS_SAMPLING_H
#define PFD_VIEWS_SAMPLING_H
#include "core/random.h"

/* ---- A random order of n items, of which only some are asked for ----------------------------- */

enum { pfd_few_items = 64 };

typedef struct pfd_item_order {
    int64_t n;
    union {
        pfd_permutation permutation;
        struct {
            uint64_t key;
            uint32_t num_final; /* number of items[], which are listed where there are few */
            uint8_t items[pfd_few_items];
        } list;
    };
} pfd_item_order;

void pfd_item_order_init(pfd_item_order *order, uint64_t key, int64_t n); /* n >= 0 */

/* The items at the places out[0, count), in place. */
void pfd_item_order_map(pfd_item_order *order, int64_t count, int64_t *out);

/* ---- Rounds: an endless sequence of draws, in groups --------------------------------------------
 *
 * A round is n draws, and has every item once, in its own order.  Each `group` draws are n
 * items at most, and differ from one another, also where a group lies in two rounds.  Which item a
 * draw is, is a function of key, n, group and the number of the draw. */

/* One round. */
typedef struct pfd_deal {
    int64_t n;
    int64_t head, tail;  /* draws at its ends that belong to groups of two rounds */
    int64_t split;       /* where the items of the head begin, then those of the tail */
    int32_t is_split;    /* whether there is a head or tail in any round, and so an `order` */
    pfd_item_order body; /* order of the draws between */
    pfd_item_order order;
} pfd_deal;

/* 1 <= group <= n; round >= 0. */
void pfd_deal_init(pfd_deal *deal, uint64_t key, int64_t n, int64_t group, int64_t round);

/* The items of draws [first, first + count) within [0, n) of the round. */
void pfd_deal_items(pfd_deal *deal, int64_t first, int64_t count, int64_t *out);

/* ---- Weights: draws in constant time ------------------------------------------------------------
 *
 * A. J. Walker: An efficient method for generating discrete random variables with general
 * distributions, 1977. */

/* Column i of n columns that are drawn equally often. */
typedef struct pfd_alias_column {
    uint32_t share; /* part of its draws that are record i, in 2^-32 */
    uint32_t alias; /* the record of its other draws */
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
