/* Times the parts of a reader and of the ops after it, over ranges of records like those of a
 * loader. Also times a loader whose training loop does nothing else. One benchmark runs at a
 * time. */
#include "core/cpu.h"
#include "core/error.h"
#include "core/random.h"
#include "core/scratch.h"
#include "loader/plan/data_reader.h"
#include "pyflowdata_kit/kit.h"
#include "registry/attrs.h"
#include "registry/node.h"
#include "watch/interposed.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- The ops that some blobs depend on, in order, with memory for their outputs -------------- */
typedef struct pfd_chain_op {
    const pfd_node *node;
    pfd_tensor *tensors;       /* the outputs of the public op, with memory for `rows` rows */
    pfd_tensor **outputs;      /* point to `tensors` */
    const pfd_tensor **inputs; /* point to tensors of the ops before */
    uint64_t random_key;
} pfd_chain_op;

typedef struct pfd_op_chain {
    pfd_chain_op *ops; /* the reader first; each op after its inputs */
    int32_t num_ops;
    int32_t whole_batch; /* some op wants all rows of a batch at once */
    int64_t row_bytes;   /* all outputs together; a ragged one counts its description */
    int64_t rows;        /* in the tensors */
    const void *source;  /* of the reader; set before compute(); borrowed */
} pfd_op_chain;

static pfd_chain_op *find(const pfd_op_chain *chain, const pfd_node *node)
{
    for (int32_t i = 0; i < chain->num_ops; i++)
        if (chain->ops[i].node == node) return &chain->ops[i];
    return NULL;
}

static uint64_t random_key(const pfd_node *node)
{
    return pfd_random_key(0, 0, node->name[0] ? node->name : node->op->op->name);
}

/* Adds the nodes of its inputs, then this node. */
static pfd_status add_op(pfd_op_chain *chain, const pfd_node *node, pfd_error *err)
{
    if (find(chain, node)) return PFD_OK;
    const pfd_op *op = node->op->op, *public_op = node->op->public_op;
    for (uint32_t i = 0; i < op->num_inputs; i++) PFD_TRY(add_op(chain, node->inputs[i].node, err));
    if (pfd_op_is_reader(op) && chain->num_ops)
        return pfd_fail(err, PFD_UNSUPPORTED,
                        "the blobs depend on the readers %s and %s; one reader is measured at a "
                        "time",
                        chain->ops[0].node->op->op->name, op->name);
    if (!pfd_op_is_reader(op) && !chain->num_ops)
        return pfd_fail(err, PFD_UNSUPPORTED, "no reader is upstream of %s; give it an input",
                        op->name);
    pfd_chain_op *grown = realloc(chain->ops, (size_t)(chain->num_ops + 1) * sizeof *grown);
    if (!grown) return pfd_fail_memory(err, (int64_t)sizeof *grown, "an op");
    chain->ops = grown;
    pfd_chain_op *added = &grown[chain->num_ops++];
    *added = (pfd_chain_op){.node = node, .random_key = random_key(node)};
    added->tensors = calloc(public_op->num_outputs + 1, sizeof *added->tensors);
    added->outputs = calloc(public_op->num_outputs + 1, sizeof *added->outputs);
    added->inputs = calloc(op->num_inputs + 1, sizeof *added->inputs);
    if (!added->tensors || !added->outputs || !added->inputs)
        return pfd_fail_memory(err, (int64_t)sizeof *added->tensors, "an op's tensors");
    if (op->flags & PFD_WHOLE_BATCH) chain->whole_batch = 1;
    return PFD_OK;
}

static void describe(pfd_tensor *tensor, const pfd_row_type *type)
{
    int64_t bytes = pfd_dtype_size(type->dtype);
    *tensor = (pfd_tensor){.struct_size = sizeof *tensor, .type = *type};
    for (int32_t d = 0; d < type->ndim; d++) {
        if (type->shape[d] < 0) tensor->is_ragged = 1;
        bytes *= type->shape[d];
    }
    if (!tensor->is_ragged) tensor->row_bytes = bytes;
}

static int64_t memory_of_row(const pfd_tensor *tensor)
{
    return tensor->is_ragged ? (int64_t)sizeof(pfd_ragged_row) : tensor->row_bytes;
}

/* Sets pointers to tensors; the list of ops must be complete, because it moves when it grows. */
static void connect(pfd_op_chain *chain)
{
    for (int32_t i = 0; i < chain->num_ops; i++) {
        pfd_chain_op *op = &chain->ops[i];
        for (uint32_t k = 0; k < op->node->op->public_op->num_outputs; k++) {
            describe(&op->tensors[k], &op->node->outputs[k]);
            op->outputs[k] = &op->tensors[k];
            chain->row_bytes += memory_of_row(&op->tensors[k]);
        }
        for (uint32_t k = 0; k < op->node->op->op->num_inputs; k++) {
            const pfd_blob *blob = &op->node->inputs[k];
            op->inputs[k] = &find(chain, blob->node)->tensors[blob->output];
        }
    }
}

/* Collects the ops.  PFD_UNSUPPORTED: the blobs depend on several readers. A failure leaves a chain
 * that close() accepts. */
static pfd_status op_chain_open(pfd_op_chain *chain, const pfd_blob *blobs, int64_t num_blobs,
                                pfd_error *err)
{
    *chain = (pfd_op_chain){0};
    if (num_blobs < 1) return pfd_fail(err, PFD_INVALID_ARGUMENT, "no blob is given");
    for (int64_t i = 0; i < num_blobs; i++) PFD_TRY(add_op(chain, blobs[i].node, err));
    connect(chain);
    return PFD_OK;
}

static pfd_status op_chain_allocate(pfd_op_chain *chain, int64_t rows, pfd_error *err)
{
    chain->rows = rows;
    for (int32_t i = 0; i < chain->num_ops; i++) {
        pfd_chain_op *op = &chain->ops[i];
        for (uint32_t k = 0; k < op->node->op->public_op->num_outputs; k++) {
            pfd_tensor *tensor = &op->tensors[k];
            size_t bytes = ((size_t)(rows * memory_of_row(tensor)) / 64 + 1) * 64;
            void *memory = aligned_alloc(64, bytes);
            if (!memory) return pfd_fail_memory(err, (int64_t)bytes, "the rows of a range");
            memset(memory, 0, bytes);
            if (tensor->is_ragged)
                tensor->rows = memory;
            else
                tensor->data = memory;
        }
    }
    return PFD_OK;
}

static void op_chain_close(pfd_op_chain *chain)
{
    for (int32_t i = 0; i < chain->num_ops; i++) {
        pfd_chain_op *op = &chain->ops[i];
        for (uint32_t k = 0; op->tensors && k < op->node->op->public_op->num_outputs; k++) {
            free(op->tensors[k].data);
            free(op->tensors[k].rows);
        }
        free(op->tensors);
        free(op->outputs);
        free(op->inputs);
    }
    free(chain->ops);
    *chain = (pfd_op_chain){0};
}

/* Zeroes the rows of ragged outputs, as the host does before compute(). */
static void op_chain_clear(pfd_op_chain *chain, int64_t rows)
{
    for (int32_t i = 0; i < chain->num_ops; i++)
        for (uint32_t k = 0; k < chain->ops[i].node->op->public_op->num_outputs; k++) {
            pfd_tensor *tensor = &chain->ops[i].tensors[k];
            if (tensor->is_ragged) memset(tensor->rows, 0, (size_t)rows * sizeof *tensor->rows);
        }
}

/* Runs op i over n records, at most chain->rows; err->row is the row that failed. */
static pfd_status op_chain_compute(pfd_op_chain *chain, int32_t i, const pfd_host *host,
                                   const pfd_record *records, int64_t n, pfd_scratch *scratch,
                                   pfd_error *err)
{
    pfd_chain_op *op = &chain->ops[i];
    pfd_compute_args args = {.struct_size = sizeof args,
                             .host = host,
                             .attrs = pfd_attrs_struct(op->node->attrs),
                             .num_rows = n,
                             .records = records,
                             .inputs = op->inputs,
                             .outputs = op->outputs,
                             .scratch = scratch,
                             .random_key = op->random_key,
                             .num_inputs = op->node->op->op->num_inputs,
                             .num_outputs = op->node->op->op->num_outputs,
                             .source = pfd_op_is_reader(op->node->op->op) ? chain->source : NULL};
    pfd_error_clear(err);
    return pfd_check_returned(op->node->op->op->compute(&args, err), "compute", err);
}

/* Fills the outputs of a reader that the host makes: mask and id. */
static void op_chain_fill_reader_ports(pfd_op_chain *chain, const pfd_record *records, int64_t n)
{
    pfd_chain_op *reader = &chain->ops[0];
    const pfd_tensor *mask = &reader->tensors[reader->node->op->op->num_outputs];
    pfd_reader_ports_fill(records, n, mask[0].data, (int64_t *)(void *)mask[1].data);
}

/* ---- A benchmark ----------------------------------------------------------------------------- */
typedef struct pfd_malloc_count {
    int64_t calls, bytes;
} pfd_malloc_count;

/* The parts; the ops have the numbers from PFD_BENCH_OPS on. */
enum { PFD_BENCH_LOCATE, PFD_BENCH_READ, PFD_BENCH_COPY, PFD_BENCH_SUM, PFD_BENCH_OPS };

enum { PFD_BENCH_PARTS = PFD_BENCH_OPS + PFD_BENCH_MOST_OPS };

/* What a pass does with the records that it has found. */
typedef enum pfd_bench_work {
    PFD_BENCH_DO_COMPUTE,
    PFD_BENCH_DO_COPY,
    PFD_BENCH_DO_SUM
} pfd_bench_work;

typedef struct pfd_bench_part {
    int64_t ns, mallocs, malloc_bytes, allocs, alloc_bytes;
} pfd_bench_part;

typedef struct pfd_bench {
    const pfd_bench_options *options;
    pfd_op_chain chain;
    pfd_data_reader reader;
    pfd_bounds bounds; /* never cancelled */
    pfd_scratch *at_scratch, *scratch;
    int64_t range, window; /* records of a call, and of a pass */
    int64_t *positions;
    pfd_record *records; /* of the current range */
    pfd_permutation order;
    int32_t shuffled;
    uint8_t *copy;
    int64_t copy_capacity;
    uint64_t sum;  /* over a pass; its use makes the compiler keep the loops */
    int64_t bytes; /* in a pass */

    const pfd_host *host;
    int32_t counting;
    int64_t clock_ns; /* the time of reading the clock */
    int64_t last;     /* when the current part started */
    pfd_malloc_count last_mallocs;
    pfd_bench_part parts[PFD_BENCH_PARTS]; /* times of the passes since the last clearing */
} pfd_bench;

/* ---- Allocations: calls of all loaded libraries are redirected to counters ------------------- */
void *memalign(size_t alignment, size_t size); /* in no standard header */

/* The real functions, looked up before any pointer is replaced. */
static void *(*real_malloc)(size_t);

static void *(*real_calloc)(size_t, size_t);
static void *(*real_realloc)(void *, size_t);
static void *(*real_aligned_alloc)(size_t, size_t);
static int (*real_posix_memalign)(void **, size_t, size_t);
static void *(*real_memalign)(size_t, size_t);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static pthread_t counting; /* this thread's calls count; set before any pointer is replaced */
static pfd_malloc_count count;

static void add(size_t bytes)
{
    if (!pthread_equal(pthread_self(), counting)) return;
    count.calls++;
    count.bytes += (int64_t)bytes;
}

static void *counted_malloc(size_t size)
{
    add(size);
    return real_malloc(size);
}

static void *counted_calloc(size_t n, size_t size)
{
    add(n * size);
    return real_calloc(n, size);
}

static void *counted_realloc(void *memory, size_t size)
{
    add(size);
    return real_realloc(memory, size);
}

static void *counted_aligned_alloc(size_t alignment, size_t size)
{
    add(size);
    return real_aligned_alloc(alignment, size);
}

static int counted_posix_memalign(void **out, size_t alignment, size_t size)
{
    add(size);
    return real_posix_memalign(out, alignment, size);
}

static void *counted_memalign(size_t alignment, size_t size)
{
    add(size);
    return real_memalign(alignment, size);
}

static const pfd_interposed_function counters[] = {
    PFD_REDIRECT("malloc", counted_malloc),
    PFD_REDIRECT("calloc", counted_calloc),
    PFD_REDIRECT("realloc", counted_realloc),
    PFD_REDIRECT("aligned_alloc", counted_aligned_alloc),
    PFD_REDIRECT("posix_memalign", counted_posix_memalign),
    PFD_REDIRECT("memalign", counted_memalign),
};

static pfd_interposition redirected;

/* Starts counting from 0 for the calling thread, which must also end the count. Returns 0 if this
 * machine cannot count; then nothing is to be ended. */
static int32_t malloc_count_begin(void)
{
    pthread_mutex_lock(&lock);
    real_malloc = malloc;
    real_calloc = calloc;
    real_realloc = realloc;
    real_aligned_alloc = aligned_alloc;
    real_posix_memalign = posix_memalign;
    real_memalign = memalign;
    counting = pthread_self();
    int32_t can =
        pfd_interposition_open_all(&redirected, counters, sizeof counters / sizeof *counters, 0);
    count = (pfd_malloc_count){0};
    if (!can) pthread_mutex_unlock(&lock);
    return can;
}

static pfd_malloc_count malloc_count_now(void)
{
    return count;
}

static void malloc_count_end(void)
{
    pfd_interposition_close(&redirected);
    pthread_mutex_unlock(&lock);
}

/* ---- The clock and the counters of a part ---------------------------------------------------- */
static _Thread_local int64_t num_allocs, num_alloc_bytes;

static void *counted_alloc(pfd_scratch *scratch, int64_t bytes)
{
    num_allocs++;
    num_alloc_bytes += bytes;
    return pfd_scratch_alloc(scratch, bytes);
}

/* Makes a copy of the product's host whose alloc() counts for bench_end_part(). */
static void bench_make_counting_host(pfd_host *host)
{
    *host = *pfd_host_table();
    host->alloc = counted_alloc;
}

static int64_t bench_measure_clock(void)
{
    int64_t best = INT64_MAX;
    for (int i = 0; i < 1000; i++) {
        int64_t first = pfd_clock_ns(), took = pfd_clock_ns() - first;
        if (took < best) best = took;
    }
    return best;
}

static void bench_begin_part(pfd_bench *b)
{
    num_allocs = num_alloc_bytes = 0;
    if (b->counting) b->last_mallocs = malloc_count_now();
    b->last = pfd_clock_ns();
}

/* Adds the time since the last call to `part`, and starts the next part. */
static void bench_end_part(pfd_bench *b, int32_t part)
{
    int64_t ns = pfd_clock_ns() - b->last - b->clock_ns;
    pfd_bench_part *to = &b->parts[part];
    to->ns += ns > 0 ? ns : 0;
    if (b->counting) {
        pfd_malloc_count now = malloc_count_now();
        to->mallocs += now.calls - b->last_mallocs.calls;
        to->malloc_bytes += now.bytes - b->last_mallocs.bytes;
        to->allocs += num_allocs;
        to->alloc_bytes += num_alloc_bytes;
    }
    bench_begin_part(b);
}

/* ---- What memory allows: touching, copying and summing records ------------------------------- */
enum { CACHE_LINE = 64 };

#define IS_LITTLE_ENDIAN (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)

/* Reads a byte of each cache line of the first n of b->records. */
static void bench_touch(pfd_bench *b, int64_t n)
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

/* Sums the bytes of the first n records as 64-bit words. */
static void bench_sum_data(pfd_bench *b, int64_t n)
{
    uint64_t sum = 0;
    for (int64_t i = 0; i < n; i++) sum += sum_words(b->records[i].data, b->records[i].size);
    b->sum += sum;
}

/* Counts the bytes of the first n records, and makes room for them in b->copy. */
static pfd_status bench_make_room(pfd_bench *b, int64_t n, pfd_error *err)
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

static void bench_copy_data(pfd_bench *b, int64_t n)
{
    uint8_t *to = b->copy;
    for (int64_t i = 0; i < n; i++) {
        const pfd_record *record = &b->records[i];
        if (record->size > 0) memcpy(to, record->data, (size_t)record->size);
        to += record->size;
    }
    if (b->copy) b->sum += b->copy[0];
}

/* ---- One pass over the records of the window ------------------------------------------------- */

/* Adds to the error of a node's function which of the n current records it was, and the op. */
static pfd_status bench_failed(pfd_bench *b, const pfd_node *node, int64_t n, pfd_status status,
                               pfd_error *err)
{
    const pfd_record *record = err->row >= 0 && err->row < n ? &b->records[err->row] : NULL;
    pfd_data_reader_locate(&b->reader, record, err);
    pfd_error_set_op(err, node->op->op->name);
    return status;
}

/* Finds the records from position `begin` on, at most *n; at the end of a stream *n becomes 0. */
static pfd_status find_records(pfd_bench *b, int64_t begin, int64_t *n, pfd_error *err)
{
    const pfd_dataset *source = b->reader.source;
    const char *function = b->reader.num_records < 0 ? "next" : "at";
    pfd_status status;
    pfd_error_clear(err);
    if (b->reader.num_records < 0) {
        int64_t found = 0;
        bench_begin_part(b);
        status =
            source->methods->next(b->reader.source, *n, b->at_scratch, b->records, &found, err);
        bench_end_part(b, PFD_BENCH_LOCATE);
        if (status == PFD_OK && (found < 1 || found > *n))
            status = pfd_fail(err, PFD_INTERNAL, "next() yielded %lld records of at most %lld",
                              (long long)found, (long long)*n);
        *n = status == PFD_OK ? found : 0;
        if (status == PFD_END) return PFD_OK;
    } else {
        for (int64_t i = 0; i < *n; i++) b->positions[i] = begin + i;
        if (b->shuffled) pfd_permute(&b->order, b->positions, *n, b->positions);
        bench_begin_part(b);
        status = source->methods->at(source, 0, b->positions, *n, b->at_scratch, b->records, err);
        bench_end_part(b, PFD_BENCH_LOCATE);
    }
    status = pfd_check_returned(status, function, err);
    if (status == PFD_OK) return PFD_OK;
    err->row = -1; /* a record that was not found has no place */
    return bench_failed(b, b->reader.node, 0, status, err);
}

static pfd_status compute_all(pfd_bench *b, int64_t n, pfd_error *err)
{
    op_chain_clear(&b->chain, n);
    bench_begin_part(b);
    bench_touch(b, n);
    bench_end_part(b, PFD_BENCH_READ);
    for (int32_t i = 0; i < b->chain.num_ops; i++) {
        pfd_status status =
            op_chain_compute(&b->chain, i, b->host, b->records, n, b->scratch, err);
        bench_end_part(b, PFD_BENCH_OPS + i);
        if (status != PFD_OK) return bench_failed(b, b->chain.ops[i].node, n, status, err);
        if (i > 0) continue;
        op_chain_fill_reader_ports(&b->chain, b->records, n);
        bench_begin_part(b);
    }
    pfd_scratch_reset(b->scratch);
    return PFD_OK;
}

static pfd_status do_range(pfd_bench *b, pfd_bench_work what, int64_t n, pfd_error *err)
{
    PFD_TRY(bench_make_room(b, n, err));
    if (what == PFD_BENCH_DO_COMPUTE) return compute_all(b, n, err);
    bench_begin_part(b);
    if (what == PFD_BENCH_DO_COPY)
        bench_copy_data(b, n);
    else
        bench_sum_data(b, n);
    bench_end_part(b, what == PFD_BENCH_DO_COPY ? PFD_BENCH_COPY : PFD_BENCH_SUM);
    return PFD_OK;
}

/* Passes over the first `most` records, or until `deadline`, but over one range at least. *done is
 * the number of records. */
static pfd_status bench_run_pass(pfd_bench *b, pfd_bench_work what, int64_t most, int64_t deadline,
                                 int64_t *done, pfd_error *err)
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
    /* Where rounds are far slower than the choice of the window expected, fewer rounds are run. */
    int64_t longest = round_ns > INT64_MAX / 4 / b->options->rounds
                          ? INT64_MAX / 2
                          : 2 * b->options->rounds * round_ns;
    for (int32_t i = 0; i < PFD_BENCH_PARTS; i++) best[i] = 1e300;
    for (int32_t round = 0; round < b->options->rounds; round++) {
        int64_t records = 0, done, round_began = pfd_clock_ns();
        memset(b->parts, 0, sizeof b->parts);
        do {
            PFD_TRY(bench_run_pass(b, what, b->window, INT64_MAX, &done, err));
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

/* Counts the allocations of one pass, which is not timed. */
static pfd_status count_allocations(pfd_bench *b, pfd_error *err)
{
    pfd_host host;
    int64_t done;
    bench_make_counting_host(&host);
    memset(b->parts, 0, sizeof b->parts);
    b->host = &host;
    b->counting = 1;
    int32_t counts_mallocs = malloc_count_begin();
    pfd_status status =
        bench_run_pass(b, PFD_BENCH_DO_COMPUTE, b->window, INT64_MAX, &done, err);
    if (counts_mallocs) malloc_count_end();
    b->host = pfd_host_table();
    b->counting = 0;
    for (int32_t i = 0; !counts_mallocs && i < PFD_BENCH_PARTS; i++)
        b->parts[i].mallocs = b->parts[i].malloc_bytes = -done;
    return status;
}

/* ---- Opening --------------------------------------------------------------------------------- */
/* Chooses the length of a range, as a loader does. */
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
        PFD_TRY(
            pfd_data_reader_open(&b->reader, b->chain.ops[0].node, b->chain.ops[0].node, 0, 0,
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
    PFD_TRY(op_chain_open(&b->chain, blobs, num_blobs, err));
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
    return op_chain_allocate(&b->chain, b->range, err);
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
    PFD_TRY(bench_run_pass(b, PFD_BENCH_DO_COMPUTE, most, deadline, &b->window, err));
    if (b->window == 0) {
        pfd_fail(err, PFD_CORRUPT_DATA, "the files have no record to measure");
        return bench_failed(b, b->reader.node, 0, PFD_CORRUPT_DATA, err);
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
    op_chain_close(&b->chain);
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

static pfd_status bench_check_options(const pfd_bench_options *options, pfd_error *err)
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
    PFD_TRY(bench_check_options(options, err));
    pfd_bench *b = calloc(1, sizeof *b);
    if (!b) return pfd_fail_memory(err, (int64_t)sizeof *b, "a benchmark");
    b->options = options;
    b->host = pfd_host_table();
    b->clock_ns = bench_measure_clock();
    pfd_bench_result result = {.struct_size = out->struct_size};
    pfd_status status = run(b, blobs, num_blobs, &result, err);
    close_bench(b);
    free(b);
    if (status == PFD_OK) *out = result;
    return status;
}

/* ---- A loader -------------------------------------------------------------------------------- */
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
    PFD_TRY(bench_check_options(options, err));
    PFD_TRY(pfd_loader_open(loader_options, blobs, num_blobs, &loader, err));
    pfd_status status = take_batches(loader, options->round_ns / 4, &warm, err);
    for (int32_t i = 0; status == PFD_OK && i < options->rounds; i++)
        status = take_batches(loader, options->round_ns, &best, err);
    pfd_loader_release(loader);
    if (status == PFD_OK) *records_per_second = best;
    return status;
}
