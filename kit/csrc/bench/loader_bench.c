/* Times a loader in a training loop that does nothing else. */
#include "core/cpu.h"
#include "core/error.h"
#include "bench/op_bench.h"

static pfd_status take_batches(pfd_loader *loader, int64_t round_ns, double *best, pfd_error *err)
{
    const int64_t look_ns = 50 * 1000 * 1000;
    int64_t began = pfd_clock_ns(), rows = 0;
    int32_t empty = 0; /* ends of epochs without a row since */
    do {
        pfd_batch batch;
        pfd_status status = pfd_loader_next(loader, look_ns, &batch, err);
        if (status < 0) return status;
        if (status == PFD_END && ++empty == 2)
            return pfd_fail(err, PFD_CORRUPT_DATA, "an epoch of the loader has no rows");
        if (status != PFD_OK) continue;
        if (batch.rows) empty = 0;
        rows += batch.rows;
        pfd_batch_release(batch.memory);
    } while (pfd_clock_ns() - began < round_ns || rows == 0);
    double rate = 1e9 * (double)rows / (double)(pfd_clock_ns() - began);
    if (rate > *best) *best = rate;
    return PFD_OK;
}

pfd_status pfd_bench_loader(const pfd_blob *blobs, int64_t num_blobs,
                            const pfd_loader_options *loader_options,
                            const pfd_bench_options *options, double *records_per_second,
                            pfd_error *err)
{
    pfd_loader *loader;
    double best = 0, warm = 0;
    PFD_TRY(pfd_bench_check_options(options, err));
    PFD_TRY(pfd_loader_open(loader_options, blobs, num_blobs, &loader, err));
    pfd_status status = take_batches(loader, options->round_ns / 4, &warm, err);
    for (int32_t i = 0; status == PFD_OK && i < options->rounds; i++)
        status = take_batches(loader, options->round_ns, &best, err);
    pfd_loader_release(loader);
    if (status == PFD_OK) *records_per_second = best;
    return status;
}
