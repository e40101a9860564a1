/* One pass over the records: finds a range of them, does something with it, and times the parts. */
#include "core/cpu.h"
#include "core/error.h"
#include "core/scratch.h"
#include "bench/op_bench.h"

pfd_status pfd_bench_failed(pfd_bench *b, const pfd_node *node, int64_t n, pfd_status status,
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
        pfd_bench_begin_part(b);
        status =
            source->methods->next(b->reader.source, *n, b->at_scratch, b->records, &found, err);
        pfd_bench_end_part(b, PFD_BENCH_LOCATE);
        if (status == PFD_OK && (found < 1 || found > *n))
            status = pfd_fail(err, PFD_INTERNAL, "next() yielded %lld records of at most %lld",
                              (long long)found, (long long)*n);
        *n = status == PFD_OK ? found : 0;
        if (status == PFD_END) return PFD_OK;
    } else {
        for (int64_t i = 0; i < *n; i++) b->positions[i] = begin + i;
        if (b->shuffled) pfd_permute(&b->order, b->positions, *n, b->positions);
        pfd_bench_begin_part(b);
        status = source->methods->at(source, 0, b->positions, *n, b->at_scratch, b->records, err);
        pfd_bench_end_part(b, PFD_BENCH_LOCATE);
    }
    status = pfd_check_returned(status, function, err);
    if (status == PFD_OK) return PFD_OK;
    err->row = -1; /* a record that was not found has no place */
    return pfd_bench_failed(b, b->reader.node, 0, status, err);
}

static pfd_status compute_all(pfd_bench *b, int64_t n, pfd_error *err)
{
    pfd_op_chain_clear(&b->chain, n);
    pfd_bench_begin_part(b);
    pfd_bench_touch(b, n);
    pfd_bench_end_part(b, PFD_BENCH_READ);
    for (int32_t i = 0; i < b->chain.num_ops; i++) {
        pfd_status status =
            pfd_op_chain_compute(&b->chain, i, b->host, b->records, n, b->scratch, err);
        pfd_bench_end_part(b, PFD_BENCH_OPS + i);
        if (status != PFD_OK) return pfd_bench_failed(b, b->chain.ops[i].node, n, status, err);
        if (i > 0) continue;
        pfd_op_chain_fill_reader_ports(&b->chain, b->records, n);
        pfd_bench_begin_part(b);
    }
    pfd_scratch_reset(b->scratch);
    return PFD_OK;
}

static pfd_status do_range(pfd_bench *b, pfd_bench_work what, int64_t n, pfd_error *err)
{
    PFD_TRY(pfd_bench_make_room(b, n, err));
    if (what == PFD_BENCH_DO_COMPUTE) return compute_all(b, n, err);
    pfd_bench_begin_part(b);
    if (what == PFD_BENCH_DO_COPY)
        pfd_bench_copy_data(b, n);
    else
        pfd_bench_sum_data(b, n);
    pfd_bench_end_part(b, what == PFD_BENCH_DO_COPY ? PFD_BENCH_COPY : PFD_BENCH_SUM);
    return PFD_OK;
}

pfd_status pfd_bench_run_pass(pfd_bench *b, pfd_bench_work what, int64_t most, int64_t deadline,
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
