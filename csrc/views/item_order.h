/* views/item_order.h -- a random order of n items that is asked for one item at a time.
 *
 * THREADS  Everything here may be called from any thread.
 */
#ifndef PFD_VIEWS_ITEM_ORDER_H
#define PFD_VIEWS_ITEM_ORDER_H
#include "core/permutation.h"

enum { pfd_small_order = 64 };

typedef struct pfd_item_order {
    int64_t n;
    union {
        uint8_t items[pfd_small_order]; /* up to so many are listed */
        pfd_permutation permutation;
    };
} pfd_item_order;

/* n >= 0 */
void pfd_item_order_init(pfd_item_order *order, uint64_t key, int64_t n);

/* The item at a place, 0 <= place < n. */
static inline int64_t pfd_item_order_at(const pfd_item_order *order, int64_t place)
{
    if (order->n <= pfd_small_order) return order->items[place];
    pfd_permute(&order->permutation, &place, 1, &place);
    return place;
}
#endif
