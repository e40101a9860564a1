/* bench/op_bench.h -- the state of one benchmark of ops, and the parts that it times.
 *
 *   bench_parts.c   the clock and the counters of a part
 *   bench_memory.c  what memory allows: touching, copying and summing the records
 *   bench_pass.c    one pass over the records of the window
 *   op_bench.c      opens all, chooses the window, and takes the best of some rounds
 *
 * THREADS  One at a time.
 */
#ifndef PFD_KIT_OP_BENCH_H
#define PFD_KIT_OP_BENCH_H
#include "bench/malloc_count.h"
#include "bench/op_chain.h"
#include "core/random.h"
#include "loader/plan/data_reader.h"
#include "pyflowdata_kit/kit.h"

/* The parts; those of the ops begin at PFD_BENCH_OPS. */
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
    uint64_t sum;  /* of a pass; also what makes the compiler keep the loops */
    int64_t bytes; /* of a pass */

    const pfd_host *host;
    int32_t counting;
    int64_t clock_ns; /* that reading the clock takes */
    int64_t last;     /* when the current part started */
    pfd_malloc_count last_mallocs;
    pfd_bench_part parts[PFD_BENCH_PARTS]; /* of the passes since they were cleared */
} pfd_bench;

pfd_status pfd_bench_check_options(const pfd_bench_options *options, pfd_error *err);

/* bench_parts.c */
int64_t pfd_bench_measure_clock(void);
/* The product's host, but that alloc() counts for pfd_bench_end_part(). */
void pfd_bench_make_counting_host(pfd_host *host);
void pfd_bench_begin_part(pfd_bench *b);
/* Adds the time since the last call to `part`, and starts the next part. */
void pfd_bench_end_part(pfd_bench *b, int32_t part);

/* bench_memory.c: all over the first n of b->records. */
void pfd_bench_touch(pfd_bench *b, int64_t n); /* each cache line */
/* Counts their bytes, and has room for all of them in b->copy. */
pfd_status pfd_bench_make_room(pfd_bench *b, int64_t n, pfd_error *err);
void pfd_bench_copy_data(pfd_bench *b, int64_t n);
void pfd_bench_sum_data(pfd_bench *b, int64_t n); /* as 64-bit words */

/* bench_pass.c: over the first `most` records, or until `deadline`, but one range at least; *done:
 * how many they were. */
pfd_status pfd_bench_run_pass(pfd_bench *b, pfd_bench_work what, int64_t most, int64_t deadline,
                              int64_t *done, pfd_error *err);
/* Adds to the error of a node's function which of the n current records it was, and the op. */
pfd_status pfd_bench_failed(pfd_bench *b, const pfd_node *node, int64_t n, pfd_status status,
                            pfd_error *err);
#endif
