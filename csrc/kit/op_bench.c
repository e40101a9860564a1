/* Times the parts of a reader and of the ops behind it, over ranges of records as a loader has. */
#include "core/cpu.h"
#include "core/error.h"
#include "core/permutation.h"
#include "kit/malloc_count.h"
#include "kit/op_bench.h"
#include "kit/op_chain.h"
#include "loader/data_reader.h"

#include <stdlib.h>
#include <string.h>

enum { RANGE_BYTES = 64 * 1024, CACHE_LINE = 64, LOCATE = 0, READ, COPY, SUM, OPS };
enum { NUM_PARTS = OPS + PFD_BENCH_MOST_OPS };

#define IS_LITTLE_ENDIAN (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)

/* What a pass over the window does with the records that it has found. */
typedef enum work { COMPUTE, COPY_DATA, SUM_DATA } work;

typedef struct cost {
    int64_t ns, mallocs, malloc_bytes, allocs, alloc_bytes;
} cost;

typedef struct bench {
    const pfd_bench_options *options;
    pfd_op_chain chain;
    pfd_data_reader reader;
    pfd_bounds bounds; /* never cancelled */
    pfd_scratch *at_scratch, *scratch;
    int64_t range, window;
    int64_t *positions;
    pfd_record *records;
    pfd_permutation order;
    int32_t shuffled;
    uint8_t *copy;
    int64_t copy_capacity;
    uint64_t sum;  /* of a pass; also what makes the compiler keep the loops */
    int64_t bytes; /* of a pass */

    const pfd_host *host;
    int32_t counting;
    int64_t clock_ns; /* that reading the clock takes */
    int64_t last;     /* when the part at hand began */
    pfd_malloc_count last_mallocs;
    cost parts[NUM_PARTS]; /* of the passes since they were cleared */
} bench;

/* ---- The host that counts -------------------------------------------------------------------- */
static _Thread_local int64_t num_allocs, num_alloc_bytes;

static void *counted_alloc(pfd_scratch *scratch, int64_t bytes)
{
    num_allocs++;
    num_alloc_bytes += bytes;
    return pfd_scratch_alloc(scratch, bytes);
}

static void make_counting_host(pfd_host *host)
{
    *host = *pfd_host_table();
    host->alloc = counted_alloc;
}

/* ---- Clock ----------------------------------------------------------------------------------- */
static int64_t measure_clock(void)
{
    int64_t best = INT64_MAX;
    for (int i = 0; i < 1000; i++) {
        int64_t first = pfd_clock_ns(), took = pfd_clock_ns() - first;
        if (took < best) best = took;
    }
    return best;
}

static void begin_parts(bench *b)
{
    num_allocs = num_alloc_bytes = 0;
    if (b->counting) b->last_mallocs = pfd_malloc_count_now();
    b->last = pfd_clock_ns();
}

/* What was done since the last call belongs to `part`. */
static void end_part(bench *b, int32_t part)
{
    int64_t ns = pfd_clock_ns() - b->last - b->clock_ns;
    cost *to = &b->parts[part];
    to->ns += ns > 0 ? ns : 0;
    if (b->counting) {
        pfd_malloc_count now = pfd_malloc_count_now();
        to->mallocs += now.calls - b->last_mallocs.calls;
        to->malloc_bytes += now.bytes - b->last_mallocs.bytes;
        to->allocs += num_allocs;
        to->alloc_bytes += num_alloc_bytes;
    }
    begin_parts(b);
}

/* ---- The parts ------------------------------------------------------------------------------- */
static void touch(bench *b, int64_t n)
{
    uint64_t sum = 0;
    for (int64_t i = 0; i < n; i++) {
        const pfd_record *record = &b->records[i];
        for (int64_t at = 0; at < record->size; at += CACHE_LINE) sum += record->data[at];
        if (record->size > 0) sum += record->data[record->size - 1];
    }
    b->sum += sum;
}

static uint64_t sum_words(const uint8_t *data, int64_t size)
{
    uint64_t sum = 0, word;
    int64_t at = 0;
    for (; at + 8 <= size; at += 8) {
        memcpy(&word, data + at, 8);
        sum += word;
    }
    if (at == size) return sum;
    word = 0;
    if (size < 8 || !IS_LITTLE_ENDIAN) {
        memcpy(&word, data + at, (size_t)(size - at));
    } else { /* without a loop: the last word of the record, less what was summed already */
        memcpy(&word, data + size - 8, 8);
        word >>= 8 * (8 - (size - at));
    }
    return sum + word;
}

static void sum_data(bench *b, int64_t n)
{
    uint64_t sum = 0;
    for (int64_t i = 0; i < n; i++) sum += sum_words(b->records[i].data, b->records[i].size);
    b->sum += sum;
}

static pfd_status make_room(bench *b, int64_t n, pfd_error *err)
{
    int64_t bytes = 0;
    for (int64_t i = 0; i < n; i++) bytes += b->records[i].size;
    b->bytes += bytes;
    if (bytes <= b->copy_capacity) return PFD_OK;
    uint8_t *grown = realloc(b->copy, (size_t)bytes);
    if (!grown) return pfd_fail_memory(err, bytes, "a copy of a range's data");
    memset(grown, 0, (size_t)bytes);
    b->copy = grown;
    b->copy_capacity = bytes;
    return PFD_OK;
}

static void copy_data(bench *b, int64_t n)
{
    uint8_t *to = b->copy;
    for (int64_t i = 0; i < n; i++) {
        const pfd_record *record = &b->records[i];
        if (record->size > 0) memcpy(to, record->data, (size_t)record->size);
        to += record->size;
    }
    if (b->copy) b->sum += b->copy[0];
}

/* ---- A pass ---------------------------------------------------------------------------------- */
static pfd_status failed(bench *b, const pfd_node *node, int64_t n, pfd_status status,
                         pfd_error *err)
{
    const pfd_record *record = err->row >= 0 && err->row < n ? &b->records[err->row] : NULL;
    pfd_data_reader_locate(&b->reader, record, err);
    pfd_error_set_op(err, node->op->op->name);
    return status;
}

/* The records from place `begin` on, *n at most; 0 of them at the end of a stream. */
static pfd_status find_records(bench *b, int64_t begin, int64_t *n, pfd_error *err)
{
    const pfd_dataset *source = b->reader.source;
    const char *function = b->reader.num_records < 0 ? "next" : "at";
    pfd_status status;
    pfd_error_clear(err);
    if (b->reader.num_records < 0) {
        int64_t found = 0;
        begin_parts(b);
        status =
            source->methods->next(b->reader.source, *n, b->at_scratch, b->records, &found, err);
        end_part(b, LOCATE);
        if (status == PFD_OK && (found < 1 || found > *n))
            status = pfd_fail(err, PFD_INTERNAL, "next() yielded %lld records of at most %lld",
                              (long long)found, (long long)*n);
        *n = status == PFD_OK ? found : 0;
        if (status == PFD_END) return PFD_OK;
    } else {
        for (int64_t i = 0; i < *n; i++) b->positions[i] = begin + i;
        if (b->shuffled) pfd_permute(&b->order, b->positions, *n, b->positions);
        begin_parts(b);
        status = source->methods->at(source, 0, b->positions, *n, b->at_scratch, b->records, err);
        end_part(b, LOCATE);
    }
    status = pfd_check_returned(status, function, err);
    if (status == PFD_OK) return PFD_OK;
    err->row = -1; /* what was not found has no place */
    return failed(b, b->reader.node, 0, status, err);
}

static pfd_status compute_all(bench *b, int64_t n, pfd_error *err)
{
    pfd_op_chain_clear(&b->chain, n);
    begin_parts(b);
    touch(b, n);
    end_part(b, READ);
    for (int32_t i = 0; i < b->chain.num_ops; i++) {
        pfd_status status =
            pfd_op_chain_compute(&b->chain, i, b->host, b->records, n, b->scratch, err);
        end_part(b, OPS + i);
        if (status != PFD_OK) return failed(b, b->chain.ops[i].node, n, status, err);
        if (i > 0) continue;
        pfd_op_chain_fill_reader_ports(&b->chain, b->records, n);
        begin_parts(b);
    }
    pfd_scratch_reset(b->scratch);
    return PFD_OK;
}

static pfd_status do_range(bench *b, work what, int64_t n, pfd_error *err)
{
    PFD_TRY(make_room(b, n, err));
    if (what == COMPUTE) return compute_all(b, n, err);
    begin_parts(b);
    if (what == COPY_DATA)
        copy_data(b, n);
    else
        sum_data(b, n);
    end_part(b, what == COPY_DATA ? COPY : SUM);
    return PFD_OK;
}

/* Over the first `most` records, or until `deadline`, but a range at least; *done is how many it
 * were. */
static pfd_status run_pass(bench *b, work what, int64_t most, int64_t deadline, int64_t *done,
                           pfd_error *err)
{
    *done = 0;
    b->sum = 0;
    b->bytes = 0;
    if (b->reader.num_records < 0) {
        pfd_error_clear(err);
        pfd_status status = pfd_dataset_seek(b->reader.source, 0, 0, err);
        PFD_TRY(pfd_check_returned(status, "seek", err));
    }
    while (*done < most && (*done == 0 || pfd_clock_ns() < deadline)) {
        int64_t n = most - *done < b->range ? most - *done : b->range;
        PFD_TRY(find_records(b, *done, &n, err));
        if (n == 0) break;
        PFD_TRY(do_range(b, what, n, err));
        pfd_scratch_reset(b->at_scratch);
        *done += n;
    }
    return PFD_OK;
}

/* ---- Rounds ---------------------------------------------------------------------------------- */
static void keep_best(bench *b, double *best, int64_t records)
{
    for (int32_t i = 0; i < NUM_PARTS; i++) {
        double ns = (double)b->parts[i].ns / (double)records;
        if (ns < best[i]) best[i] = ns;
    }
}

/* Rounds of passes over the window; best[] is the time of each part. */
static pfd_status run_rounds(bench *b, work what, double *best, pfd_error *err)
{
    int64_t round_ns = b->options->round_ns, began = pfd_clock_ns();
    /* What is far slower than when the window was chosen is not waited for in every round. */
    int64_t longest = round_ns > INT64_MAX / 4 / b->options->rounds
                          ? INT64_MAX / 2
                          : 2 * b->options->rounds * round_ns;
    for (int32_t i = 0; i < NUM_PARTS; i++) best[i] = 1e300;
    for (int32_t round = 0; round < b->options->rounds; round++) {
        int64_t records = 0, done, round_began = pfd_clock_ns();
        memset(b->parts, 0, sizeof b->parts);
        do {
            PFD_TRY(run_pass(b, what, b->window, INT64_MAX, &done, err));
            if (done != b->window)
                return pfd_fail(err, PFD_INTERNAL,
                                "the source yielded %lld records, then %lld: a seek() to 0 must "
                                "begin anew",
                                (long long)b->window, (long long)done);
            records += done;
        } while (pfd_clock_ns() - round_began < round_ns);
        keep_best(b, best, records);
        if (pfd_clock_ns() - began > longest) break;
    }
    return PFD_OK;
}

static pfd_status run_all(bench *b, double *best, pfd_bench_result *out, pfd_error *err)
{
    double copying[NUM_PARTS], summing[NUM_PARTS];
    PFD_TRY(run_rounds(b, COMPUTE, best, err));
    PFD_TRY(run_rounds(b, COPY_DATA, copying, err));
    PFD_TRY(run_rounds(b, SUM_DATA, summing, err));
    best[COPY] = copying[COPY];
    best[SUM] = summing[SUM];
    out->window_bytes = b->bytes;
    out->window_sum = b->sum;
    return PFD_OK;
}

/* One pass, not timed. */
static pfd_status count_allocations(bench *b, pfd_error *err)
{
    pfd_host host;
    int64_t done;
    make_counting_host(&host);
    memset(b->parts, 0, sizeof b->parts);
    b->host = &host;
    b->counting = 1;
    int32_t counts_mallocs = pfd_malloc_count_begin();
    pfd_status status = run_pass(b, COMPUTE, b->window, INT64_MAX, &done, err);
    if (counts_mallocs) pfd_malloc_count_end();
    b->host = pfd_host_table();
    b->counting = 0;
    for (int32_t i = 0; !counts_mallocs && i < NUM_PARTS; i++)
        b->parts[i].mallocs = b->parts[i].malloc_bytes = -done;
    return status;
}

/* ---- Opening --------------------------------------------------------------------------------- */
/* As a loader chooses its row ranges. */
static int64_t choose_range(const bench *b)
{
    int64_t batch = b->reader.local_batch_size, row = 1 + b->chain.row_bytes;
    if (b->chain.whole_batch) return batch;
    row += (int64_t)sizeof(pfd_record);
    if (b->reader.num_records > 0) row += b->reader.num_bytes / b->reader.num_records;
    int64_t rows = RANGE_BYTES / row;
    if (rows < 1) rows = 1;
    if (rows > batch) rows = batch;
    int64_t ranges = (batch - 1) / rows + 1;
    return (batch - 1) / ranges + 1;
}

static pfd_status open_reader(bench *b, double *best_ns, pfd_error *err)
{
    int64_t began = pfd_clock_ns();
    *best_ns = 1e300;
    for (int32_t round = 0; round < b->options->rounds; round++) {
        int64_t round_began = pfd_clock_ns();
        pfd_data_reader_close(&b->reader);
        PFD_TRY(pfd_data_reader_open(&b->reader, b->chain.ops[0].node, 0, pfd_draw_seed(),
                                     &b->bounds, err));
        int64_t now = pfd_clock_ns();
        if ((double)(now - round_began) < *best_ns) *best_ns = (double)(now - round_began);
        if (now - began > b->options->round_ns) break;
    }
    return PFD_OK;
}

static pfd_status open_bench(bench *b, const pfd_blob *blobs, int64_t num_blobs,
                             pfd_bench_result *out, pfd_error *err)
{
    PFD_TRY(pfd_op_chain_open(&b->chain, blobs, num_blobs, err));
    if (b->chain.num_ops > PFD_BENCH_MOST_OPS)
        return pfd_fail(err, PFD_UNSUPPORTED, "%d ops are behind the blobs; %d can be measured",
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

/* The window is what a first pass gets done in a round's time; it also brings the bytes near. */
static pfd_status choose_window(bench *b, pfd_error *err)
{
    int64_t most = b->options->window > 0 ? b->options->window : INT64_MAX;
    if (b->reader.num_records >= 0 && b->reader.num_records < most) most = b->reader.num_records;
    int64_t now = pfd_clock_ns(), round_ns = b->options->round_ns;
    int64_t deadline =
        b->options->window > 0 || round_ns > INT64_MAX - now ? INT64_MAX : now + round_ns;
    PFD_TRY(run_pass(b, COMPUTE, most, deadline, &b->window, err));
    if (b->window == 0) {
        pfd_fail(err, PFD_CORRUPT_DATA, "there is not one record to measure");
        return failed(b, b->reader.node, 0, PFD_CORRUPT_DATA, err);
    }
    if (!b->options->shuffled) return PFD_OK;
    if (b->reader.num_records < 0)
        return pfd_fail(err, PFD_UNSUPPORTED, "a stream has no random order to measure");
    pfd_permutation_init(&b->order, 1, b->window);
    b->shuffled = 1;
    return PFD_OK;
}

static void close_bench(bench *b)
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
static void report(const bench *b, const double *best, pfd_bench_result *out)
{
    pfd_bench_cost *fixed[] = {&out->locate, &out->read, &out->copy, &out->sum};
    double records = (double)b->window;
    for (int32_t i = 0; i < OPS + b->chain.num_ops; i++) {
        const cost *counted = &b->parts[i];
        pfd_bench_cost *to = i < OPS ? fixed[i] : &out->ops[i - OPS];
        *to = (pfd_bench_cost){
            .ns = best[i],
            .mallocs = (double)counted->mallocs / records,
            .malloc_bytes = (double)counted->malloc_bytes / records,
            .allocs = (double)counted->allocs / records,
            .alloc_bytes = (double)counted->alloc_bytes / records,
        };
        if (i >= OPS) out->op_names[i - OPS] = b->chain.ops[i - OPS].node->op->op->name;
    }
    out->num_ops = b->chain.num_ops;
    out->num_files = b->reader.num_files;
    out->num_bytes = b->reader.num_bytes;
    out->num_records = b->reader.num_records;
    out->range_rows = b->range;
    out->window_records = b->window;
}

static pfd_status run(bench *b, const pfd_blob *blobs, int64_t num_blobs, pfd_bench_result *out,
                      pfd_error *err)
{
    double best[NUM_PARTS];
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
    bench *b = calloc(1, sizeof *b);
    if (!b) return pfd_fail_memory(err, (int64_t)sizeof *b, "a benchmark");
    b->options = options;
    b->host = pfd_host_table();
    b->clock_ns = measure_clock();
    pfd_bench_result result = {.struct_size = out->struct_size};
    pfd_status status = run(b, blobs, num_blobs, &result, err);
    close_bench(b);
    free(b);
    if (status == PFD_OK) *out = result;
    return status;
}
