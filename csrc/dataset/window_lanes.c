/* Every epoch in a random order: window shuffles side by side, one in each lane. */
#include "dataset/window_lanes.h"

#include "core/error.h"
#include "core/random.h"

#include <stdlib.h>
#include <string.h>

/* Counters of the random numbers of an epoch's key; a window order uses those from 0 to 2. */
enum { blocks_counter = 3, first_lane_counter = 4 };

typedef struct window_lanes {
    pfd_dataset base;
    int64_t seed;
    char *order_key;
    int32_t reshuffle;
    int64_t window;
    pfd_lanes lanes;
} window_lanes;

static void window_lanes_close(pfd_dataset *ds)
{
    window_lanes *self = (window_lanes *)ds;
    pfd_dataset_close(ds->inner);
    free(self->order_key);
    free(self);
}

static int64_t window_lanes_size(const pfd_dataset *ds)
{
    return ds->inner->methods->size(ds->inner);
}

static uint64_t key_of(const window_lanes *self, int64_t epoch)
{
    return pfd_random_key(self->seed, self->reshuffle ? epoch : 0, self->order_key);
}

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
    make_order(self, key_of(self, epoch), lane, order);
}

typedef struct lanes_of_epoch {
    const window_lanes *self;
    uint64_t key;
} lanes_of_epoch;

/* The ordinals at positions[0, count); count <= PFD_POSITIONS_PER_PIECE. */
static void map(const void *of_epoch, const int64_t *positions, int64_t count, int64_t *ordinals)
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
    const lanes_of_epoch of = {self, key_of(self, epoch)};
    return pfd_dataset_at_mapped(ds->inner, epoch, positions, n, map, &of, scratch, out, err);
}

static const pfd_dataset_methods window_lanes_methods = {
    .name = "WindowLanes",
    .close = window_lanes_close,
    .size = window_lanes_size,
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
                                 int32_t reshuffle, int64_t block_size, int64_t window,
                                 int64_t num_lanes, int64_t batch_size, pfd_error *err)
{
    window_lanes *self = calloc(1, sizeof *self);
    char *key = strdup(order_key);
    if (!self || !key) {
        free(self);
        free(key);
        return pfd_fail_memory(err, (int64_t)sizeof *self, "WindowLanes");
    }
    self->base = (pfd_dataset){.methods = &window_lanes_methods, .inner = *ds};
    self->seed = seed;
    self->order_key = key;
    self->reshuffle = reshuffle;
    self->window = window;
    pfd_lanes_init(&self->lanes, pfd_random_bits(pfd_random_key(seed, 0, key), blocks_counter),
                   (*ds)->methods->size(*ds), num_lanes, block_size, batch_size);
    *ds = &self->base;
    return PFD_OK;
}
