/* Every epoch in a random order that stays within windows of blocks. */
#include "dataset/window_shuffle.h"

#include "core/error.h"
#include "core/random.h"
#include "dataset/decorator.h"

#include <stdlib.h>
#include <string.h>

/* ---- The order, a pure function ----------------------------------------------------------------
 *
 * All blocks but the last have block_size records and are permuted among each other; the slot of
 * the last one, which may be short, is drawn.  Together that is a random permutation of the blocks,
 * and the slot of the short block, which shifts all others, is known without a search: a slot after
 * it begins `gap` = block_size - last_size earlier than it would. */

/* i / block_size for i < 2^31, exactly (Granlund and Montgomery: Division by invariant integers
 * using multiplication, 1994): the reciprocal has 32 bits. */
static inline int64_t slot_of(const pfd_window_order *order, int64_t i)
{
    return (int64_t)((uint64_t)i * order->reciprocal >> order->shift);
}

static void make_reciprocal(pfd_window_order *order)
{
    uint32_t bits = 0;
    while (INT64_C(1) << bits < order->block_size) bits++;
    order->shift = 31 + bits;
    uint64_t divisor = (uint64_t)order->block_size, power = UINT64_C(1) << order->shift;
    order->reciprocal = power / divisor + (power % divisor != 0);
}

void pfd_window_order_init(pfd_window_order *order, uint64_t key, int64_t n, int64_t block_size,
                           int64_t window)
{
    int64_t full = n > 0 ? (n - 1) / block_size : 0;
    *order = (pfd_window_order){
        .n = n,
        .block_size = block_size,
        .window = window,
        .num_slots = full + 1,
        .last_slot = pfd_random_below(key, 0, full + 1),
        .last_size = n - full * block_size,
        .windows_key = pfd_random_bits(key, 1),
    };
    make_reciprocal(order);
    pfd_permutation_init(&order->blocks, pfd_random_bits(key, 2), full);
}

/* One window: slots [slot, slot + num_slots), positions [begin, begin + size). */
typedef struct window {
    int64_t number, slot, num_slots, begin, size;
    int64_t short_end; /* records of it from here on are after the last block; never: none is */
    int64_t gap;
} window;

static window find_window(const pfd_window_order *order, int64_t position)
{
    int64_t block_size = order->block_size, gap = block_size - order->last_size;
    int64_t last_end = order->last_slot * block_size + order->last_size;
    int64_t even = position + (position >= last_end ? gap : 0); /* as if no block were short */
    window found = {.number = even / (order->window * block_size), .gap = gap};
    found.slot = found.number * order->window;
    int64_t slots_left = order->num_slots - found.slot;
    found.num_slots = slots_left < order->window ? slots_left : order->window;
    int64_t before = order->last_slot - found.slot; /* slots of this window before the last block */
    int32_t has_last = before >= 0 && before < found.num_slots;
    found.begin = found.slot * block_size - (before < 0 ? gap : 0);
    found.size = found.num_slots * block_size - (has_last ? gap : 0);
    found.short_end = has_last ? before * block_size + order->last_size : INT64_MAX;
    return found;
}

/* Slots become blocks, in place. */
static void permute_slots(const pfd_window_order *order, int64_t *slots, int64_t count)
{
    int64_t last_block = order->num_slots - 1, last_slot = order->last_slot;
    int64_t places[PFD_POSITIONS_PER_PIECE];
    for (int64_t done = 0; done < count;) {
        int64_t piece = count - done;
        if (piece > PFD_POSITIONS_PER_PIECE) piece = PFD_POSITIONS_PER_PIECE;
        for (int64_t i = 0; i < piece; i++) {
            int64_t slot = slots[done + i];
            places[i] = slot == last_slot ? 0 : slot - (slot > last_slot);
        }
        if (last_block > 0) pfd_permute(&order->blocks, places, piece, places);
        for (int64_t i = 0; i < piece; i++)
            slots[done + i] = slots[done + i] == last_slot ? last_block : places[i];
        done += piece;
    }
}

/* The window that a thread is in, so that what is the same for its records is done once: a call
 * has some hundred records of a window that has very many.  It only saves work: where a thread
 * alternates between orders, the blocks are found for each record instead. */
enum { most_known_blocks = 4096 };
typedef struct known_window {
    uint64_t windows_key;
    int64_t n, block_size, window_size; /* of the order; they and the key identify it */
    window at;
    pfd_permutation records;
    int64_t served; /* records so far */
    int32_t has_blocks;
    int64_t first_records[most_known_blocks]; /* of the blocks, in the order of the slots */
} known_window;

static int32_t is_in(const known_window *known, const pfd_window_order *order, int64_t position)
{
    return position >= known->at.begin && position - known->at.begin < known->at.size &&
           known->windows_key == order->windows_key && known->n == order->n &&
           known->block_size == order->block_size && known->window_size == order->window;
}

static void enter(known_window *known, const pfd_window_order *order, int64_t position)
{
    known->windows_key = order->windows_key;
    known->n = order->n;
    known->block_size = order->block_size;
    known->window_size = order->window;
    known->at = find_window(order, position);
    known->served = 0;
    known->has_blocks = 0;
    uint64_t key = pfd_random_bits(order->windows_key, (uint64_t)known->at.number);
    pfd_permutation_init(&known->records, key, known->at.size);
}

static void find_blocks(known_window *known, const pfd_window_order *order)
{
    int64_t count = known->at.num_slots;
    for (int64_t i = 0; i < count; i++) known->first_records[i] = known->at.slot + i;
    permute_slots(order, known->first_records, count);
    for (int64_t i = 0; i < count; i++) known->first_records[i] *= order->block_size;
    known->has_blocks = 1;
}

/* Places of the window, in the order of its slots, become ordinals, in place. */
static void place_to_ordinal(const known_window *known, const pfd_window_order *order,
                             int64_t *places, int64_t count)
{
    const int64_t short_end = known->at.short_end, gap = known->at.gap;
    const int64_t block_size = order->block_size;
    int64_t blocks[PFD_POSITIONS_PER_PIECE];
    for (int64_t i = 0; i < count; i++) {
        int64_t even = places[i] + (places[i] >= short_end ? gap : 0), slot = slot_of(order, even);
        if (known->has_blocks) {
            places[i] = known->first_records[slot] + even - slot * block_size;
        } else {
            places[i] = even - slot * block_size;
            blocks[i] = known->at.slot + slot;
        }
    }
    if (known->has_blocks) return;
    permute_slots(order, blocks, count);
    for (int64_t i = 0; i < count; i++) places[i] += blocks[i] * block_size;
}

/* Returns how many of in[0, count) are in the window, and writes their places in it. */
static int64_t find_places(const window *at, const int64_t *in, int64_t count, int64_t *places)
{
    int64_t run = 0;
    if (count > PFD_POSITIONS_PER_PIECE) count = PFD_POSITIONS_PER_PIECE;
    for (; run < count; run++) {
        uint64_t place = (uint64_t)in[run] - (uint64_t)at->begin;
        if (place >= (uint64_t)at->size) break;
        places[run] = (int64_t)place;
    }
    return run;
}

void pfd_window_order_map(const pfd_window_order *order, const int64_t *in, int64_t count,
                          int64_t *out)
{
    static _Thread_local known_window of_thread;
    known_window *known = &of_thread;
    __asm__("" : "+r"(known)); /* else its address is looked up for every record */
    for (int64_t done = 0; done < count;) {
        if (!is_in(known, order, in[done])) enter(known, order, in[done]);
        int64_t run = find_places(&known->at, in + done, count - done, out + done);
        known->served += run;
        if (!known->has_blocks && known->at.num_slots <= most_known_blocks &&
            known->served >= known->at.num_slots)
            find_blocks(known, order);
        pfd_permute(&known->records, out + done, run, out + done);
        place_to_ordinal(known, order, out + done, run);
        done += run;
    }
}

int64_t pfd_window_order_blocks(const pfd_window_order *order, int64_t position,
                                pfd_record_range *span, int64_t first, int64_t max,
                                pfd_record_range *blocks)
{
    *span = (pfd_record_range){order->n, order->n};
    if (position < 0 || position >= order->n) return 0;
    window at = find_window(order, position);
    *span = (pfd_record_range){at.begin, at.begin + at.size};
    int64_t count = 0;
    for (; count < max && first + count < at.num_slots; count++) {
        int64_t block = at.slot + first + count;
        permute_slots(order, &block, 1);
        int64_t begin = block * order->block_size, left = order->n - begin;
        blocks[count].begin = begin;
        blocks[count].end = begin + (left < order->block_size ? left : order->block_size);
    }
    return count;
}

/* ---- The dataset ----------------------------------------------------------------------------- */

typedef struct window_shuffle {
    pfd_dataset base;
    int64_t seed;
    char *order_key;
    int32_t reshuffle;
    int64_t block_size, window;
} window_shuffle;

static void window_shuffle_close(pfd_dataset *ds)
{
    window_shuffle *self = (window_shuffle *)ds;
    pfd_dataset_close(ds->inner);
    free(self->order_key);
    free(self);
}

static int64_t window_shuffle_size(const pfd_dataset *ds)
{
    return ds->inner->methods->size(ds->inner);
}

void pfd_window_shuffle_order(const pfd_dataset *ds, int64_t epoch, pfd_window_order *order)
{
    const window_shuffle *self = (const window_shuffle *)ds;
    uint64_t key = pfd_random_key(self->seed, self->reshuffle ? epoch : 0, self->order_key);
    pfd_window_order_init(order, key, ds->inner->methods->size(ds->inner), self->block_size,
                          self->window);
}

static void map_positions(const void *order, const int64_t *positions, int64_t count,
                          int64_t *ordinals)
{
    pfd_window_order_map(order, positions, count, ordinals);
}

static pfd_status window_shuffle_at(const pfd_dataset *ds, int64_t epoch, const int64_t *positions,
                                    int64_t n, pfd_scratch *scratch, pfd_record *out,
                                    pfd_error *err)
{
    pfd_window_order order;
    pfd_window_shuffle_order(ds, epoch, &order);
    return pfd_dataset_at_mapped(ds->inner, epoch, positions, n, map_positions, &order, scratch,
                                 out, err);
}

static const pfd_dataset_methods window_shuffle_methods = {
    .name = "WindowShuffle",
    .close = window_shuffle_close,
    .size = window_shuffle_size,
    .at = window_shuffle_at,
};

pfd_status pfd_window_shuffle_wrap(pfd_dataset **ds, int64_t seed, const char *order_key,
                                   int32_t reshuffle, int64_t block_size, int64_t window_blocks,
                                   pfd_error *err)
{
    window_shuffle *self = calloc(1, sizeof *self);
    char *key = strdup(order_key);
    if (!self || !key) {
        free(self);
        free(key);
        return pfd_fail_memory(err, (int64_t)sizeof *self, "WindowShuffle");
    }
    *self = (window_shuffle){.base = {.methods = &window_shuffle_methods, .inner = *ds},
                             .seed = seed,
                             .order_key = key,
                             .reshuffle = reshuffle,
                             .block_size = block_size,
                             .window = window_blocks};
    *ds = &self->base;
    return PFD_OK;
}
