/* Runs the conformance kit over one op: opens its reader, goes through the records, closes. */
#include "check/guard.h"
#include "check/calls.h"
#include "check/visit_records.h"
#include "core/error.h"
#include "core/scratch.h"
#include "dataset/dataset.h"
#include "loader/private_version.h"
#include "pyflowdata_kit/kit.h"
#include "registry/node.h"
#include "watch/process_watch.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A round, from open to close. */
typedef struct kit_round {
    pfd_kit_run_state *run;
    pfd_kit_source source;
    pfd_record *gathered; /* records of a reader upstream; NULL: the op under check is the reader */
    pfd_scratch *gathered_bytes;
    int64_t n;
    pfd_kit_hashes hashes;
} kit_round;

/* Takes the caller's arrays, and marks all of their records as not seen. */
static pfd_kit_hashes hashes_of(const pfd_kit_seen *seen, pthread_mutex_t *lock)
{
    pfd_kit_hashes hashes = {.records = seen->records,
                             .rows = seen->rows,
                             .spans = seen->spans,
                             .size = seen->capacity,
                             .lock = lock};
    size_t size = (size_t)hashes.size;
    for (size_t i = 0; hashes.spans && i < size; i++) hashes.spans[i].file = -1;
    memset(hashes.records, 0, size * sizeof *hashes.records);
    memset(hashes.rows, 0, size * sizeof *hashes.rows);
    return hashes;
}

/* ---- Options --------------------------------------------------------------------------------- */
static int32_t is_sound(const pfd_kit_seen *seen)
{
    return seen->capacity == 0 || (seen->capacity > 0 && seen->records && seen->rows);
}

/* An option that the mode does not use is a mistake of the caller. */
static pfd_status check_mode(const pfd_kit_options *o, pfd_error *err)
{
    const pfd_kit_varied *v = &o->varied;
    const char *wrong = NULL;
    int32_t is_other = o->mode != PFD_KIT_PASS; /* the mode is not a pass through one node */
    if (o->mode != PFD_KIT_TYPES && (v->input || v->dtype || v->rows))
        wrong = "varied";
    else if (o->mode != PFD_KIT_TWO_SOURCES && (o->other || o->other_seen.capacity))
        wrong = "other";
    else if (is_other && o->mode != PFD_KIT_TWO_SOURCES && (o->order || o->only_output || o->epoch))
        wrong = "order, only_output or epoch";
    else if (is_other && (o->seek || o->seek_from || o->rounds != 1 || o->num_threads != 1))
        wrong = "seek, seek_from, rounds or num_threads";
    else if (is_other && (o->twice || o->filler || o->unguarded || o->watch_globals || o->delays))
        wrong = "twice, filler, unguarded, watch_globals or delays";
    else if (is_other && (o->cancelled || o->fail_read || o->fail_alloc || o->damaged_inputs))
        wrong = "cancelled, fail_read, fail_alloc or damaged_inputs";
    else if (is_other && (o->changed_draw || o->draws.capacity || o->generators))
        wrong = "changed_draw, draws or generators";
    if (!wrong) return PFD_OK;
    return pfd_fail(err, PFD_INVALID_ARGUMENT,
                    "%s of pfd_kit_options is for another mode than %d", wrong, o->mode);
}

static pfd_status check_options(const pfd_kit_options *o, pfd_error *err)
{
    const char *wrong = NULL;
    if (o->struct_size != sizeof *o)
        wrong = "struct_size";
    else if (o->mode < PFD_KIT_PASS || o->mode > PFD_KIT_TWO_SOURCES)
        wrong = "mode";
    else if (o->order < PFD_KIT_FORWARD || o->order > PFD_KIT_STREAM)
        wrong = "order";
    else if (o->range < 1 || o->range > 8192)
        wrong = "range";
    else if (o->most_records < 2)
        wrong = "most_records";
    else if (o->num_threads < 1 || o->num_threads > 64)
        wrong = "num_threads";
    else if (o->epoch < 0 || o->seek_from < 0)
        wrong = "epoch or seek_from";
    else if (o->rounds < 1)
        wrong = "rounds";
    else if (!is_sound(&o->seen))
        wrong = "seen";
    else if (o->draws.capacity < 0 || (o->draws.capacity > 0 && !o->draws.list))
        wrong = "draws";
    else if (o->mode == PFD_KIT_TYPES &&
             (o->varied.input < 0 || o->varied.dtype < PFD_BOOL || o->varied.dtype > PFD_BFLOAT16 ||
              o->varied.rows < PFD_KIT_MANY_SHAPES || o->varied.rows > PFD_KIT_LARGE_ROWS))
        wrong = "varied";
    else if (o->mode == PFD_KIT_TWO_SOURCES &&
             (!o->other || !o->other->node || !pfd_kit_reader_of(o->other->node) ||
              !is_sound(&o->other_seen) || !o->seen.capacity ||
              o->other_seen.capacity != o->seen.capacity))
        wrong = "other";
    if (!wrong) return check_mode(o, err);
    return pfd_fail(err, PFD_INVALID_ARGUMENT, "%s of pfd_kit_options is out of range", wrong);
}

/* ---- A reader upstream ----------------------------------------------------------------------- */
static pfd_status gather_stream(kit_round *round, pfd_kit_call *call, pfd_kit_scratch *scratch,
                                pfd_error *err)
{
    int64_t most = round->run->options->most_records, n;
    PFD_TRY(pfd_kit_source_seek(call, &round->source, 0, err));
    while (round->n < most) {
        pfd_status status = pfd_kit_source_next(call, &round->source, most - round->n, scratch,
                                                round->gathered + round->n, &n, err);
        if (status == PFD_END) break;
        PFD_TRY(status);
        round->n += n;
    }
    return PFD_OK;
}

static pfd_status gather(kit_round *round, pfd_kit_call *call, pfd_error *err)
{
    int64_t most = round->run->options->most_records;
    pfd_kit_scratch scratch = {pfd_scratch_create(), -1};
    round->gathered_bytes = scratch.scratch;
    round->gathered = calloc((size_t)most, sizeof *round->gathered);
    if (!scratch.scratch || !round->gathered) return pfd_fail_memory(err, most, "records");
    if (round->source.size < 0) return gather_stream(round, call, &scratch, err);
    for (int64_t i = 0; i < round->n; i++) {
        int64_t ordinal = pfd_kit_ordinal(i, round->n, round->source.size);
        PFD_TRY(pfd_kit_source_at(call, &round->source, &ordinal, 1, &scratch, &round->gathered[i],
                                  err));
    }
    return PFD_OK;
}

/* ---- A round --------------------------------------------------------------------------------- */
static void *visit_in_thread(void *ctx)
{
    pfd_kit_visit *visit = ctx;
    pfd_kit_delays_join(visit->call.run->options->num_threads);
    if (pfd_kit_visit_open(visit)) (void)pfd_kit_visit_records(visit);
    pfd_kit_delays_part();
    pfd_kit_visit_close(visit);
    return NULL;
}

static pfd_kit_visit make_visit(kit_round *round, int32_t thread)
{
    const pfd_kit_options *o = round->run->options;
    return (pfd_kit_visit){.call = {.run = round->run},
                           .source = &round->source,
                           .gathered = round->gathered,
                           .n = round->n,
                           .order = thread > 0 ? PFD_KIT_SHUFFLED : o->order,
                           .seed = (uint64_t)o->seed + (uint64_t)thread,
                           .hashes = round->hashes};
}

static pfd_status visit_in_threads(kit_round *round, pfd_error *err)
{
    pthread_t threads[64];
    int32_t n = round->run->options->num_threads, started = 0;
    pfd_kit_visit *visits = calloc((size_t)n, sizeof *visits);
    if (!visits) return pfd_fail_memory(err, n, "threads");
    for (; started < n; started++) {
        visits[started] = make_visit(round, started);
        if (pthread_create(&threads[started], NULL, visit_in_thread, &visits[started])) break;
    }
    for (int32_t i = 0; i < started; i++) (void)pthread_join(threads[i], NULL);
    free(visits);
    return started == n ? PFD_OK : pfd_fail_memory(err, n, "threads");
}

static pfd_status visit_all(kit_round *round, pfd_error *err)
{
    const pfd_kit_options *o = round->run->options;
    int32_t by_next =
        !round->gathered &&
        (round->source.size < 0 || (o->order == PFD_KIT_STREAM && round->source.methods.next));
    if (o->num_threads > 1 && !by_next) return visit_in_threads(round, err);
    pfd_kit_visit visit = make_visit(round, 0);
    if (!pfd_kit_visit_open(&visit)) {
        pfd_kit_visit_close(&visit);
        return pfd_fail_memory(err, 0, "the kit");
    }
    /* The result has the op's failures; this function returns other failures only. */
    if (by_next)
        (void)pfd_kit_visit_stream(&visit, &round->n);
    else
        (void)pfd_kit_visit_records(&visit);
    pfd_kit_visit_close(&visit);
    return PFD_OK;
}

static pfd_status open_round(kit_round *round, pfd_kit_call *call, pfd_error *err)
{
    pfd_kit_run_state *run = round->run;
    const pfd_node *reader = pfd_kit_reader_of(run->node);
    pfd_kit_active = call;
    pfd_status status = pfd_kit_source_open(call, reader, &round->source, err);
    if (status == PFD_OK && round->source.size > 0) {
        int64_t most = run->options->most_records;
        round->n = round->source.size < most ? round->source.size : most;
    }
    if (status == PFD_OK && reader != run->node) status = gather(round, call, err);
    return status;
}

/* Closes what open_round() opened. Takes the status so far; returns it unless it is the op's fault.
 */
static pfd_status close_round(kit_round *round, pfd_kit_call *call, pfd_status status)
{
    int32_t is_fault_of_op = status != PFD_OK && round->source.is_checked;
    pfd_kit_active = call;
    round->run->result->num_records = round->n;
    round->run->result->size = round->source.size;
    pfd_kit_source_close(call, &round->source);
    pfd_kit_active = NULL;
    pfd_scratch_free(round->gathered_bytes);
    free(round->gathered);
    /* The result has the failure of the checked op's open() already. */
    return is_fault_of_op && round->run->result->status != PFD_OK ? PFD_OK : status;
}

static pfd_status run_round(pfd_kit_run_state *run, const pfd_kit_hashes *hashes, pfd_error *err)
{
    kit_round round = {.run = run, .hashes = *hashes};
    pfd_kit_call call = {.run = run};
    pfd_kit_threads threads = {.num_ids = 0};
    if (run->options->watch_state) threads = pfd_kit_threads_now();
    atomic_store(&run->num_reads, 0);
    atomic_store(&run->num_allocs, 0);
    pfd_status status = open_round(&round, &call, err);
    if (status == PFD_OK && run->options->mode == PFD_KIT_RANGES)
        status = pfd_kit_try_sample_ranges(&call, &round.source, &round.n, err);
    else if (status == PFD_OK)
        status = visit_all(&round, err);
    status = close_round(&round, &call, status);
    if (run->options->watch_state) pfd_kit_threads_check(run, &threads);
    return status;
}

/* ---- Two sources ----------------------------------------------------------------------------- */
static int32_t is_stream(const kit_round *round)
{
    return !round->gathered && round->source.size < 0;
}

static void step(kit_round *round, pfd_kit_visit *visit, pfd_status *status)
{
    if (*status != PFD_OK) return;
    pfd_kit_active = &visit->call;
    *status = is_stream(round) ? pfd_kit_visit_stream_some(visit, &round->n)
                               : pfd_kit_visit_some(visit);
}

/* Visits a range of one round, then a range of the other, until both end. The results have the op's
 * failures. */
static pfd_status visit_alternately(kit_round *one, kit_round *two, pfd_error *err)
{
    kit_round *rounds[2] = {one, two};
    pfd_kit_visit visits[2] = {make_visit(one, 0), make_visit(two, 0)};
    pfd_status status[2] = {PFD_OK, PFD_OK};
    int32_t has_memory = 1;
    for (int i = 0; i < 2; i++)
        if (!pfd_kit_visit_open(&visits[i])) has_memory = 0;
    for (int i = 0; i < 2 && has_memory; i++) {
        pfd_kit_active = &visits[i].call;
        if (is_stream(rounds[i])) status[i] = pfd_kit_visit_stream_begin(&visits[i]);
    }
    while (has_memory && (status[0] == PFD_OK || status[1] == PFD_OK))
        for (int i = 0; i < 2; i++) step(rounds[i], &visits[i], &status[i]);
    for (int i = 0; i < 2; i++) pfd_kit_visit_close(&visits[i]);
    return has_memory ? PFD_OK : pfd_fail_memory(err, 0, "the kit");
}

static void hand_on_findings(pfd_kit_run_state *run, const pfd_kit_result *other)
{
    for (int64_t i = 0; i < other->num_findings; i++)
        pfd_kit_report(run, other->findings[i].id, "%s", other->findings[i].text);
}

static pfd_status run_two_sources(pfd_kit_run_state *run, const pfd_kit_hashes *hashes,
                                  pfd_error *err)
{
    const pfd_kit_options *o = run->options;
    pfd_kit_result other_result = {.struct_size = sizeof other_result};
    pfd_kit_run_state other_run = {.node = o->other->node, .options = o, .result = &other_result};
    pfd_kit_hashes other_hashes = hashes_of(&o->other_seen, hashes->lock);
    pfd_error_init(&other_result.error);
    kit_round one = {.run = run, .hashes = *hashes};
    kit_round two = {.run = &other_run, .hashes = other_hashes};
    pfd_kit_call calls[2] = {{.run = run}, {.run = &other_run}};
    if (!pfd_kit_attrs_open(&other_run, pfd_attrs_struct(o->other->node->attrs))) {
        pfd_kit_attrs_close(&other_run);
        return pfd_fail_memory(err, 0, "attrs");
    }
    pfd_status status = open_round(&one, &calls[0], err), other_status = PFD_OK;
    if (status == PFD_OK) other_status = open_round(&two, &calls[1], err);
    if (status == PFD_OK && other_status == PFD_OK) status = visit_alternately(&one, &two, err);
    other_status = close_round(&two, &calls[1], other_status);
    status = close_round(&one, &calls[0], status);
    pfd_kit_attrs_close(&other_run);
    hand_on_findings(run, &other_result);
    return status == PFD_OK ? other_status : status;
}

/* ---- The interface --------------------------------------------------------------------------- */
static pfd_status run_rounds(pfd_kit_run_state *run, const pfd_kit_hashes *hashes, pfd_error *err)
{
    /* The first rounds fill caches, and malloc() has caches too. */
    int32_t rounds = run->options->rounds, last = rounds >= 20 ? PFD_KIT_USAGES - 1 : 2;
    int32_t part = rounds >= 6 ? rounds / (last + 1) : 0;
    pfd_kit_usage usages[PFD_KIT_USAGES];
    pfd_status status = PFD_OK;
    for (int32_t i = 0; i < rounds && status == PFD_OK; i++) {
        if (i == 1 && run->options->watch_globals && run->options->num_threads == 1)
            pfd_kit_globals_open(run);
        run->round = i;
        status = run_round(run, hashes, err);
        int32_t left = rounds - i - 1;
        if (part && left / part <= last)
            pfd_kit_usage_add(&usages[last - left / part], pfd_guard_mapped(),
                              left % part >= part - 1 - part / 3);
        if (i > 0) continue;
        run->result->num_reads = atomic_load(&run->num_reads);
        run->result->num_allocs = atomic_load(&run->num_allocs);
    }
    if (part && status == PFD_OK) pfd_kit_usage_compare(run, usages, last + 1, part);
    pfd_kit_globals_close();
    return status;
}

static pthread_mutex_t one_run = PTHREAD_MUTEX_INITIALIZER;

static void run_begin(pfd_kit_run_state *run)
{
    pthread_mutex_lock(&one_run);
    *run->result = (pfd_kit_result){.struct_size = sizeof *run->result};
    pfd_error_init(&run->result->error);
    pfd_kit_crash_begin(run->options);
    pfd_kit_process_begin(run);
    pfd_kit_generators_begin(run);
    pfd_kit_delays_begin(run);
}

static void run_end(pfd_kit_run_state *run)
{
    pfd_kit_delays_end();
    pfd_kit_generators_end();
    pfd_kit_process_end(run);
    pfd_kit_crash_end();
    (void)fflush(stdout); /* the caller looks at the op's output */
    run->result->injected = atomic_load(&run->injected);
    pthread_mutex_unlock(&one_run);
}

static pfd_status run_all(pfd_kit_run_state *run, const pfd_kit_hashes *hashes, pfd_error *err)
{
    switch (run->options->mode) {
    case PFD_KIT_TYPES:
        return pfd_kit_try_types(run, err);
    case PFD_KIT_FORMATS:
        return pfd_kit_try_formats(run, err);
    case PFD_KIT_TWO_SOURCES:
        return run_two_sources(run, hashes, err);
    default: /* also PFD_KIT_RANGES, in one round */
        return run_rounds(run, hashes, err);
    }
}

pfd_status pfd_kit_run(const pfd_blob *blob, const pfd_kit_options *options, pfd_kit_result *out,
                       pfd_error *err)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    PFD_TRY(check_options(options, err));
    if (!blob || !blob->node) return pfd_fail(err, PFD_INVALID_ARGUMENT, "the blob has no node");
    if (!pfd_kit_reader_of(blob->node))
        return pfd_fail(err, PFD_UNSUPPORTED,
                        "no reader or several are upstream of %s; check it with inputs of one "
                        "reader",
                        blob->node->op->op->name);
    pfd_kit_seen seen = options->seen;
    uint64_t *own = NULL;
    if (!seen.capacity) {
        int64_t size = options->most_records;
        own = calloc((size_t)size, 2 * sizeof *own);
        if (!own) return pfd_fail_memory(err, size, "the kit");
        seen = (pfd_kit_seen){.records = own, .rows = own + size, .capacity = size};
    }
    pfd_kit_hashes hashes = hashes_of(&seen, &lock);
    pfd_kit_run_state run = {.node = blob->node, .options = options, .result = out};
    run_begin(&run);
    pfd_status status = pfd_kit_attrs_open(&run, pfd_attrs_struct(blob->node->attrs))
                            ? run_all(&run, &hashes, err)
                            : pfd_fail_memory(err, 0, "attrs");
    pfd_kit_attrs_close(&run);
    run_end(&run);
    free(own);
    return status;
}

pfd_status pfd_kit_files(const pfd_blob *blob, char *paths, int64_t size, int64_t *needed,
                         pfd_error *err)
{
    const pfd_node *reader = blob && blob->node ? pfd_kit_reader_of(blob->node) : NULL;
    *needed = 0;
    if (!reader || !reader->file_attrs) return PFD_OK;
    pfd_path_list list = {0};
    pfd_status status = pfd_node_find_files(reader, &list, err);
    for (int64_t i = 0; status == PFD_OK && i < list.size; i++) {
        const int64_t bytes = (int64_t)strlen(list.paths[i]) + 1;
        if (bytes <= size - *needed) memcpy(paths + *needed, list.paths[i], (size_t)bytes);
        *needed += bytes;
    }
    pfd_path_list_free(&list);
    return status;
}

const char *pfd_kit_attr(const pfd_blob *blob, int64_t i)
{
    const pfd_op *op = blob && blob->node ? blob->node->op->op : NULL;
    return op && i >= 0 && i < op->num_attrs ? op->attrs[i].name : NULL;
}

/* ---- Functions that the host calls where a node is made -------------------------------------- */

/* Watches the functions of an op that the host calls where a node is made: infer(), companions()
 * and propose(). Replaces them in the registry's copy of the descriptor. A node that is made
 * meanwhile may keep this copy, so the replacements can be called later, too. */

static struct watched {
    pfd_kit_run_state run;
    pfd_node node; /* only its op is set */
    pfd_op *op;    /* in the registry */
    pfd_op real;   /* as it was */
    int32_t num_nodes;
    int32_t is_open; /* 0: the run is over; replacements only call the real functions */
} watched;

static pfd_kit_call *enter(pfd_kit_call *call, const char *function, pfd_error *err)
{
    pfd_kit_call *outer = pfd_kit_active;
    *call = (pfd_kit_call){.run = &watched.run};
    pfd_kit_active = call;
    pfd_error_clear(err);
    pfd_kit_enter(call, function, NULL);
    return outer;
}

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    pfd_kit_call call;
    if (!watched.is_open) return watched.real.infer(args, err);
    /* The first node may make tables once. */
    if (watched.num_nodes++ == 1) pfd_kit_globals_open(&watched.run);
    pfd_kit_call *outer = enter(&call, "infer()", err);
    pfd_infer_args given = *args;
    pfd_status status = PFD_OUT_OF_MEMORY;
    if (pfd_kit_attrs_open(&watched.run, args->attrs)) {
        given.attrs = watched.run.attrs;
        status = watched.real.infer(&given, err);
    } else {
        (void)pfd_fail_memory(err, 0, "attrs");
    }
    status = pfd_kit_leave(&call, status, err);
    pfd_kit_attrs_close(&watched.run);
    pfd_kit_active = outer;
    return status;
}

static pfd_status companions(const pfd_companion_args *args, pfd_error *err)
{
    if (!watched.is_open) return watched.real.companions(args, err);
    pfd_kit_call call, *outer = enter(&call, "companions()", err);
    pfd_status status = pfd_kit_leave(&call, watched.real.companions(args, err), err);
    pfd_kit_active = outer;
    return status;
}

static pfd_status propose(const pfd_propose_args *args, pfd_error *err)
{
    if (!watched.is_open) return watched.real.propose(args, err);
    pfd_kit_call call, *outer = enter(&call, "propose()", err);
    pfd_status status = pfd_kit_leave(&call, watched.real.propose(args, err), err);
    pfd_kit_active = outer;
    return status;
}

pfd_status pfd_kit_watch_begin(const char *op, const pfd_kit_options *options,
                               pfd_kit_result *out, pfd_error *err)
{
    const pfd_registered_op *found = pfd_registry_find(op, err);
    if (!found) return err->status;
    watched = (struct watched){
        .run = {.node = &watched.node, .options = options, .result = out},
        .node = {.op = found},
        .op = (pfd_op *)(uintptr_t)found->op,
        .real = *found->op,
        .is_open = 1,
    };
    run_begin(&watched.run);
    watched.op->infer = infer;
    if (watched.real.companions) watched.op->companions = companions;
    if (watched.real.propose) watched.op->propose = propose;
    return PFD_OK;
}

void pfd_kit_watch_end(void)
{
    watched.op->infer = watched.real.infer;
    watched.op->companions = watched.real.companions;
    watched.op->propose = watched.real.propose;
    watched.is_open = 0;
    pfd_kit_globals_close();
    run_end(&watched.run);
}

/* ---- The hashes by which Python checks that the kit matches its header and its library ------- */
#define MIX(hash, type) ((hash)*31u + (uint32_t)sizeof(type))

#define ABI_OF_CHECKS \
    MIX(MIX(MIX(MIX(1u, pfd_kit_draw), pfd_kit_options), pfd_kit_finding), pfd_kit_result)

uint32_t pfd_kit_abi_version(void)
{
    if (pfd_private_version() != PFD_PRIVATE_VERSION) return 0;
    return MIX(MIX(MIX(ABI_OF_CHECKS, pfd_bench_options), pfd_bench_cost), pfd_bench_result);
}
