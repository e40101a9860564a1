/* The shuffles: every epoch in a random order.
 *
 * All orders are pure functions of seed, order_key and epoch.  Over random access a shuffle maps
 * positions; over a stream a buffer draws.
 */
#include "dataset/shuffle.h"

#include "core/error.h"
#include "core/random.h"
#include "core/search.h"
#include "dataset/decorator.h"
#include "pyflowdata/pyflowdata.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* ---- What all shuffles share ----------------------------------------------------------------- */

typedef struct shuffle {
    pfd_dataset base;
    int64_t seed;
    char *order_key;
    int32_t reshuffle;
} shuffle;

static void shuffle_close(pfd_dataset *ds)
{
    pfd_dataset_close(ds->inner);
    free(((shuffle *)ds)->order_key);
    free(ds);
}

/* A zeroed struct of `bytes` that begins with a shuffle over `inner`; NULL: out of memory. */
static void *shuffle_create(size_t bytes, const pfd_dataset_methods *methods, pfd_dataset *inner,
                            int64_t seed, const char *order_key, int32_t reshuffle, pfd_error *err)
{
    shuffle *self = pfd_decorator_create(bytes, methods, inner, err);
    if (!self) return NULL;
    self->seed = seed;
    self->reshuffle = reshuffle;
    self->order_key = strdup(order_key);
    if (self->order_key) return self;
    (void)pfd_fail_memory(err, (int64_t)bytes, methods->name);
    free(self);
    return NULL;
}

static uint64_t key_of_epoch(const shuffle *self, int64_t epoch)
{
    return pfd_random_key(self->seed, self->reshuffle ? epoch : 0, self->order_key);
}

/* Counters of the random numbers of an epoch's key; a window order uses 0 to 2.  With the source's
 * own blocks, 0 draws the places of the pieces of lanes. */
enum { starts_counter = 0, windows_counter = 1, blocks_counter = 3, first_lane_counter = 4 };

/* ---- All records: a keyed permutation of the positions --------------------------------------- */

static void permute(const void *permutation, const int64_t *positions, int64_t count,
                    int64_t *permuted)
{
    pfd_permute(permutation, positions, count, permuted);
}

static pfd_status random_shuffle_at(const pfd_dataset *ds, int64_t epoch, const int64_t *positions,
                                    int64_t n, pfd_scratch *scratch, pfd_record *out,
                                    pfd_error *err)
{
    pfd_permutation permutation;
    pfd_permutation_init(&permutation, key_of_epoch((const shuffle *)ds, epoch),
                         ds->inner->methods->size(ds->inner));
    return pfd_dataset_at_mapped(ds->inner, epoch, positions, n, permute, &permutation, scratch,
                                 out, err);
}

void pfd_shuffled(int64_t seed, int64_t epoch, const char *order_key, int64_t n, int64_t begin,
                  int64_t count, int64_t *records)
{
    pfd_permutation permutation;
    pfd_permutation_init(&permutation, pfd_random_key(seed, epoch, order_key), n);
    for (int64_t i = 0; i < count; i++) records[i] = begin + i;
    pfd_permute(&permutation, records, count, records);
}

static const pfd_dataset_methods random_shuffle_methods = {
    .name = "RandomShuffle",
    .close = shuffle_close,
    .size = pfd_decorator_size,
    .at = random_shuffle_at,
};

pfd_status pfd_random_shuffle_wrap(pfd_dataset **ds, int64_t seed, const char *order_key,
                                   int32_t reshuffle, pfd_error *err)
{
    shuffle *self =
        shuffle_create(sizeof *self, &random_shuffle_methods, *ds, seed, order_key, reshuffle, err);
    if (!self) return PFD_OUT_OF_MEMORY;
    *ds = &self->base;
    return PFD_OK;
}

/* ---- The order of windows, a pure function -----------------------------------------------------
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
    int64_t short_end; /* records from this one on are after the last block; INT64_MAX: none */
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

/* Turns slots into blocks, in place. */
static void permute_slots(const pfd_window_order *order, int64_t *slots, int64_t count)
{
    int64_t last_block = order->num_slots - 1, last_slot = order->last_slot;
    int64_t places[PFD_POSITIONS_PER_PIECE];
    for (int64_t done = 0; done < count;) {
        int64_t left = count - done;
        int64_t piece = left < PFD_POSITIONS_PER_PIECE ? left : PFD_POSITIONS_PER_PIECE;
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

/* The window that a thread is in, with its blocks, is kept: a call maps only some hundred of a
 * window's very many records.  A thread that alternates between orders finds the block of each
 * record instead. */
enum { most_known_blocks = 4096 };
typedef struct known_window {
    uint64_t windows_key;
    int64_t n, block_size, window_size; /* numbers of the order; they and the key identify it */
    window at;
    pfd_permutation records;
    int64_t served; /* records so far */
    int32_t has_blocks;
    int64_t first_records[most_known_blocks]; /* one for each slot */
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

/* Turns places of the window, in the order of its slots, into ordinals, in place. */
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

/* ---- Windows --------------------------------------------------------------------------------- */

typedef struct window_shuffle {
    shuffle base;
    int64_t block_size, window;
} window_shuffle;

void pfd_window_shuffle_order(const pfd_dataset *ds, int64_t epoch, pfd_window_order *order)
{
    const window_shuffle *self = (const window_shuffle *)ds;
    pfd_window_order_init(order, key_of_epoch(&self->base, epoch),
                          ds->inner->methods->size(ds->inner), self->block_size, self->window);
}

static void map_windows(const void *order, const int64_t *positions, int64_t count,
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
    return pfd_dataset_at_mapped(ds->inner, epoch, positions, n, map_windows, &order, scratch,
                                 out, err);
}

static const pfd_dataset_methods window_shuffle_methods = {
    .name = "WindowShuffle",
    .close = shuffle_close,
    .size = pfd_decorator_size,
    .at = window_shuffle_at,
};

pfd_status pfd_window_shuffle_wrap(pfd_dataset **ds, int64_t seed, const char *order_key,
                                   int32_t reshuffle, int64_t block_size, int64_t window_blocks,
                                   pfd_error *err)
{
    window_shuffle *self =
        shuffle_create(sizeof *self, &window_shuffle_methods, *ds, seed, order_key, reshuffle, err);
    if (!self) return PFD_OUT_OF_MEMORY;
    self->block_size = block_size;
    self->window = window_blocks;
    *ds = &self->base.base;
    return PFD_OK;
}

/* ---- Lanes ----------------------------------------------------------------------------------- */

void pfd_lanes_init(pfd_lanes *lanes, uint64_t key, int64_t n, int64_t num_lanes,
                    int64_t block_size, int64_t batch_size)
{
    int64_t last_block = n > 0 ? (n - 1) / block_size : 0;
    *lanes = (pfd_lanes){
        .n = n,
        .num_lanes = num_lanes,
        .block_size = block_size,
        .rows = batch_size / num_lanes,
        .num_batches = n / batch_size,
        .num_whole = last_block / num_lanes,
        .last_block = last_block,
    };
    pfd_permutation_init(&lanes->blocks, key, last_block);
}

/* Where the share of a lane begins, if `total` records are shared by the lanes: the first
 * total % num_lanes shares have one record more. */
static int64_t lane_begin(const pfd_lanes *lanes, int64_t total, int64_t lane)
{
    int64_t longer = total % lanes->num_lanes;
    return lane * (total / lanes->num_lanes) + (lane < longer ? lane : longer);
}

int64_t pfd_lanes_size(const pfd_lanes *lanes, int64_t lane)
{
    return lane_begin(lanes, lanes->n, lane + 1) - lane_begin(lanes, lanes->n, lane);
}

/* Lanes share the rows of the last batch as ranks do, so that all lanes end with it. */
static pfd_lane_run find_in_short_batch(const pfd_lanes *lanes, int64_t total, int64_t row)
{
    int64_t least = total / lanes->num_lanes, longer = total % lanes->num_lanes;
    int64_t beyond = row - longer * (least + 1); /* rows after the longer shares */
    int64_t lane = beyond < 0 ? row / (least + 1) : longer + beyond / least;
    int64_t at = row - lane_begin(lanes, total, lane);
    return (pfd_lane_run){.lane = lane,
                          .place = lanes->num_batches * lanes->rows + at,
                          .count = least + (lane < longer) - at};
}

pfd_lane_run pfd_lanes_find(const pfd_lanes *lanes, int64_t position)
{
    int64_t batch_size = lanes->rows * lanes->num_lanes, batch = position / batch_size;
    int64_t row = position - batch * batch_size;
    if (batch == lanes->num_batches)
        return find_in_short_batch(lanes, lanes->n - batch * batch_size, row);
    int64_t lane = row / lanes->rows, at = row - lane * lanes->rows;
    return (pfd_lane_run){
        .lane = lane, .place = batch * lanes->rows + at, .count = lanes->rows - at};
}

/* A slot is a place in the order of the blocks: first the whole blocks of lane 0, of lane 1 and so
 * on, then the remaining ones, the last block last. */
static void to_ordinals(const pfd_lanes *lanes, int64_t lane, int64_t *numbers, int64_t count)
{
    const int64_t block_size = lanes->block_size, whole = lanes->num_whole * block_size;
    const int64_t remaining = lanes->num_lanes * whole;
    const int64_t rest = remaining + lane_begin(lanes, lanes->n - remaining, lane) - whole;
    int64_t slots[PFD_POSITIONS_PER_PIECE], blocks[PFD_POSITIONS_PER_PIECE];
    for (int64_t i = 0; i < count; i++) {
        int64_t place = numbers[i] + (numbers[i] < whole ? lane * whole : rest);
        slots[i] = place / block_size;
        blocks[i] = slots[i] == lanes->last_block ? 0 : slots[i];
        numbers[i] = place - slots[i] * block_size; /* in its block */
    }
    if (lanes->last_block > 0 && count > 0) pfd_permute(&lanes->blocks, blocks, count, blocks);
    for (int64_t i = 0; i < count; i++)
        numbers[i] += (slots[i] == lanes->last_block ? slots[i] : blocks[i]) * block_size;
}

void pfd_lanes_to_ordinals(const pfd_lanes *lanes, int64_t lane, int64_t *numbers, int64_t count)
{
    for (int64_t done = 0; done < count; done += PFD_POSITIONS_PER_PIECE) {
        int64_t left = count - done;
        to_ordinals(lanes, lane, numbers + done,
                    left < PFD_POSITIONS_PER_PIECE ? left : PFD_POSITIONS_PER_PIECE);
    }
}

/* ---- Windows in lanes: window shuffles side by side ------------------------------------------ */

typedef struct window_lanes {
    shuffle base;
    int64_t window;
    pfd_lanes lanes;
} window_lanes;

static void make_order(const window_lanes *self, uint64_t key, int64_t lane,
                       pfd_window_order *order)
{
    pfd_window_order_init(order, pfd_random_bits(key, first_lane_counter + (uint64_t)lane),
                          pfd_lanes_size(&self->lanes, lane), self->lanes.block_size,
                          self->window);
}

void pfd_window_lanes_order(const pfd_dataset *ds, int64_t epoch, int64_t lane,
                            pfd_window_order *order)
{
    const window_lanes *self = (const window_lanes *)ds;
    make_order(self, key_of_epoch(&self->base, epoch), lane, order);
}

typedef struct lanes_of_epoch {
    const window_lanes *self;
    uint64_t key;
} lanes_of_epoch;

/* The ordinals at positions[0, count); count <= PFD_POSITIONS_PER_PIECE. */
static void map_lanes(const void *of_epoch, const int64_t *positions, int64_t count,
                      int64_t *ordinals)
{
    const lanes_of_epoch *of = of_epoch;
    const pfd_lanes *lanes = &of->self->lanes;
    pfd_window_order order = {0};
    int64_t lane = -1; /* that the order is of */
    for (int64_t done = 0; done < count;) {
        pfd_lane_run run = pfd_lanes_find(lanes, positions[done]);
        int64_t first = done, n = 0;
        while (done < count && n < run.count && positions[done] == positions[first] + n)
            ordinals[done++] = run.place + n++;
        if (run.lane != lane) make_order(of->self, of->key, run.lane, &order);
        lane = run.lane;
        pfd_window_order_map(&order, ordinals + first, n, ordinals + first);
        pfd_lanes_to_ordinals(lanes, lane, ordinals + first, n);
    }
}

static pfd_status window_lanes_at(const pfd_dataset *ds, int64_t epoch, const int64_t *positions,
                                  int64_t n, pfd_scratch *scratch, pfd_record *out, pfd_error *err)
{
    const window_lanes *self = (const window_lanes *)ds;
    const lanes_of_epoch of = {self, key_of_epoch(&self->base, epoch)};
    return pfd_dataset_at_mapped(ds->inner, epoch, positions, n, map_lanes, &of, scratch, out, err);
}

static const pfd_dataset_methods window_lanes_methods = {
    .name = "WindowLanes",
    .close = shuffle_close,
    .size = pfd_decorator_size,
    .at = window_lanes_at,
};

const pfd_lanes *pfd_window_lanes(const pfd_dataset *ds)
{
    if (!ds || ds->methods != &window_lanes_methods) return NULL;
    return &((const window_lanes *)ds)->lanes;
}

int64_t pfd_window_lanes_ranges(const pfd_lanes *lanes, int64_t lane, pfd_record_range *ranges,
                                int64_t count)
{
    int64_t extra = -1, extra_end = 0; /* the range that lies in two blocks */
    for (int64_t i = 0; i < count; i++) {
        int64_t ends[] = {ranges[i].begin, ranges[i].end - 1};
        int64_t length = ranges[i].end - ranges[i].begin;
        pfd_lanes_to_ordinals(lanes, lane, ends, 2);
        ranges[i] = (pfd_record_range){ends[0], ends[0] + length};
        if (ends[1] - ends[0] == length - 1) continue;
        extra = i;
        extra_end = ends[1] + 1;
    }
    if (extra < 0) return count;
    int64_t first_end = (ranges[extra].begin / lanes->block_size + 1) * lanes->block_size;
    ranges[count] = (pfd_record_range){extra_end - (ranges[extra].end - first_end), extra_end};
    ranges[extra].end = first_end;
    return count + 1;
}

pfd_status pfd_window_lanes_wrap(pfd_dataset **ds, int64_t seed, const char *order_key,
                                 int32_t reshuffle, int64_t block_size, int64_t window_blocks,
                                 int64_t num_lanes, int64_t batch_size, pfd_error *err)
{
    window_lanes *self =
        shuffle_create(sizeof *self, &window_lanes_methods, *ds, seed, order_key, reshuffle, err);
    if (!self) return PFD_OUT_OF_MEMORY;
    self->window = window_blocks;
    pfd_lanes_init(&self->lanes,
                   pfd_random_bits(pfd_random_key(seed, 0, order_key), blocks_counter),
                   (*ds)->methods->size(*ds), num_lanes, block_size, batch_size);
    *ds = &self->base.base;
    return PFD_OK;
}

/* ---- Windows of blocks that the source has ----------------------------------------------------
 *
 * The blocks differ in size, so an epoch has a table of where each permuted block begins.
 *
 * IN LANES  the blocks are permuted, the same in all epochs, laid end to end and cut into lanes of
 * equal sizes.  A lane has whole blocks, and at its ends pieces of blocks that it shares with the
 * lanes beside it.  A reader that decodes whole blocks decodes a shared one once only if both lanes
 * come to it together.  So in each epoch the pieces of all lanes stand before the same window,
 * drawn among those that every lane has.  The whole blocks of a lane are permuted around its
 * pieces. */

/* A slot is a place in the order of blocks and pieces, lane after lane. */
typedef struct block_order {
    int64_t epoch;
    int64_t *firsts; /* of each slot: the number of its first record */
    int64_t *begins; /* of each slot: how many records are before it; then the number of records */
    int32_t users;
} block_order;

/* The slots of a lane, up to the first one of the next lane. */
typedef struct block_lane {
    int64_t begin;
    int64_t whole_begin, whole_end; /* those that are no pieces */
} block_lane;

typedef struct block_shuffle {
    shuffle base;
    pfd_lanes lanes;
    block_order laid;  /* the slots before they are permuted */
    block_lane *by_lane; /* one for each lane, and one after the last */
    int64_t window;
    int64_t num_starts; /* windows that the pieces may stand before */
    pthread_mutex_t mutex;
    block_order *known[2]; /* of the epochs that were asked for last */
} block_shuffle;

/* 0: out of memory. */
static int32_t alloc_slots(block_order *order, int64_t most)
{
    order->firsts = malloc((size_t)(most + 1) * sizeof *order->firsts);
    order->begins = malloc((size_t)(most + 1) * sizeof *order->begins);
    return order->firsts && order->begins;
}

static void block_order_free(block_order *order)
{
    free(order->firsts);
    free(order->begins);
    free(order);
}

/* With the mutex, or at the end: one user fewer. */
static void give_order(block_order *order)
{
    if (order && --order->users == 0) block_order_free(order);
}

static void block_shuffle_close(pfd_dataset *ds)
{
    block_shuffle *self = (block_shuffle *)ds;
    for (int32_t i = 0; i < 2; i++) give_order(self->known[i]);
    (void)pthread_mutex_destroy(&self->mutex);
    free(self->laid.firsts);
    free(self->laid.begins);
    free(self->by_lane);
    shuffle_close(ds);
}

/* One lane has the key of the epoch, as a window shuffle without lanes. */
static uint64_t key_of_lane(const block_shuffle *self, uint64_t key, int64_t lane)
{
    if (self->lanes.num_lanes == 1) return key;
    return pfd_random_bits(key, first_lane_counter + (uint64_t)lane);
}

/* Writes the slots of a lane in an epoch: its pieces follow `start` whole blocks. */
static void order_lane(const block_shuffle *self, int64_t lane, uint64_t key, int64_t start,
                       block_order *made)
{
    const block_lane *mine = &self->by_lane[lane];
    const block_order *laid = &self->laid;
    int64_t n = mine->whole_end - mine->whole_begin, end = mine[1].begin;
    int64_t *slots = made->begins + mine->begin; /* they become places below */
    int64_t num_pieces = end - mine->begin - n, begin = laid->begins[mine->begin];
    pfd_permutation permutation;
    pfd_permutation_init(&permutation, pfd_random_bits(key, blocks_counter), n);
    for (int64_t i = 0; i < n; i++) slots[i] = i;
    if (n > 0) pfd_permute(&permutation, slots, n, slots);
    memmove(slots + start + num_pieces, slots + start, (size_t)(n - start) * sizeof *slots);
    for (int64_t i = 0; i < start; i++) slots[i] += mine->whole_begin;
    for (int64_t i = start + num_pieces; i < n + num_pieces; i++) slots[i] += mine->whole_begin;
    for (int64_t i = mine->begin, k = start; i < end; i++)
        if (i < mine->whole_begin || i >= mine->whole_end) slots[k++] = i;
    for (int64_t i = 0; i < n + num_pieces; i++) {
        int64_t slot = slots[i];
        made->firsts[mine->begin + i] = laid->firsts[slot];
        slots[i] = begin;
        begin += laid->begins[slot + 1] - laid->begins[slot];
    }
}

/* NULL: out of memory. */
static block_order *make_block_order(const block_shuffle *self, int64_t epoch)
{
    int64_t num_lanes = self->lanes.num_lanes, num_slots = self->by_lane[num_lanes].begin;
    uint64_t key = key_of_epoch(&self->base, epoch);
    block_order *made = calloc(1, sizeof *made);
    if (!made) return NULL;
    made->epoch = epoch;
    if (!alloc_slots(made, num_slots)) {
        block_order_free(made);
        return NULL;
    }
    int64_t start = self->window * pfd_random_below(key, starts_counter, self->num_starts);
    for (int64_t lane = 0; lane < num_lanes; lane++)
        order_lane(self, lane, key_of_lane(self, key, lane), num_lanes > 1 ? start : 0, made);
    made->begins[num_slots] = self->lanes.n;
    return made;
}

static block_order *take_order(block_shuffle *self, int64_t epoch)
{
    block_order *found = NULL;
    pthread_mutex_lock(&self->mutex);
    for (int32_t i = 0; i < 2; i++)
        if (self->known[i] && self->known[i]->epoch == epoch) found = self->known[i];
    if (!found && (found = make_block_order(self, epoch))) {
        found->users = 1;
        give_order(self->known[1]);
        self->known[1] = self->known[0];
        self->known[0] = found;
    }
    if (found) found->users++;
    pthread_mutex_unlock(&self->mutex);
    return found;
}

/* The slot in [low, high) that a place is in; none is empty. */
static int64_t slot_at(const block_order *order, int64_t low, int64_t high, int64_t place)
{
    return pfd_last_at_most(order->begins, (int64_t)sizeof *order->begins, low, high, place);
}

typedef struct blocks_of_epoch {
    const block_shuffle *self;
    const block_order *order;
    uint64_t key;
} blocks_of_epoch;

static void map_blocks(const void *of_epoch, const int64_t *positions, int64_t count,
                       int64_t *ordinals)
{
    const blocks_of_epoch *of = of_epoch;
    const block_shuffle *self = of->self;
    const int64_t *begins = of->order->begins;
    for (int64_t done = 0; done < count;) {
        pfd_lane_run run = pfd_lanes_find(&self->lanes, positions[done]);
        const block_lane *mine = &self->by_lane[run.lane];
        int64_t place = lane_begin(&self->lanes, self->lanes.n, run.lane) + run.place;
        int64_t slot = slot_at(of->order, mine->begin, mine[1].begin, place);
        int64_t number = (slot - mine->begin) / self->window;
        int64_t low = mine->begin + number * self->window, high = low + self->window;
        int64_t first = done, n = 0;
        if (high > mine[1].begin) high = mine[1].begin;
        if (run.count > begins[high] - place) run.count = begins[high] - place;
        while (done < count && n < run.count && positions[done] == positions[first] + n)
            ordinals[done++] = place - begins[low] + n++;
        uint64_t windows = pfd_random_bits(key_of_lane(self, of->key, run.lane), windows_counter);
        pfd_permutation records;
        pfd_permutation_init(&records, pfd_random_bits(windows, (uint64_t)number),
                             begins[high] - begins[low]);
        pfd_permute(&records, ordinals + first, n, ordinals + first);
        for (int64_t i = first; i < done; i++) {
            place = ordinals[i] + begins[low];
            slot = slot_at(of->order, low, high, place);
            ordinals[i] = of->order->firsts[slot] + place - begins[slot];
        }
    }
}

static pfd_status block_shuffle_at(const pfd_dataset *ds, int64_t epoch, const int64_t *positions,
                                   int64_t n, pfd_scratch *scratch, pfd_record *out, pfd_error *err)
{
    block_shuffle *self = (block_shuffle *)(uintptr_t)ds; /* it keeps tables of epochs */
    block_order *order = take_order(self, epoch);
    if (!order) return pfd_fail_memory(err, self->by_lane[self->lanes.num_lanes].begin,
                                       "the order of blocks");
    blocks_of_epoch of = {self, order, key_of_epoch(&self->base, epoch)};
    pfd_status status =
        pfd_dataset_at_mapped(ds->inner, epoch, positions, n, map_blocks, &of, scratch, out, err);
    pthread_mutex_lock(&self->mutex);
    give_order(order);
    pthread_mutex_unlock(&self->mutex);
    return status;
}

static const pfd_dataset_methods block_shuffle_methods = {
    .name = "BlockShuffle",
    .close = block_shuffle_close,
    .size = pfd_decorator_size,
    .at = block_shuffle_at,
};

/* Joins neighbours in place until each block but the last has block_size records.  Returns how many
 * blocks there are. */
static int64_t join_blocks(int64_t *first, int64_t num_blocks, int64_t block_size)
{
    int64_t n = 0;
    for (int64_t i = 1; i <= num_blocks; i++) {
        int64_t size = first[i] - first[n];
        if (size >= block_size || (i == num_blocks && size > 0)) first[++n] = first[i];
    }
    return n;
}

/* Begins lanes up to the one that has record `place` of those laid end to end. */
static int64_t enter_lanes(block_shuffle *self, int64_t lane, int64_t place, int64_t slot)
{
    while (lane < 0 || (lane < self->lanes.num_lanes &&
                        place == lane_begin(&self->lanes, self->lanes.n, lane + 1))) {
        if (lane >= 0 && self->by_lane[lane].whole_end < 0) self->by_lane[lane].whole_end = slot;
        self->by_lane[++lane] = (block_lane){slot, slot, -1};
    }
    return lane;
}

/* Lays the blocks end to end, in the order of `blocks`, and cuts them into lanes. */
static void cut_lanes(block_shuffle *self, const int64_t *first, const int64_t *blocks, int64_t n)
{
    block_order *laid = &self->laid;
    int64_t slot = 0, place = 0, lane = -1;
    for (int64_t i = 0; i < n; i++) {
        int64_t record = first[blocks[i]], end = first[blocks[i] + 1], size = end - record;
        while (record < end) {
            lane = enter_lanes(self, lane, place, slot);
            block_lane *mine = &self->by_lane[lane];
            int64_t room = lane_begin(&self->lanes, self->lanes.n, lane + 1) - place;
            int64_t taken = end - record < room ? end - record : room;
            if (taken < size && slot == mine->begin) mine->whole_begin = slot + 1;
            else if (taken < size) mine->whole_end = slot;
            laid->firsts[slot] = record;
            laid->begins[slot++] = place;
            record += taken;
            place += taken;
        }
    }
    laid->begins[slot] = place;
    (void)enter_lanes(self, lane, place, slot);
    self->num_starts = INT64_MAX;
    for (int64_t k = 0; k < self->lanes.num_lanes; k++) {
        const block_lane *mine = &self->by_lane[k];
        int64_t starts = (mine->whole_end - mine->whole_begin) / self->window + 1;
        if (starts < self->num_starts) self->num_starts = starts;
    }
}

/* `first` is a copy, and `blocks` has the same room. */
static pfd_status lay_blocks(block_shuffle *self, int64_t *first, int64_t *blocks,
                             int64_t num_blocks, int64_t block_size, pfd_error *err)
{
    int64_t num_lanes = self->lanes.num_lanes, n = join_blocks(first, num_blocks, block_size);
    self->by_lane = calloc((size_t)num_lanes + 2, sizeof *self->by_lane);
    if (!self->by_lane || !alloc_slots(&self->laid, n + num_lanes))
        return pfd_fail_memory(err, n + num_lanes, "a list of blocks");
    for (int64_t i = 0; i < n; i++) blocks[i] = i;
    pfd_permutation permutation;
    uint64_t key = pfd_random_key(self->base.seed, 0, self->base.order_key);
    pfd_permutation_init(&permutation, pfd_random_bits(key, blocks_counter), n);
    if (num_lanes > 1 && n > 0) pfd_permute(&permutation, blocks, n, blocks);
    cut_lanes(self, first, blocks, n);
    return PFD_OK;
}

pfd_status pfd_block_shuffle_wrap(pfd_dataset **ds, int64_t seed, const char *order_key,
                                  int32_t reshuffle, const int64_t *first, int64_t num_blocks,
                                  int64_t block_size, int64_t window_blocks, int64_t num_lanes,
                                  int64_t batch_size, pfd_error *err)
{
    block_shuffle *self =
        shuffle_create(sizeof *self, &block_shuffle_methods, *ds, seed, order_key, reshuffle, err);
    if (!self) return PFD_OUT_OF_MEMORY;
    (void)pthread_mutex_init(&self->mutex, NULL);
    self->window = window_blocks;
    pfd_lanes_init(&self->lanes, 0, first[num_blocks], num_lanes, block_size, batch_size);
    size_t bytes = (size_t)(num_blocks + 1) * sizeof *first;
    int64_t *copy = malloc(bytes), *blocks = malloc(bytes);
    pfd_status status = PFD_OK;
    if (!copy || !blocks) {
        status = pfd_fail_memory(err, 2 * (int64_t)bytes, "a list of blocks");
    } else {
        memcpy(copy, first, bytes);
        status = lay_blocks(self, copy, blocks, num_blocks, block_size, err);
    }
    free(copy);
    free(blocks);
    if (status != PFD_OK) {
        self->base.base.inner = NULL; /* it stays the caller's */
        block_shuffle_close(&self->base.base);
        return status;
    }
    *ds = &self->base.base;
    return PFD_OK;
}

/* ---- A buffer, which gives out a random record for each record that comes in ------------------
 *
 * A draw is a function of key, position and the number of records in the buffer, so that an epoch
 * read again comes out in the same order. */

typedef struct shuffle_buffer {
    shuffle base; /* base.base.position: records given out in base.base.epoch */
    pfd_record_feed feed;
    uint64_t key;           /* key of the epoch */
    pfd_record_cell *cells; /* the first `size` hold a record */
    int64_t size, capacity, buffer_size;
} shuffle_buffer;

static void shuffle_buffer_close(pfd_dataset *ds)
{
    shuffle_buffer *self = (shuffle_buffer *)ds;
    for (int64_t i = 0; i < self->capacity; i++) pfd_record_cell_free(&self->cells[i]);
    free(self->cells);
    pfd_record_feed_close(&self->feed);
    shuffle_close(ds);
}

static void begin_epoch(shuffle_buffer *self, int64_t epoch)
{
    self->size = 0;
    self->base.base.epoch = epoch;
    self->base.base.position = 0;
    self->key = key_of_epoch(&self->base, epoch);
}

/* The cells grow with what comes in: a large buffer costs nothing for a small dataset. */
static pfd_status grow(shuffle_buffer *self, pfd_error *err)
{
    int64_t capacity = self->capacity < 32 ? 64 : self->capacity * 2;
    if (capacity > self->buffer_size) capacity = self->buffer_size;
    int64_t bytes = capacity * (int64_t)sizeof *self->cells;
    pfd_record_cell *cells = realloc(self->cells, (size_t)bytes);
    if (!cells) return pfd_fail_memory(err, bytes, "shuffle_buffer_size records");
    memset(cells + self->capacity, 0, (size_t)(capacity - self->capacity) * sizeof *cells);
    self->cells = cells;
    self->capacity = capacity;
    return PFD_OK;
}

/* Fills the buffer and fetches the record after it, or finds that there is none. */
static pfd_status fill(shuffle_buffer *self, pfd_error *err)
{
    for (;;) {
        const pfd_record *record;
        pfd_status status = pfd_record_feed_peek(&self->feed, &record, err);
        if (status == PFD_END) return PFD_OK;
        if (status != PFD_OK || self->size == self->buffer_size) return status;
        if (self->size == self->capacity) PFD_TRY(grow(self, err));
        PFD_TRY(pfd_record_cell_store(&self->cells[self->size], record, err));
        self->size++;
        pfd_record_feed_take(&self->feed);
    }
}

/* The record with its bytes copied into the scratch. */
static pfd_status copy_record(const pfd_record *record, pfd_scratch *scratch, pfd_record *out,
                              pfd_error *err)
{
    uint8_t *memory = pfd_scratch_alloc(scratch, record->size);
    if (!memory) return pfd_fail_memory(err, record->size, "a record");
    if (record->size > 0) memcpy(memory, record->data, (size_t)record->size);
    *out = *record;
    out->data = memory;
    return PFD_OK;
}

static int64_t draw(const shuffle_buffer *self)
{
    return pfd_random_below(self->key, (uint64_t)self->base.base.position, self->size);
}

/* Replaces the drawn record by the following one, at the end of the epoch by the last one. */
static pfd_status replace(shuffle_buffer *self, int64_t drawn, pfd_error *err)
{
    const pfd_record *record;
    pfd_status status = pfd_record_feed_peek(&self->feed, &record, err);
    if (status == PFD_OK) {
        PFD_TRY(pfd_record_cell_store(&self->cells[drawn], record, err));
        pfd_record_feed_take(&self->feed);
    } else if (status == PFD_END) {
        self->size--;
        pfd_record_cell free_cell = self->cells[drawn];
        self->cells[drawn] = self->cells[self->size];
        self->cells[self->size] = free_cell;
    } else {
        return status;
    }
    self->base.base.position++;
    return PFD_OK;
}

/* Delivers only records that need no further call of the inner dataset: so a failure always comes
 * before a record leaves the buffer. */
static pfd_status shuffle_buffer_next(pfd_dataset *ds, int64_t max, pfd_scratch *scratch,
                                      pfd_record *out, int64_t *n, pfd_error *err)
{
    shuffle_buffer *self = (shuffle_buffer *)ds;
    *n = 0;
    PFD_TRY(fill(self, err));
    if (self->size == 0) return PFD_END;
    do {
        int64_t drawn = draw(self);
        pfd_status status = copy_record(&self->cells[drawn].record, scratch, &out[*n], err);
        if (status == PFD_OK) status = replace(self, drawn, err);
        if (status != PFD_OK && *n == 0) return status;
        if (status != PFD_OK) break; /* the next call fails, if it must */
        ++*n;
    } while (*n < max && self->size > 0 && pfd_record_feed_is_ready(&self->feed));
    pfd_error_clear(err);
    return PFD_OK;
}

/* Reads the epoch again from its beginning, since the buffer depends on all records before.
 * Damaged records do not count in the order. */
static pfd_status shuffle_buffer_seek(pfd_dataset *ds, int64_t epoch, int64_t position,
                                      pfd_error *err)
{
    shuffle_buffer *self = (shuffle_buffer *)ds;
    begin_epoch(self, epoch);
    PFD_TRY(pfd_record_feed_seek(&self->feed, epoch, err));
    while (self->base.base.position < position) {
        pfd_status status = fill(self, err);
        if (status == PFD_OK && self->size == 0) break;
        if (status == PFD_OK) status = replace(self, draw(self), err);
        if (status != PFD_OK && !pfd_error_can_pass(status, err)) return status;
    }
    pfd_error_clear(err); /* the errors of the damaged records that were skipped */
    return PFD_OK;
}

static const pfd_dataset_methods shuffle_buffer_methods = {
    .name = "RandomShuffle",
    .close = shuffle_buffer_close,
    .next = shuffle_buffer_next,
    .seek = shuffle_buffer_seek,
};

pfd_status pfd_shuffle_buffer_wrap(pfd_dataset **ds, int64_t seed, const char *order_key,
                                   int32_t reshuffle, int64_t buffer_size, pfd_error *err)
{
    shuffle_buffer *self =
        shuffle_create(sizeof *self, &shuffle_buffer_methods, *ds, seed, order_key, reshuffle, err);
    if (!self) return PFD_OUT_OF_MEMORY;
    self->buffer_size = buffer_size;
    pfd_status status = pfd_record_feed_open(&self->feed, *ds, err);
    if (status != PFD_OK) {
        self->base.base.inner = NULL; /* still the caller's */
        shuffle_buffer_close(&self->base.base);
        return status;
    }
    begin_epoch(self, 0);
    *ds = &self->base.base;
    return PFD_OK;
}
