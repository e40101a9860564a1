/* Segments of weights, and the rows at which sources are exhausted. */
#include "views/mix_schedule.h"

#include "core/error.h"
#include "core/hash.h"

#include <stdlib.h>

pfd_status pfd_mix_schedule_init(pfd_mix_schedule *schedule, const double *weights,
                                 const int64_t *starts, int64_t num_segments, int64_t num_sources,
                                 pfd_error *err)
{
    *schedule = (pfd_mix_schedule){.num_sources = num_sources};
    schedule->segments = calloc((size_t)num_segments, sizeof *schedule->segments);
    if (!schedule->segments)
        return pfd_fail_memory(err, num_segments * (int64_t)sizeof *schedule->segments,
                               "the segments of a mix");
    for (int64_t i = 0; i < num_segments; i++) {
        pfd_mix_segment *segment = &schedule->segments[schedule->num_segments++];
        segment->base = calloc((size_t)num_sources, sizeof *segment->base);
        if (!segment->base)
            return pfd_fail_memory(err, num_sources * (int64_t)sizeof *segment->base,
                                   "the segments of a mix");
        PFD_TRY(pfd_mix_tree_init(&segment->tree, weights + i * num_sources, num_sources, err));
    }
    pfd_mix_schedule_move(schedule, starts);
    return PFD_OK;
}

void pfd_mix_schedule_move(pfd_mix_schedule *schedule, const int64_t *starts)
{
    for (int64_t i = 1; i < schedule->num_segments; i++) {
        const pfd_mix_segment *before = &schedule->segments[i - 1];
        pfd_mix_segment *segment = &schedule->segments[i];
        segment->start = starts[i - 1];
        for (int64_t s = 0; s < schedule->num_sources; s++)
            segment->base[s] = before->base[s] +
                               pfd_mix_count(&before->tree, s, segment->start - before->start);
    }
}

void pfd_mix_schedule_free(pfd_mix_schedule *schedule)
{
    for (int64_t i = 0; i < schedule->num_segments; i++) {
        pfd_mix_tree_free(&schedule->segments[i].tree);
        free(schedule->segments[i].base);
    }
    free(schedule->segments);
    *schedule = (pfd_mix_schedule){0};
}

/* The last segment that begins at `row` or before it. */
static int64_t segment_of(const pfd_mix_schedule *schedule, int64_t row)
{
    int64_t low = 0, high = schedule->num_segments;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (schedule->segments[middle].start <= row) low = middle;
        else high = middle;
    }
    return low;
}

static int64_t end_of(const pfd_mix_schedule *schedule, int64_t i)
{
    return i + 1 < schedule->num_segments ? schedule->segments[i + 1].start : INT64_MAX;
}

int64_t pfd_mix_schedule_count(const pfd_mix_schedule *schedule, int64_t source, int64_t n)
{
    const pfd_mix_segment *segment = &schedule->segments[segment_of(schedule, n)];
    return segment->base[source] + pfd_mix_count(&segment->tree, source, n - segment->start);
}

void pfd_mix_schedule_find(const pfd_mix_schedule *schedule, int64_t *rows, int64_t n,
                           int32_t *sources)
{
    for (int64_t begin = 0, end; begin < n; begin = end) {
        int64_t i = segment_of(schedule, rows[begin]), stop = end_of(schedule, i);
        const pfd_mix_segment *segment = &schedule->segments[i];
        end = schedule->num_segments == 1 ? n : begin + 1;
        while (end < n && rows[end] >= segment->start && rows[end] < stop) end++;
        pfd_mix_find(&segment->tree, segment->start, segment->base, rows + begin, end - begin,
                     sources + begin);
    }
}

/* ---- Stops ----------------------------------------------------------------------------------- */

static int32_t none_is_overdrawn(const pfd_mix_schedule *schedule, const int64_t *records,
                                 int64_t n)
{
    for (int64_t s = 0; s < schedule->num_sources; s++)
        if (pfd_mix_schedule_count(schedule, s, n) > records[s]) return 0;
    return 1;
}

static int32_t all_are_exhausted(const pfd_mix_schedule *schedule, const int64_t *records,
                                 int64_t n)
{
    const pfd_mix_segment *last = &schedule->segments[schedule->num_segments - 1];
    for (int64_t s = 0; s < schedule->num_sources; s++)
        if (last->tree.leaves[s] >= 0 && pfd_mix_schedule_count(schedule, s, n) < records[s])
            return 0;
    return 1;
}

int64_t pfd_mix_schedule_first_exhausted(const pfd_mix_schedule *schedule, const int64_t *records)
{
    int64_t low = 0, high = PFD_MIX_MOST_ROWS; /* counts never fall */
    if (none_is_overdrawn(schedule, records, high)) return high;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (none_is_overdrawn(schedule, records, middle)) low = middle;
        else high = middle;
    }
    return low;
}

int64_t pfd_mix_schedule_all_exhausted(const pfd_mix_schedule *schedule, const int64_t *records)
{
    int64_t low = 0, high = PFD_MIX_MOST_ROWS;
    if (!all_are_exhausted(schedule, records, high)) return -1;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (all_are_exhausted(schedule, records, middle)) high = middle;
        else low = middle;
    }
    return high;
}

/* ---- The past -------------------------------------------------------------------------------- */

uint64_t pfd_mix_schedule_past(const pfd_mix_schedule *schedule, int64_t n)
{
    uint64_t hash = 0;
    for (int64_t i = 0; i < schedule->num_segments; i++) {
        const pfd_mix_segment *segment = &schedule->segments[i];
        const pfd_mix_tree *tree = &segment->tree;
        if (segment->start >= n) break;
        if (segment->start == end_of(schedule, i)) continue; /* no rows */
        int64_t leaves = INT64_C(1) << tree->levels;
        hash = pfd_hash_word(hash, (uint64_t)segment->start);
        for (int64_t k = 1; k < leaves; k++) hash = pfd_hash_word(hash, tree->fractions[k]);
        for (int64_t s = 0; s < schedule->num_sources; s++)
            hash = pfd_hash_word(hash, (uint64_t)tree->leaves[s]);
    }
    return hash;
}
