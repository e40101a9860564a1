/* Times the parts of the work, and counts what each allocates. */
#include "core/cpu.h"
#include "core/scratch.h"
#include "bench/op_bench.h"

static _Thread_local int64_t num_allocs, num_alloc_bytes;

static void *counted_alloc(pfd_scratch *scratch, int64_t bytes)
{
    num_allocs++;
    num_alloc_bytes += bytes;
    return pfd_scratch_alloc(scratch, bytes);
}

void pfd_bench_make_counting_host(pfd_host *host)
{
    *host = *pfd_host_table();
    host->alloc = counted_alloc;
}

int64_t pfd_bench_measure_clock(void)
{
    int64_t best = INT64_MAX;
    for (int i = 0; i < 1000; i++) {
        int64_t first = pfd_clock_ns(), took = pfd_clock_ns() - first;
        if (took < best) best = took;
    }
    return best;
}

void pfd_bench_begin_part(pfd_bench *b)
{
    num_allocs = num_alloc_bytes = 0;
    if (b->counting) b->last_mallocs = pfd_malloc_count_now();
    b->last = pfd_clock_ns();
}

void pfd_bench_end_part(pfd_bench *b, int32_t part)
{
    int64_t ns = pfd_clock_ns() - b->last - b->clock_ns;
    pfd_bench_part *to = &b->parts[part];
    to->ns += ns > 0 ? ns : 0;
    if (b->counting) {
        pfd_malloc_count now = pfd_malloc_count_now();
        to->mallocs += now.calls - b->last_mallocs.calls;
        to->malloc_bytes += now.bytes - b->last_mallocs.bytes;
        to->allocs += num_allocs;
        to->alloc_bytes += num_alloc_bytes;
    }
    pfd_bench_begin_part(b);
}
