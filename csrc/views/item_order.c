/* Orders of few items are shuffled in a list (R. Fisher, F. Yates): a keyed permutation of so few walks
 * through most of its domain of 256 for each item. */
#include "views/item_order.h"

#include "core/random.h"

/* 32 bits of each draw decide: chances differ by less than n / 2^32 of themselves. */
static void shuffle(uint8_t *items, uint64_t key, uint32_t n)
{
    uint64_t bits = 0;
    for (uint32_t i = 0; i < n; i++) items[i] = (uint8_t)i;
    for (uint32_t i = 0; i + 1 < n; i++) {
        bits = i % 2 ? bits >> 32 : pfd_random_bits(key, i);
        uint32_t other = i + (uint32_t)((bits & UINT32_MAX) * (n - i) >> 32);
        uint8_t item = items[other];
        items[other] = items[i];
        items[i] = item;
    }
}

void pfd_item_order_init(pfd_item_order *order, uint64_t key, int64_t n)
{
    order->n = n;
    if (n <= pfd_small_order) shuffle(order->items, key, (uint32_t)n);
    else pfd_permutation_init(&order->permutation, key, n);
}
