/* Orders of few items are shuffled in a list (R. Fisher, F. Yates), as far as they are asked for: a
 * keyed permutation of so few would walk through most of its domain of 256 for each item. */
#include "views/item_order.h"

#include "core/random.h"

void pfd_item_order_init(pfd_item_order *order, uint64_t key, int64_t n)
{
    order->n = n;
    if (n > pfd_few_items) {
        pfd_permutation_init(&order->permutation, key, n);
        return;
    }
    order->list.key = key;
    order->list.num_final = 0;
    for (int64_t i = 0; i < n; i++) order->list.items[i] = (uint8_t)i;
}

/* Item i becomes one of those from i on.  32 bits decide which one: chances differ by less than
 * n / 2^32 of themselves. */
static inline void choose(uint8_t *items, uint32_t i, uint32_t n, uint64_t bits)
{
    uint32_t other = i + (uint32_t)((bits & UINT32_MAX) * (n - i) >> 32);
    uint8_t item = items[other];
    items[other] = items[i];
    items[i] = item;
}

/* Makes items [0, count) final; two at a time. */
static void shuffle(pfd_item_order *order, int64_t count)
{
    uint32_t i = order->list.num_final, n = (uint32_t)order->n;
    for (; i < count; i += 2) {
        uint64_t bits = pfd_random_bits(order->list.key, i);
        choose(order->list.items, i, n, bits);
        if (i + 1 < n) choose(order->list.items, i + 1, n, bits >> 32);
    }
    order->list.num_final = i;
}

void pfd_item_order_map(pfd_item_order *order, int64_t count, int64_t *out)
{
    if (order->n > pfd_few_items) {
        pfd_permute(&order->permutation, out, count, out);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        if (out[i] >= order->list.num_final) shuffle(order, out[i] + 1);
        out[i] = order->list.items[out[i]];
    }
}
