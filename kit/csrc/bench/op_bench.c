/* Times the parts of a reader and of the ops after it, over ranges of records as a loader has. */
#include "core/cpu.h"
#include "core/error.h"
#include "core/scratch.h"
#include "bench/op_bench.h"

#include <stdlib.h>
#include <string.h>

enum { RANGE_BYTES = 64 * 1024 };

/* ---- Rounds ---------------------------------------------------------------------------------- */
static void keep_best(pfd_bench *b, double *best, int64_t records)
{
    for (int32_t i = 0; i < PFD_BENCH_PARTS; i++) {
        double ns = (double)b->parts[i].ns / (double)records;
        if (ns < best[i]) best[i] = ns;
    }
}

/* Rounds of passes over the window; best[] is the time of each part. */
static pfd_status run_rounds(pfd_bench *b, pfd_bench_work what, double *best, pfd_error *err)
{
    int64_t round_ns = b->options->round_ns, began = pfd_clock_ns();
    /* If rounds are far slower than expected when the window was chosen, fewer of them are run. */
    int64_t longest = round_ns > INT64_MAX / 4 / b->options->rounds
                          ? INT64_MAX / 2
                          : 2 * b->options->rounds * round_ns;
    for (int32_t i = 0; i < PFD_BENCH_PARTS; i++) best[i] = 1e300;
    for (int32_t round = 0; round < b->options->rounds; round++) {
        int64_t records = 0, done, round_began = pfd_clock_ns();
        memset(b->parts, 0, sizeof b->parts);
        do {
            PFD_TRY(pfd_bench_run_pass(b, what, b->window, INT64_MAX, &done, err));
            if (done != b->window)
                return pfd_fail(err, PFD_INTERNAL,
                                "the source yielded %lld records, then %lld: a seek() to 0 must "
                                "begin again",
                                (long long)b->window, (long long)done);
            records += done;
        } while (pfd_clock_ns() - round_began < round_ns);
        keep_best(b, best, records);
        if (pfd_clock_ns() - began > longest) break;
    }
    return PFD_OK;
}

static pfd_status run_all(pfd_bench *b, double *best, pfd_bench_result *out, pfd_error *err)
{
    double copying[PFD_BENCH_PARTS], summing[PFD_BENCH_PARTS];
    PFD_TRY(run_rounds(b, PFD_BENCH_DO_COMPUTE, best, err));
    PFD_TRY(run_rounds(b, PFD_BENCH_DO_COPY, copying, err));
    PFD_TRY(run_rounds(b, PFD_BENCH_DO_SUM, summing, err));
    best[PFD_BENCH_COPY] = copying[PFD_BENCH_COPY];
    best[PFD_BENCH_SUM] = summing[PFD_BENCH_SUM];
    out->window_bytes = b->bytes;
    out->window_sum = b->sum;
    return PFD_OK;
}

/* One pass, not timed. */
static pfd_status count_allocations(pfd_bench *b, pfd_error *err)
{
    pfd_host host;
    int64_t done;
    pfd_bench_make_counting_host(&host);
    memset(b->parts, 0, sizeof b->parts);
    b->host = &host;
    b->counting = 1;
    int32_t counts_mallocs = pfd_malloc_count_begin();
    pfd_status status =
        pfd_bench_run_pass(b, PFD_BENCH_DO_COMPUTE, b->window, INT64_MAX, &done, err);
    if (counts_mallocs) pfd_malloc_count_end();
    b->host = pfd_host_table();
    b->counting = 0;
    for (int32_t i = 0; !counts_mallocs && i < PFD_BENCH_PARTS; i++)
        b->parts[i].mallocs = b->parts[i].malloc_bytes = -done;
    return status;
}

/* ---- Opening --------------------------------------------------------------------------------- */
/* As a loader chooses its row ranges. */
static int64_t choose_range(const pfd_bench *b)
{
    int64_t batch = b->reader.local_batch_size, row = 1 + b->chain.row_bytes;
    if (b->chain.whole_batch) return batch;
    row += (int64_t)sizeof(pfd_record);
    if (b->reader.num_records > 0) row += b->reader.num_bytes / b->reader.num_records;
    row += b->reader.outside_bytes;
    int64_t rows = RANGE_BYTES / row;
    if (rows < 1) rows = 1;
    if (rows > batch) rows = batch;
    int64_t ranges = (batch - 1) / rows + 1;
    return (batch - 1) / ranges + 1;
}

static pfd_status open_reader(pfd_bench *b, double *best_ns, pfd_error *err)
{
    int64_t began = pfd_clock_ns();
    *best_ns = 1e300;
    for (int32_t round = 0; round < b->options->rounds; round++) {
        int64_t round_began = pfd_clock_ns();
        pfd_data_reader_close(&b->reader);
        PFD_TRY(pfd_data_reader_open(&b->reader, b->chain.ops[0].node, b->chain.ops[0].node, 0, 0,
                                     &b->bounds, err));
        int64_t now = pfd_clock_ns();
        if ((double)(now - round_began) < *best_ns) *best_ns = (double)(now - round_began);
        if (now - began > b->options->round_ns) break;
    }
    return PFD_OK;
}

static pfd_status open_bench(pfd_bench *b, const pfd_blob *blobs, int64_t num_blobs,
                             pfd_bench_result *out, pfd_error *err)
{
    PFD_TRY(pfd_op_chain_open(&b->chain, blobs, num_blobs, err));
    if (b->chain.num_ops > PFD_BENCH_MOST_OPS)
        return pfd_fail(err, PFD_UNSUPPORTED, "the blobs depend on %d ops; %d can be measured",
                        b->chain.num_ops, PFD_BENCH_MOST_OPS);
    PFD_TRY(open_reader(b, &out->open_ns, err));
    b->chain.source = pfd_source_self(b->reader.source);
    b->range = choose_range(b);
    b->positions = malloc((size_t)b->range * sizeof *b->positions);
    b->records = calloc((size_t)b->range, sizeof *b->records);
    b->at_scratch = pfd_scratch_create();
    b->scratch = pfd_scratch_create();
    if (!b->positions || !b->records || !b->at_scratch || !b->scratch)
        return pfd_fail_memory(err, b->range * (int64_t)sizeof *b->records, "a range of records");
    return pfd_op_chain_allocate(&b->chain, b->range, err);
}

/* Chooses as the window the records that a first pass handles in the time of a round; the pass also
 * brings their bytes into the cache. */
static pfd_status choose_window(pfd_bench *b, pfd_error *err)
{
    int64_t most = b->options->window > 0 ? b->options->window : INT64_MAX;
    if (b->reader.num_records >= 0 && b->reader.num_records < most) most = b->reader.num_records;
    int64_t now = pfd_clock_ns(), round_ns = b->options->round_ns;
    int64_t deadline =
        b->options->window > 0 || round_ns > INT64_MAX - now ? INT64_MAX : now + round_ns;
    PFD_TRY(pfd_bench_run_pass(b, PFD_BENCH_DO_COMPUTE, most, deadline, &b->window, err));
    if (b->window == 0) {
        pfd_fail(err, PFD_CORRUPT_DATA, "the files have no record to measure");
        return pfd_bench_failed(b, b->reader.node, 0, PFD_CORRUPT_DATA, err);
    }
    if (!b->options->shuffled) return PFD_OK;
    if (b->reader.num_records < 0)
        return pfd_fail(err, PFD_UNSUPPORTED, "a stream has no random order to measure");
    pfd_permutation_init(&b->order, 1, b->window);
    b->shuffled = 1;
    return PFD_OK;
}

static void close_bench(pfd_bench *b)
{
    pfd_data_reader_close(&b->reader);
    pfd_op_chain_close(&b->chain);
    pfd_scratch_free(b->at_scratch);
    pfd_scratch_free(b->scratch);
    free(b->positions);
    free(b->records);
    free(b->copy);
}

/* ---- The results ----------------------------------------------------------------------------- */
static void report(const pfd_bench *b, const double *best, pfd_bench_result *out)
{
    pfd_bench_cost *fixed[] = {&out->locate, &out->read, &out->copy, &out->sum};
    double records = (double)b->window;
    for (int32_t i = 0; i < PFD_BENCH_OPS + b->chain.num_ops; i++) {
        const pfd_bench_part *counted = &b->parts[i];
        int32_t op = i - PFD_BENCH_OPS;
        pfd_bench_cost *to = op < 0 ? fixed[i] : &out->ops[op];
        *to = (pfd_bench_cost){
            .ns = best[i],
            .mallocs = (double)counted->mallocs / records,
            .malloc_bytes = (double)counted->malloc_bytes / records,
            .allocs = (double)counted->allocs / records,
            .alloc_bytes = (double)counted->alloc_bytes / records,
        };
        if (op >= 0) out->op_names[op] = b->chain.ops[op].node->op->op->name;
    }
    out->num_ops = b->chain.num_ops;
    out->num_files = b->reader.num_files;
    out->num_bytes = b->reader.num_bytes;
    out->num_records = b->reader.num_records;
    out->range_rows = b->range;
    out->window_records = b->window;
}

static pfd_status run(pfd_bench *b, const pfd_blob *blobs, int64_t num_blobs, pfd_bench_result *out,
                      pfd_error *err)
{
    double best[PFD_BENCH_PARTS];
    PFD_TRY(open_bench(b, blobs, num_blobs, out, err));
    PFD_TRY(choose_window(b, err));
    PFD_TRY(run_all(b, best, out, err));
    PFD_TRY(count_allocations(b, err));
    PFD_TRY(pfd_data_reader_check_guard(&b->reader, err));
    report(b, best, out);
    return PFD_OK;
}

pfd_status pfd_bench_check_options(const pfd_bench_options *options, pfd_error *err)
{
    if (options->rounds < 1 || options->round_ns < 1)
        return pfd_fail(err, PFD_INVALID_ARGUMENT,
                        "rounds = %d of %lld ns; both must be at least 1", options->rounds,
                        (long long)options->round_ns);
    return PFD_OK;
}

pfd_status pfd_bench_ops(const pfd_blob *blobs, int64_t num_blobs, const pfd_bench_options *options,
                         pfd_bench_result *out, pfd_error *err)
{
    PFD_TRY(pfd_bench_check_options(options, err));
    pfd_bench *b = calloc(1, sizeof *b);
    if (!b) return pfd_fail_memory(err, (int64_t)sizeof *b, "a benchmark");
    b->options = options;
    b->host = pfd_host_table();
    b->clock_ns = pfd_bench_measure_clock();
    pfd_bench_result result = {.struct_size = out->struct_size};
    pfd_status status = run(b, blobs, num_blobs, &result, err);
    close_bench(b);
    free(b);
    if (status == PFD_OK) *out = result;
    return status;
}
