/* Rounds in which groups never have an item twice.
 *
 * Where the size of the groups divides n, a round is a permutation by a key of its own.  Else
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
 * round r, the key of the j-th cycle number ~j.
 */
#include "views/dealing.h"

#include "core/random.h"

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
    int64_t rounds = group / greatest_divisor(n, group); /* with one order */
    int64_t number = round % rounds;
    int64_t dealt = number * (n % group) % group; /* of the group that the round begins in */
    deal->n = n;
    deal->is_split = rounds > 1;
    deal->head = dealt > 0 ? group - dealt : 0;
    deal->tail = (n - deal->head) % group;
    deal->split = number > 0 ? ((number - 1) * group + dealt) % n : 0;
    uint64_t own = pfd_random_bits(key, (uint64_t)round);
    pfd_item_order_init(&deal->body, own, n - deal->head - deal->tail);
    if (deal->is_split) {
        uint64_t shared = pfd_random_bits(key, ~(uint64_t)(round / rounds));
        pfd_item_order_init(&deal->order, shared, n);
    }
}

/* How many of the draws [begin, end) are before `draw`. */
static int64_t count_before(int64_t draw, int64_t begin, int64_t end)
{
    int64_t stop = draw < end ? draw : end;
    return stop > begin ? stop - begin : 0;
}

void pfd_deal_items(pfd_deal *deal, int64_t first, int64_t count, int64_t *out)
{
    int64_t ends = deal->head + deal->tail, end = first + count;
    int64_t in_head = count_before(deal->head, first, end);
    int64_t in_body = count_before(deal->n - deal->tail, first + in_head, end);
    for (int64_t i = 0; i < count; i++) out[i] = first + i - deal->head;
    pfd_item_order_map(&deal->body, in_body, out + in_head);
    if (!deal->is_split) return;
    /* along the cycle: those of the head, those of the tail, and those of the body */
    for (int64_t i = 0; i < count; i++) {
        int64_t is_body = i >= in_head && i < in_head + in_body;
        out[i] += is_body ? ends : i < in_head ? deal->head : deal->head - (deal->n - ends);
        out[i] = (deal->split + out[i]) % deal->n;
    }
    pfd_item_order_map(&deal->order, count, out);
}
