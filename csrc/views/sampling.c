/* Draws from n items. */
#include "views/sampling.h"

#include "core/random.h"

#include <math.h>

/* ---- Orders -------------------------------------------------------------------------------------
 *
 * Orders of few items are shuffled in a list (R. Fisher, F. Yates), as far as they are asked for: a
 * keyed permutation of so few would walk through most of its domain of 256 for each item. */

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

/* ---- Rounds in which groups never have an item twice --------------------------------------------
 *
 * Where the size of the groups divides n, a round is a permutation by its own key.  Else
 * groups lie across the ends of rounds: a group that begins in the tail of one ends in the head of
 * the next.  After some rounds an end of a round is the end of a group again.  These rounds, q of
 * them, share an order of the items, a cycle, and the groups across their ends are runs of it:
 *
 *     order:    group across rounds 0|1    group across rounds 1|2    ...
 *               tail of 0  | head of 1     tail of 1  | head of 2
 *
 * So in each round head and tail together are one run of the cycle, without an item twice as they
 * are at most n.  All other items are the rest of the cycle, which is one run as well, and follow
 * between head and tail in an order of the round's own.  The key of that is number r of the key in
 * round r, the key of the j-th cycle number ~j. */

static int64_t greatest_divisor(int64_t a, int64_t b)
{
    while (b > 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

void pfd_deal_init(pfd_deal *deal, uint64_t key, int64_t n, int64_t group, int64_t round)
{
    deal->n = n;
    deal->is_split = group > 1 && n % group > 0;
    deal->head = deal->tail = deal->split = 0;
    uint64_t own = pfd_random_bits(key, (uint64_t)round);
    if (!deal->is_split) {
        pfd_item_order_init(&deal->body, own, n);
        return;
    }
    int64_t rounds = group / greatest_divisor(n, group); /* with one order */
    int64_t number = round % rounds;
    int64_t dealt = number * (n % group) % group; /* of the group that the round begins in */
    deal->head = dealt > 0 ? group - dealt : 0;
    deal->tail = (n - deal->head) % group;
    deal->split = number > 0 ? ((number - 1) * group + dealt) % n : 0;
    pfd_item_order_init(&deal->body, own, n - deal->head - deal->tail);
    uint64_t shared = pfd_random_bits(key, ~(uint64_t)(round / rounds));
    pfd_item_order_init(&deal->order, shared, n);
}

/* How many of the draws [begin, end) are before `draw`. */
static int64_t count_before(int64_t draw, int64_t begin, int64_t end)
{
    int64_t stop = draw < end ? draw : end;
    return stop > begin ? stop - begin : 0;
}

void pfd_deal_items(pfd_deal *deal, int64_t first, int64_t count, int64_t *out)
{
    if (!deal->is_split) {
        for (int64_t i = 0; i < count; i++) out[i] = first + i;
        pfd_item_order_map(&deal->body, count, out);
        return;
    }
    int64_t ends = deal->head + deal->tail, end = first + count;
    int64_t in_head = count_before(deal->head, first, end);
    int64_t in_body = count_before(deal->n - deal->tail, first + in_head, end);
    for (int64_t i = 0; i < count; i++) out[i] = first + i - deal->head;
    pfd_item_order_map(&deal->body, in_body, out + in_head);
    /* along the cycle: those of the head, those of the tail, and those of the body */
    for (int64_t i = 0; i < count; i++) {
        int64_t is_body = i >= in_head && i < in_head + in_body;
        out[i] += is_body ? ends : i < in_head ? deal->head : deal->head - (deal->n - ends);
        out[i] = (deal->split + out[i]) % deal->n;
    }
    pfd_item_order_map(&deal->order, count, out);
}

/* ---- Alias tables in integers: the same on every machine, whatever the order of the sums --------
 *
 * A weight becomes a whole number below 2^62; the largest has 62 bits.  A column has room for the
 * mass `full`, the sum of the whole numbers, and record i has n times its number: so all records
 * fill all columns.  One sweep (L. Huebschle-Schneider, P. Sanders: Parallel weighted random
 * sampling, 2019) goes over light records, which do not fill a column, and heavy ones, which
 * overfill it.  A light one's column is filled up by the current heavy one.  When that one fits
 * into its own column itself, the next heavy one fills it up.  As the sums are exact, a light
 * record is left whenever the current heavy one does not fit. */

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
