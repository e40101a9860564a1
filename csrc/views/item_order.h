/* views/item_order.h -- a random order of n items, of which only some are asked for.
 *
 * THREADS  Everything here may be called from any thread; an order belongs to one at a time.
 */
#ifndef PFD_VIEWS_ITEM_ORDER_H
#define PFD_VIEWS_ITEM_ORDER_H
#include "core/random.h"

enum { pfd_few_items = 64 };

typedef struct pfd_item_order {
    int64_t n;
    union {
        pfd_permutation permutation;
        struct {
            uint64_t key;
            uint32_t num_final; /* of items[], which are listed where there are few */
            uint8_t items[pfd_few_items];
        } list;
    };
} pfd_item_order;

/* n >= 0 */
void pfd_item_order_init(pfd_item_order *order, uint64_t key, int64_t n);

/* The items at the places out[0, count), in place. */
void pfd_item_order_map(pfd_item_order *order, int64_t count, int64_t *out);
#endif
