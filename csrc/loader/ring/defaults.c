/* Threads and batches in flight by the size of a batch. */
#include "loader/ring/defaults.h"

#include "loader/watch/autotune.h"

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* Starts many small batches at a time, so that a thread that wakes up finds work for a while.
 * Of large batches it starts two more than are needed for two ranges per thread. */
int32_t pfd_usual_prefetch(const void *of, int32_t num_threads)
{
    enum { AHEAD_BYTES = 1 << 20, MOST_AHEAD = 64, LARGE_BYTES = 64 << 20 };
    const pfd_plan *plan = of;
    int64_t batch_bytes = plan->slot_bytes + plan->ragged_bytes;
    int64_t ahead = clamp(AHEAD_BYTES / batch_bytes, 0, MOST_AHEAD);
    int64_t usual = 2 * num_threads + 2, needed = 2 + 2 * num_threads / plan->num_chunks;
    int64_t least = clamp(LARGE_BYTES / batch_bytes, needed, usual);
    return (int32_t)(ahead > least ? ahead : least);
}

/* More threads than processors are for work that waits. Their memory is part of the budget. */
int32_t pfd_most_threads(const pfd_loader *l)
{
    enum { LEAST = 16, MOST = 64, FOR_EACH = 4 };
    if (!l->tunes_threads) return l->num_threads;
    int64_t most = clamp(FOR_EACH * (int64_t)l->num_threads, LEAST, MOST);
    int64_t for_threads = l->memory_budget / 4 / (l->plan.worker_bytes + 1);
    if (most > for_threads) most = for_threads;
    return (int32_t)(most > l->num_threads ? most : l->num_threads);
}

int64_t pfd_most_prefetch(const pfd_loader *l)
{
    int32_t follows = l->tunes_threads && l->chooses_prefetch;
    int64_t most = l->prefetch;
    if (follows) most = clamp(pfd_usual_prefetch(&l->plan, l->most_threads), most, INT32_MAX);
    if (l->tunes_prefetch) most *= PFD_MOST_FACTOR;
    return most;
}
