/* views/dealing.h -- an endless sequence of draws from n items, in rounds and in groups.
 *
 * A round is n draws, and has every item once, in an order of its own.  Each `group` draws are n
 * items at most, and differ from one another, also where a group lies in two rounds.  Which item a
 * draw is, is a function of key, n, group and the number of the draw.
 *
 * THREADS  Everything here may be called from any thread; a round belongs to one at a time.
 */
#ifndef PFD_VIEWS_DEALING_H
#define PFD_VIEWS_DEALING_H
#include "views/item_order.h"

/* One round. */
typedef struct pfd_deal {
    int64_t n;
    int64_t head, tail;  /* draws at its ends that belong to groups of two rounds */
    int64_t split;       /* where the items of the head begin, then those of the tail */
    int32_t is_split;    /* whether there is a head or tail in any round, and so an `order` */
    pfd_item_order body; /* of the draws between */
    pfd_item_order order;
} pfd_deal;

/* 1 <= group <= n; round >= 0. */
void pfd_deal_init(pfd_deal *deal, uint64_t key, int64_t n, int64_t group, int64_t round);

/* The items of draws [first, first + count) within [0, n) of the round. */
void pfd_deal_items(pfd_deal *deal, int64_t first, int64_t count, int64_t *out);
#endif
