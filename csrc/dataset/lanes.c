/* Lanes: disjoint parts of the data. */
#include "dataset/lanes.h"

#include "dataset/dataset.h"

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

/* Where the part of a lane begins, if `total` records are cut into a part for each lane: the first
 * total % num_lanes parts have one record more. */
static int64_t part_begin(const pfd_lanes *lanes, int64_t total, int64_t lane)
{
    int64_t longer = total % lanes->num_lanes;
    return lane * (total / lanes->num_lanes) + (lane < longer ? lane : longer);
}

int64_t pfd_lanes_size(const pfd_lanes *lanes, int64_t lane)
{
    return part_begin(lanes, lanes->n, lane + 1) - part_begin(lanes, lanes->n, lane);
}

/* ---- Position -> place in a lane ------------------------------------------------------------- */

/* The last batch: the lanes share its rows as ranks do, and so come to their ends together. */
static pfd_lane_run find_in_short_batch(const pfd_lanes *lanes, int64_t total, int64_t row)
{
    int64_t least = total / lanes->num_lanes, longer = total % lanes->num_lanes;
    int64_t beyond = row - longer * (least + 1); /* rows after the parts that are longer */
    int64_t lane = beyond < 0 ? row / (least + 1) : longer + beyond / least;
    int64_t at = row - part_begin(lanes, total, lane);
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

/* ---- Record of a lane -> ordinal ------------------------------------------------------------- */

/* A slot is a place in the order of the blocks: first the whole blocks of lane 0, of lane 1 and so
 * on, then the remaining ones, the last block last. */
static void to_ordinals(const pfd_lanes *lanes, int64_t lane, int64_t *numbers, int64_t count)
{
    const int64_t block_size = lanes->block_size, whole = lanes->num_whole * block_size;
    const int64_t remaining = lanes->num_lanes * whole;
    const int64_t part = remaining + part_begin(lanes, lanes->n - remaining, lane) - whole;
    int64_t slots[PFD_POSITIONS_PER_PIECE], blocks[PFD_POSITIONS_PER_PIECE];
    for (int64_t i = 0; i < count; i++) {
        int64_t place = numbers[i] + (numbers[i] < whole ? lane * whole : part);
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
