/* Goes through the records of a source in some order, and computes them. */
#include "check/visit_records.h"

#include "core/error.h"
#include "core/random.h"

#include <inttypes.h>
#include <stdlib.h>

enum { most_stream_failures = 64 };

int32_t pfd_kit_visit_open(pfd_kit_visit *visit)
{
    size_t range = (size_t)visit->call.run->options->range;
    visit->records = calloc(range, sizeof *visit->records);
    visit->indices = calloc(range, 2 * sizeof *visit->indices);
    visit->found = calloc(range, 2 * sizeof *visit->found);
    pfd_kit_active = &visit->call;
    pfd_error_init(&visit->err);
    return pfd_kit_scratch_open(&visit->scratch) && visit->records && visit->indices &&
           visit->found;
}

void pfd_kit_visit_close(pfd_kit_visit *visit)
{
    pfd_kit_scratch_reset(&visit->scratch, visit->call.run, "at()");
    pfd_kit_scratch_close(&visit->scratch);
    free(visit->records);
    free(visit->indices);
    free(visit->found);
    pfd_kit_active = NULL;
}

/* ---- What was found -------------------------------------------------------------------------- */
static const char *against(const pfd_kit_visit *visit)
{
    if (visit->call.run->options->num_threads > 1) return "by several threads at once";
    return visit->order == PFD_KIT_SHUFFLED ? "again in another order" : "again";
}

static void note_span(pfd_kit_visit *visit, int64_t index, const pfd_record *record)
{
    if (!visit->hashes.spans || index >= visit->hashes.size) return;
    pthread_mutex_lock(visit->hashes.lock);
    visit->hashes.spans[index] = (pfd_kit_span){record->offset, record->size, record->file};
    pthread_mutex_unlock(visit->hashes.lock);
}

static void note(pfd_kit_visit *visit, int64_t index, uint64_t record, uint64_t row)
{
    if (index >= visit->hashes.size) return;
    uint64_t *known_record = &visit->hashes.records[index], *known_row = &visit->hashes.rows[index];
    pthread_mutex_lock(visit->hashes.lock);
    int32_t other_record = *known_record != 0 && *known_record != record;
    int32_t other_row = *known_row != 0 && *known_row != row;
    if (!*known_record) *known_record = record;
    if (!*known_row) *known_row = row;
    pthread_mutex_unlock(visit->hashes.lock);
    if (visit->call.run->injected) return;
    int32_t threads = visit->call.run->options->num_threads > 1;
    if (other_record && visit->call.run->round > 0 && !threads)
        pfd_kit_report(visit->call.run, "open-not-repeatable",
                       "record %" PRId64 " is another one after the reader was closed and opened "
                       "again: which record stands where must depend on files and attrs alone, not "
                       "on time, randomness, addresses or the order of a directory",
                       index);
    else if (other_record)
        pfd_kit_report(visit->call.run, threads ? "threads-differ" : "at-not-pure",
                       "record %" PRId64 " is another one when it is asked for %s: at() must be a "
                       "pure function of the ordinals; keep no cursor or cache in the source that "
                       "at() changes",
                       index, against(visit));
    else if (other_row && record != 1)
        pfd_kit_report(visit->call.run, threads ? "threads-differ" : "not-repeatable",
                       "the outputs of record %" PRId64 " are others when it is computed %s: "
                       "compute() must keep no state between calls and rows, and must not depend "
                       "on thread, time or the rows before",
                       index, against(visit));
}

static void count_failed(pfd_kit_visit *visit)
{
    pthread_mutex_lock(visit->hashes.lock);
    visit->call.run->result->num_failed++;
    pthread_mutex_unlock(visit->hashes.lock);
}

/* ---- Computing ------------------------------------------------------------------------------- */
static pfd_status compute_rows(pfd_kit_visit *visit, const pfd_record *records,
                               const int64_t *indices, int64_t n);

/* Computes row by row, so that one damaged record is one failure. */
static pfd_status compute_singly(pfd_kit_visit *visit, const pfd_record *records,
                                 const int64_t *indices, int64_t n)
{
    const uint64_t *row = visit->found + visit->call.run->options->range;
    int64_t named = visit->err.row;
    int32_t whole = (visit->call.run->node->op->op->flags & PFD_WHOLE_BATCH) != 0;
    for (int64_t i = 0; i < n; i++) {
        PFD_TRY(compute_rows(visit, records + i, indices + i, 1));
        if (i == named && *row != 1 && !whole && !visit->call.run->injected)
            pfd_kit_report(visit->call.run, "row-wrong",
                           "%s failed with PFD_CORRUPT_DATA and err->row = %" PRId64 " of %" PRId64
                           " rows (record %" PRId64
                           "), and that record alone can be computed: err->row counts from 0 in "
                           "the call's rows, not in the dataset",
                           visit->call.function, named, n, records[i].ordinal);
    }
    return PFD_OK;
}

static pfd_status compute_rows(pfd_kit_visit *visit, const pfd_record *records,
                               const int64_t *indices, int64_t n)
{
    uint64_t *found = visit->found, *rows = visit->found + visit->call.run->options->range;
    for (int64_t i = 0; i < n; i++) {
        found[i] = pfd_kit_hash_record(&visit->call, &records[i]);
        note_span(visit, indices[i], &records[i]);
    }
    pfd_status status = pfd_kit_compute(&visit->call, records, n, rows, &visit->err);
    if (status == PFD_CORRUPT_DATA && n > 1) return compute_singly(visit, records, indices, n);
    if (status == PFD_CORRUPT_DATA) {
        count_failed(visit);
        rows[0] = 1;
        status = PFD_OK;
    }
    for (int64_t i = 0; status == PFD_OK && i < n; i++) note(visit, indices[i], found[i], rows[i]);
    return status;
}

/* ---- Random access --------------------------------------------------------------------------- */
static pfd_status visit_range(pfd_kit_visit *visit, const int64_t *indices, int64_t n)
{
    const pfd_kit_visit *v = visit;
    int64_t *ordinals = visit->indices + v->call.run->options->range;
    pfd_status status = PFD_OK;
    for (int64_t i = 0; i < n; i++) {
        ordinals[i] = pfd_kit_ordinal(indices[i], v->n, v->source->size);
        if (v->gathered) visit->records[i] = v->gathered[indices[i]];
    }
    if (!v->gathered)
        status = pfd_kit_source_at(&visit->call, v->source, ordinals, n, &visit->scratch,
                                   visit->records, &visit->err);
    if (status == PFD_OK) status = compute_rows(visit, visit->records, indices, n);
    pfd_kit_scratch_reset(&visit->scratch, v->call.run, "at()");
    return status;
}

static pfd_status visit_singly(pfd_kit_visit *visit, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        pfd_status status = visit_range(visit, visit->indices + i, 1);
        if (status == PFD_CORRUPT_DATA) {
            count_failed(visit);
            note(visit, visit->indices[i], 1, 1);
            status = PFD_OK;
        }
        PFD_TRY(status);
    }
    return PFD_OK;
}

static int64_t index_of(const pfd_kit_visit *visit, const pfd_permutation *shuffled, int64_t i)
{
    if (visit->order == PFD_KIT_BACKWARD) return visit->n - 1 - i;
    if (visit->order != PFD_KIT_SHUFFLED) return i;
    int64_t index;
    pfd_permute(shuffled, &i, 1, &index);
    return index / 2;
}

pfd_status pfd_kit_visit_some(pfd_kit_visit *visit)
{
    int64_t range = visit->call.run->options->range;
    int64_t n = visit->order == PFD_KIT_SHUFFLED ? 2 * visit->n : visit->n;
    int64_t begin = visit->begin, rows = n - begin < range ? n - begin : range;
    pfd_permutation shuffled;
    if (rows <= 0) return PFD_END;
    pfd_permutation_init(&shuffled, visit->seed, n);
    for (int64_t i = 0; i < rows; i++) visit->indices[i] = index_of(visit, &shuffled, begin + i);
    visit->begin += rows;
    pfd_status status = visit_range(visit, visit->indices, rows);
    return status == PFD_CORRUPT_DATA ? visit_singly(visit, rows) : status;
}

pfd_status pfd_kit_visit_records(pfd_kit_visit *visit)
{
    pfd_status status;
    do
        status = pfd_kit_visit_some(visit);
    while (status == PFD_OK);
    return status == PFD_END ? PFD_OK : status;
}

/* ---- Streams --------------------------------------------------------------------------------- */
static int32_t is_plain(const pfd_kit_run_state *run)
{
    const pfd_kit_options *o = run->options;
    return !o->fail_read && !o->fail_alloc && !o->cancelled;
}

/* Reads again at the end, past the end, and at the beginning. */
static pfd_status check_end(pfd_kit_visit *visit, int64_t end)
{
    pfd_kit_run_state *run = visit->call.run;
    int64_t n;
    if (!is_plain(run)) return PFD_OK;
    pfd_status status = pfd_kit_source_next(&visit->call, visit->source, 1, &visit->scratch,
                                            visit->records, &n, &visit->err);
    if (status != PFD_END)
        pfd_kit_report(run, "end-not-kept",
                       "next() after PFD_END returned status %d; it must be PFD_END again, until "
                       "a seek()",
                       status);
    PFD_TRY(pfd_kit_source_seek(&visit->call, visit->source, end + 3, &visit->err));
    status = pfd_kit_source_next(&visit->call, visit->source, 1, &visit->scratch, visit->records,
                                 &n, &visit->err);
    if (status != PFD_END)
        pfd_kit_report(run, "seek-past-end",
                       "seek() to record %" PRId64 " of %" PRId64
                       ", then next() returned status %d; a position past the end is the end: "
                       "next() must return PFD_END",
                       end + 3, end, status);
    pfd_kit_scratch_reset(&visit->scratch, run, "next()");
    return PFD_OK;
}

static pfd_status seek_behind(pfd_kit_visit *visit, int64_t *position, int64_t *failures)
{
    if (++*failures > most_stream_failures) return PFD_END;
    note(visit, *position, 1, 1);
    count_failed(visit);
    ++*position;
    pfd_status status = pfd_kit_source_seek(&visit->call, visit->source, *position, &visit->err);
    return status == PFD_CORRUPT_DATA ? PFD_END : status; /* nothing after it can be reached */
}

/* Reads the record at `position`; the source stands after it. */
static pfd_status read_at(pfd_kit_visit *visit, int64_t position)
{
    int64_t n;
    PFD_TRY(pfd_kit_source_seek(&visit->call, visit->source, position, &visit->err));
    pfd_status status = pfd_kit_source_next(&visit->call, visit->source, 1, &visit->scratch,
                                            visit->records, &n, &visit->err);
    pfd_kit_scratch_reset(&visit->scratch, visit->call.run, "next()");
    return status == PFD_END ? PFD_OK : status;
}

pfd_status pfd_kit_visit_stream_begin(pfd_kit_visit *visit)
{
    const pfd_kit_options *options = visit->call.run->options;
    visit->begin = options->seek > 0 ? options->seek : 0;
    if (options->seek > 0 && options->seek_from > 0) PFD_TRY(read_at(visit, options->seek_from));
    if (options->seek < 0) return PFD_OK;
    return pfd_kit_source_seek(&visit->call, visit->source, visit->begin, &visit->err);
}

pfd_status pfd_kit_visit_stream_some(pfd_kit_visit *visit, int64_t *yielded)
{
    const pfd_kit_options *options = visit->call.run->options;
    int64_t left = options->most_records - visit->begin, n;
    int64_t most = visit->failures ? 1 : options->range;
    if (left <= 0) return PFD_END;
    pfd_status status =
        pfd_kit_source_next(&visit->call, visit->source, most < left ? most : left,
                            &visit->scratch, visit->records, &n, &visit->err);
    if (status == PFD_END) {
        PFD_TRY(check_end(visit, visit->begin));
        return PFD_END;
    }
    if (status == PFD_CORRUPT_DATA) return seek_behind(visit, &visit->begin, &visit->failures);
    PFD_TRY(status);
    for (int64_t i = 0; i < n; i++) visit->indices[i] = visit->begin + i;
    PFD_TRY(compute_rows(visit, visit->records, visit->indices, n));
    pfd_kit_scratch_reset(&visit->scratch, visit->call.run, "next()");
    visit->begin += n;
    *yielded += n;
    return PFD_OK;
}

pfd_status pfd_kit_visit_stream(pfd_kit_visit *visit, int64_t *yielded)
{
    pfd_status status = pfd_kit_visit_stream_begin(visit);
    *yielded = 0;
    while (status == PFD_OK) status = pfd_kit_visit_stream_some(visit, yielded);
    return status == PFD_END ? PFD_OK : status;
}
