/* The loader's interface to Python: checks arguments, refuses forks, counts the
 * calls that are inside (leases), copies counters. */
#include "core/cpu.h"
#include "core/error.h"
#include "files/file_hint.h"
#include "loader/private_version.h"
#include "loader/ring/ring.h"
#include "loader/ring/slots.h"
#include "sources/arrow_cache.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    LEAST_BOUND = 1 << 20 /* the bytes that a scratch may have, however small memory_budget is */
};
#define MOST_EPOCHS (INT64_MAX / 2)
enum { MOST_THREADS = 4096, MOST_PREFETCH = 1 << 20, SEEK_PATIENCE_NS = 50 * 1000 * 1000 };

/* Whether the loader was opened before a fork: its threads and locks are in the parent then. */
static int32_t is_foreign(const pfd_loader *loader)
{
    return loader->fork_generation != pfd_fork_generation();
}

static pfd_status check_usable(const pfd_loader *l, pfd_error *err)
{
    if (is_foreign(l))
        return pfd_fail(err, PFD_UNSUPPORTED,
                        "this loader was opened before a fork, and its threads are in the parent; "
                        "open the loader in the child process");
    return PFD_OK;
}

/* ---- Leases ---------------------------------------------------------------------------------- */

/* Ends a call that was counted as `kind`. While the loader closes, another thread may free it as
 * soon as `lock` is given back. */
static void end_call(pfd_loader *l, int64_t kind)
{
    int64_t calls = atomic_load(&l->lease.calls);
    while (!(calls & PFD_LEASE_CLOSING))
        if (atomic_compare_exchange_weak(&l->lease.calls, &calls, calls - kind)) return;
    pthread_mutex_lock(&l->lock);
    atomic_fetch_sub(&l->lease.calls, kind);
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->lock);
}

static pfd_status fail_closed(pfd_error *err)
{
    return pfd_fail(err, PFD_CANCELLED, "the loader is closed; open another one");
}

/* Begins a use, unless the loader closes. */
static pfd_status begin_use(pfd_loader *l, pfd_error *err)
{
    PFD_TRY(check_usable(l, err));
    if (!(atomic_fetch_add(&l->lease.calls, PFD_LEASE_USE) & PFD_LEASE_CLOSING)) return PFD_OK;
    end_call(l, PFD_LEASE_USE);
    return fail_closed(err);
}

static void end_use(pfd_loader *l)
{
    end_call(l, PFD_LEASE_USE);
}

/* Begins a question.  0: the loader is foreign, and its lock is in the parent. */
static int32_t begin_question(pfd_loader *l)
{
    if (is_foreign(l)) return 0;
    atomic_fetch_add(&l->lease.calls, PFD_LEASE_QUESTION);
    return 1;
}

static void end_question(pfd_loader *l)
{
    end_call(l, PFD_LEASE_QUESTION);
}

/* While the loader closes: waits for the calls that are counted in these bits. */
static void wait_for_calls(pfd_loader *l, int64_t bits)
{
    pthread_mutex_lock(&l->lock);
    while (atomic_load(&l->lease.calls) & bits) pthread_cond_wait(&l->changed, &l->lock);
    pthread_mutex_unlock(&l->lock);
}

/* ---- Open, close, release -------------------------------------------------------------------- */

static pfd_status set_options(pfd_loader *l, const pfd_loader_options *options, pfd_error *err)
{
    l->tunes_threads = options->num_threads == PFD_AUTO;
    l->tunes_prefetch = options->prefetch == PFD_AUTO;
    int32_t num_threads = l->tunes_threads ? 0 : options->num_threads;
    int32_t prefetch = l->tunes_prefetch ? 0 : options->prefetch;
    if (num_threads < 0 || num_threads > MOST_THREADS)
        return pfd_fail(err, PFD_INVALID_ARGUMENT,
                        "num_threads = %d; it must be in [1, %d], or 0 for all processors that "
                        "this process may use",
                        num_threads, MOST_THREADS);
    if (prefetch < 0 || prefetch > MOST_PREFETCH)
        return pfd_fail(err, PFD_INVALID_ARGUMENT,
                        "prefetch = %d; it must be in [1, %d] batches, or 0 for a number that fits "
                        "their size",
                        prefetch, MOST_PREFETCH);
    if (options->memory_budget < 0)
        return pfd_fail(err, PFD_INVALID_ARGUMENT,
                        "memory_budget = %" PRId64 "; it must be a positive number of bytes",
                        options->memory_budget);
    if (options->num_shares < 0 || options->share < 0 ||
        options->share >= (options->num_shares ? options->num_shares : 1))
        return pfd_fail(err, PFD_INVALID_ARGUMENT,
                        "share %d of %d; the share must be in [0, number of shares)",
                        options->share, options->num_shares);
    l->share = options->share;
    l->num_shares = options->num_shares ? options->num_shares : 1;
    l->num_threads = num_threads ? num_threads : pfd_cpu_count();
    if (l->num_threads > MOST_THREADS) l->num_threads = MOST_THREADS;
    l->chooses_prefetch = prefetch == 0;
    l->prefetch = prefetch;
    l->memory_budget = options->memory_budget ? options->memory_budget : pfd_memory_limit() / 2;
    l->bounds.most_bytes = l->memory_budget > LEAST_BOUND ? l->memory_budget : LEAST_BOUND;
    l->bounds.is_interrupted = options->is_interrupted;
    return PFD_OK;
}

static pfd_loader *create(void)
{
    pfd_loader *l = calloc(1, sizeof *l);
    if (l) l->bounds.decoded = pfd_arrow_account_create();
    if (!l || !l->bounds.decoded) {
        free(l);
        return NULL;
    }
    l->fork_generation = pfd_fork_generation();
    pfd_counters_open(&l->counters);
    l->bounds.retries = &l->retries;
    pfd_cond_init(&l->changed);
    pthread_mutex_init(&l->consumer, NULL);
    pthread_mutex_init(&l->asking, NULL);
    pthread_mutex_init(&l->lock, NULL);
    return l;
}

static pfd_status open_all(pfd_loader *l, const pfd_loader_options *options, const pfd_blob *blobs,
                           int64_t num_blobs, pfd_error *err)
{
    PFD_TRY(set_options(l, options, err));
    l->opened_ns = pfd_unix_ns();
    PFD_TRY(pfd_plan_open(&l->plan, blobs, num_blobs, options->zip, options->has_peers,
                          &l->bounds, err));
    if (l->chooses_prefetch) l->prefetch = pfd_plan_usual_prefetch(&l->plan, l->num_threads);
    return pfd_ring_open(l, err);
}

pfd_status pfd_loader_open(const pfd_loader_options *options, const pfd_blob *blobs,
                           int64_t num_blobs, pfd_loader **out, pfd_error *err)
{
    pfd_error_clear(err);
    pfd_loader *l = create();
    if (!l) return pfd_fail_memory(err, sizeof *l, "a loader");
    if (open_all(l, options, blobs, num_blobs, err) == PFD_OK) {
        *out = l;
        return PFD_OK;
    }
    pfd_loader_release(l);
    return pfd_error_explain_file(err);
}

void pfd_loader_close(pfd_loader *l)
{
    if (!begin_question(l)) return;
    atomic_fetch_or(&l->lease.calls, PFD_LEASE_CLOSING);
    atomic_store(&l->bounds.cancelled, 1); /* a thread in next() ends its row range, and returns */
    wait_for_calls(l, PFD_LEASE_USES);
    pthread_mutex_lock(&l->consumer);
    pfd_watchdog_remove(l->watched);
    l->watched = NULL;
    pfd_ring_close(l);
    pthread_mutex_unlock(&l->consumer);
    end_question(l);
}

static void destroy(pfd_loader *l)
{
    pfd_plan_close(&l->plan);
    pfd_arrow_account_free(l->bounds.decoded);
    pthread_cond_destroy(&l->changed);
    pthread_mutex_destroy(&l->lock);
    pthread_mutex_destroy(&l->asking);
    pthread_mutex_destroy(&l->consumer);
    pfd_traces_drop(&l->traces, NULL);
    pfd_counters_close(&l->counters);
    free(l->producer.error);
    free(l->checker.error);
    free(l->skipped);
    free(l->tuning);
    free(l);
}

static void *release(void *loader)
{
    pfd_loader *l = loader;
    pfd_loader_close(l);
    wait_for_calls(l, ~PFD_LEASE_CLOSING);
    pthread_mutex_lock(&l->lock);
    l->released = 1;
    int32_t last = l->num_held == 0;
    pthread_mutex_unlock(&l->lock);
    if (last) destroy(l);
    return NULL;
}

void pfd_loader_release(pfd_loader *l)
{
    if (!l || is_foreign(l)) return;
    if (!pfd_thread_pool_is_inside()) {
        (void)release(l);
        return;
    }
    pthread_t thread;
    atomic_store(&l->bounds.cancelled, 1);
    /* If no thread can be made, memory leaks, which is better than a deadlock. */
    if (pthread_create(&thread, NULL, release, l) == 0) (void)pthread_detach(thread);
}

void pfd_batch_release(void *memory)
{
    if (!memory) return;
    pfd_slot *slot = pfd_slot_of(memory);
    pfd_loader *l = slot->loader;
    if (is_foreign(l)) return;
    if (pfd_slot_pool_give_back(slot)) destroy(l);
}

/* ---- Batches --------------------------------------------------------------------------------- */

/* The time of a deadline; the largest number for a timeout that is too large to add. */
static int64_t deadline_after(int64_t now_ns, int64_t timeout_ns)
{
    return timeout_ns < INT64_MAX - now_ns ? now_ns + timeout_ns : INT64_MAX;
}

static pfd_status lock_in_use(pfd_loader *l, int64_t deadline_ns, pfd_error *err)
{
    if (pthread_mutex_trylock(&l->consumer) != 0) {
        int64_t left = deadline_ns - pfd_clock_ns();
        struct timespec until = pfd_timespec_of(deadline_after(pfd_unix_ns(), left > 0 ? left : 0));
        /* The other caller gives the lock back by its own deadline. */
        if (pthread_mutex_timedlock(&l->consumer, &until) != 0) return PFD_PENDING;
    }
    if (!pfd_loader_is_closing(l)) return PFD_OK;
    pthread_mutex_unlock(&l->consumer);
    return fail_closed(err);
}

/* Begins a use with `consumer` held.  PFD_PENDING: the deadline has passed. */
static pfd_status lock_consumer(pfd_loader *l, int64_t deadline_ns, pfd_error *err)
{
    PFD_TRY(begin_use(l, err));
    pfd_status status = lock_in_use(l, deadline_ns, err);
    if (status != PFD_OK) end_use(l);
    return status;
}

static void unlock_consumer(pfd_loader *l)
{
    pthread_mutex_unlock(&l->consumer);
    end_use(l);
}

pfd_status pfd_loader_next(pfd_loader *l, int64_t timeout_ns, pfd_batch *out, pfd_error *err)
{
    /* a plain field for Python; threads of C that have no lock yet may all look at it */
    int64_t asked_ns = __atomic_load_n(&l->caller.asked_ns, __ATOMIC_RELAXED);
    int64_t now_ns = asked_ns ? asked_ns : pfd_clock_ns();
    int64_t deadline_ns = deadline_after(now_ns, timeout_ns);
    PFD_TRY(lock_consumer(l, deadline_ns, err));
    l->called_ns = now_ns;
    __atomic_store_n(&l->caller.asked_ns, 0, __ATOMIC_RELAXED);
    pfd_status status = pfd_ring_next(l, deadline_ns, out, err);
    unlock_consumer(l);
    return status == PFD_CORRUPT_DATA ? pfd_error_explain_file(err) : status;
}

static pfd_status check_position(const pfd_loader *l, int64_t epoch, int64_t step, pfd_error *err)
{
    int64_t most = l->plan.num_batches;
    if (epoch >= 0 && epoch <= MOST_EPOCHS && step >= 0 && (most < 0 || step <= most))
        return PFD_OK;
    return pfd_fail(err, PFD_INVALID_ARGUMENT,
                    "there is no step %" PRId64 " in epoch %" PRId64 "; an epoch has %" PRId64
                    " steps, and both are counted from 0",
                    step, epoch, most);
}

static int32_t has_new_seed(const pfd_loader *l)
{
    for (int32_t r = 0; r < l->plan.num_readers; r++)
        if (l->plan.readers[r].next_seed != l->plan.readers[r].seed) return 1;
    return 0;
}

pfd_status pfd_loader_seek(pfd_loader *l, int64_t epoch, int64_t step, pfd_error *err)
{
    int64_t deadline_ns = pfd_clock_ns() + SEEK_PATIENCE_NS;
    PFD_TRY(lock_consumer(l, deadline_ns, err));
    pfd_status status = check_position(l, epoch, step, err);
    int32_t elsewhere = l->epoch != epoch || l->step != step || l->restart || has_new_seed(l);
    if (status == PFD_OK && elsewhere) {
        if (epoch != l->epoch || step != l->step) l->errors_in_epoch = 0;
        l->epoch = epoch;
        l->step = step;
        status = pfd_ring_restart(l, deadline_ns, err);
    }
    unlock_consumer(l);
    return status;
}

pfd_status pfd_loader_read(pfd_loader *l, int64_t epoch, const int64_t *positions, int64_t n,
                           pfd_batch *out, pfd_error *err)
{
    int64_t deadline_ns = pfd_clock_ns() + SEEK_PATIENCE_NS;
    PFD_TRY(lock_consumer(l, deadline_ns, err));
    pfd_status status = check_position(l, epoch, 0, err);
    if (status == PFD_OK && (l->restart || has_new_seed(l)))
        status = pfd_ring_restart(l, deadline_ns, err);
    if (status == PFD_OK) status = pfd_ring_read(l, epoch, positions, n, out, err);
    unlock_consumer(l);
    return status;
}

pfd_status pfd_loader_set_seed(pfd_loader *l, int32_t i, int64_t seed, pfd_error *err)
{
    PFD_TRY(lock_consumer(l, INT64_MAX, err));
    pfd_status status = PFD_OK;
    if (i < 0 || i >= l->plan.num_readers || seed < 0) {
        status = pfd_fail(err, PFD_INVALID_ARGUMENT,
                          "seed %" PRId64 " for reader %d; there are %d readers, and a seed must "
                          "not be negative",
                          seed, i, l->plan.num_readers);
    } else {
        pthread_mutex_lock(&l->lock); /* for questions */
        l->plan.readers[i].next_seed = seed;
        pthread_mutex_unlock(&l->lock);
    }
    unlock_consumer(l);
    return status;
}

/* ---- Questions ------------------------------------------------------------------------------- */

/* Questions take locks, and change nothing that the program sees. */
static pfd_loader *writable(const pfd_loader *loader)
{
    return (pfd_loader *)(uintptr_t)loader;
}

/* Begins a question with `lock` held; NULL: the loader is foreign. */
static pfd_loader *lock_loader(const pfd_loader *loader)
{
    pfd_loader *l = writable(loader);
    if (!begin_question(l)) return NULL;
    pthread_mutex_lock(&l->lock);
    return l;
}

/* Ends it; NULL is accepted. */
static void unlock_loader(pfd_loader *l)
{
    if (!l) return;
    pthread_mutex_unlock(&l->lock);
    end_question(l);
}

pfd_status pfd_loader_get_info(const pfd_loader *l, pfd_loader_info *out)
{
    pfd_loader *locked = lock_loader(l);
    *out = (pfd_loader_info){.struct_size = sizeof *out,
                             .num_threads = l->num_threads,
                             .prefetch = l->prefetch,
                             .num_readers = l->plan.num_readers,
                             .memory_budget = l->memory_budget,
                             .slot_bytes = l->plan.slot_bytes,
                             .num_batches = l->plan.num_batches,
                             .num_blobs = l->plan.num_wanted,
                             .offsets = l->plan.offsets};
    unlock_loader(locked);
    return PFD_OK;
}

static pfd_reader_info describe_reader(const pfd_data_reader *reader)
{
    return (pfd_reader_info){
        .struct_size = sizeof(pfd_reader_info),
        .num_files = (int32_t)reader->num_files,
        .name = reader->name,
        .op = reader->node->op->op->name,
        .order_key = reader->order_key,
        .seed = reader->next_seed,
        .seed_origin = reader->seed_origin,
        .num_records = reader->num_records,
        .num_bytes = reader->num_bytes,
        .batch_size = reader->attrs->batch_size,
        .rank = reader->attrs->rank,
        .world_size = reader->attrs->world_size,
        .data_fingerprint = reader->fingerprint,
        .spec = reader->spec,
        .index_path = reader->index_path ? reader->index_path : "",
        .index_bytes = reader->index_bytes,
        .index_ns = reader->index_ns,
        .indexes_built = reader->indexes_built,
        .left_out = atomic_load(&reader->left_out),
        .notice = reader->notice ? reader->notice : "",
    };
}

pfd_status pfd_loader_get_reader(const pfd_loader *l, int32_t i, pfd_reader_info *out)
{
    pfd_loader *locked = lock_loader(l);
    int32_t is_reader = i >= 0 && i < l->plan.num_readers;
    if (is_reader) *out = describe_reader(&l->plan.readers[i]);
    unlock_loader(locked);
    return is_reader ? PFD_OK : PFD_INVALID_ARGUMENT;
}

/* Begins a use of reader i; NULL: there is none, or the loader is not usable. */
static const pfd_data_reader *use_reader(const pfd_loader *l, int32_t i, pfd_error *err)
{
    if (begin_use(writable(l), err) != PFD_OK) return NULL;
    if (i >= 0 && i < l->plan.num_readers) return &l->plan.readers[i];
    (void)pfd_fail(err, PFD_INVALID_ARGUMENT, "there is no reader %" PRId32, i);
    end_use(writable(l));
    return NULL;
}

pfd_status pfd_loader_file(const pfd_loader *l, int32_t reader, int64_t i, char *out, int64_t room,
                           int64_t *size, pfd_error *err)
{
    const pfd_data_reader *of = use_reader(l, reader, err);
    if (!of) return err->status;
    const char *path = pfd_record_file(of, i);
    if (path) {
        *size = (int64_t)strlen(path) + 1;
        if (room > 0) memcpy(out, path, (size_t)(room < *size ? room : *size));
    }
    end_use(writable(l));
    return path ? PFD_OK : PFD_END;
}

int64_t pfd_loader_missing_bytes(const pfd_loader *l)
{
    pfd_error err = {.struct_size = sizeof err};
    int64_t bytes = 0;
    if (begin_use(writable(l), &err) != PFD_OK) return 0;
    for (int32_t i = 0; i < l->plan.num_readers; i++)
        bytes += pfd_record_missing_bytes(&l->plan.readers[i], l->plan.num_batches);
    end_use(writable(l));
    return bytes;
}

pfd_status pfd_loader_first_record(const pfd_loader *l, int32_t reader, int64_t file,
                                   int64_t *ordinal, pfd_error *err)
{
    const pfd_data_reader *of = use_reader(l, reader, err);
    if (!of) return err->status;
    pfd_status status = pfd_record_first(of, file, ordinal, err);
    end_use(writable(l));
    return status;
}

pfd_status pfd_loader_locate(const pfd_loader *l, int32_t reader, int64_t file, int64_t ordinal,
                             pfd_error *place)
{
    const pfd_data_reader *of = use_reader(l, reader, place);
    if (!of) return place->status;
    pfd_status status = pfd_record_locate(of, file, ordinal, place);
    end_use(writable(l));
    return status;
}

/* As pfd_loader_get_past(), of a reader, epoch and step that exist. The fields that it reads are
 * constant. */
static uint64_t past_of(const pfd_loader *l, int32_t i, int64_t epoch, int64_t step)
{
    const pfd_data_reader *reader = &l->plan.readers[i];
    const pfd_view_tree *tree = pfd_plan_tree_of(&l->plan, i);
    if (!tree) return 0;
    if (reader->former) /* each epoch has the rows of the first one, in its own order */
        return pfd_view_tree_past(tree, 0, epoch + step > 0 ? reader->num_records : 0);
    int64_t size = reader->attrs->batch_size;
    int64_t rows = step <= reader->num_records / size ? step * size : reader->num_records;
    /* with a shuffle any row of the epoch may be past */
    int32_t is_shuffled = reader->shuffle != PFD_SHUFFLE_NONE;
    return pfd_view_tree_past(tree, epoch, is_shuffled && rows > 0 ? reader->num_records : rows);
}

uint64_t pfd_loader_get_past(const pfd_loader *l, int32_t i, int64_t epoch, int64_t step)
{
    int32_t is_counted = begin_question(writable(l));
    int32_t is_place = i >= 0 && i < l->plan.num_readers && epoch >= 0 && step >= 0;
    uint64_t past = is_place ? past_of(l, i, epoch, step) : 0;
    if (is_counted) end_question(writable(l));
    return past;
}

pfd_status pfd_loader_get_skipped(const pfd_loader *loader, int64_t i, pfd_error *out)
{
    pfd_loader *l = lock_loader(loader);
    if (!l) return PFD_UNSUPPORTED;
    int64_t first = l->num_skipped > PFD_KEPT_SKIPPED ? l->num_skipped - PFD_KEPT_SKIPPED : 0;
    pfd_status status = i >= 0 && first + i < l->num_skipped ? PFD_OK : PFD_END;
    if (status == PFD_OK) pfd_error_copy(out, &l->skipped[(first + i) % PFD_KEPT_SKIPPED]);
    unlock_loader(l);
    return status;
}

/* ---- Counters -------------------------------------------------------------------------------- */

pfd_status pfd_loader_get_stats(const pfd_loader *loader, pfd_stats *out)
{
    pfd_loader *l = writable(loader);
    if (!begin_question(l)) return PFD_UNSUPPORTED;
    pthread_mutex_lock(&l->asking);
    pfd_ring_ask(l);
    pthread_mutex_lock(&l->lock);
    pfd_ring_count(l);
    *out = l->counters.stats;
    out->struct_size = sizeof *out;
    int64_t since_ns = l->closed ? 0 : l->counters.no_memory_since_ns;
    if (since_ns) out->no_memory_ns += out->now_ns - since_ns;
    pthread_mutex_unlock(&l->lock);
    pthread_mutex_unlock(&l->asking);
    end_question(l);
    return PFD_OK;
}

pfd_caller *pfd_loader_caller(pfd_loader *loader)
{
    return &loader->caller;
}

pfd_status pfd_loader_get_work(const pfd_loader *loader, int32_t i, pfd_work_stats *out)
{
    pfd_loader *l = lock_loader(loader);
    if (!l) return PFD_UNSUPPORTED;
    const pfd_work_stats *kept = l->counters.work;
    int32_t is_item = i >= 0 && i < pfd_work_num_items(&l->plan);
    pfd_status status = is_item && (kept || !l->closed) ? PFD_OK : PFD_END;
    if (status == PFD_OK)
        *out = l->closed ? kept[i] : pfd_counters_work(&l->plan, &l->threads, i);
    unlock_loader(l);
    return status;
}

pfd_status pfd_loader_get_thread(const pfd_loader *loader, int32_t i, pfd_thread_now *out)
{
    pfd_loader *l = lock_loader(loader);
    if (!l) return PFD_UNSUPPORTED;
    pfd_status status = l->closed || i < 0 || i > l->threads.num_workers ? PFD_END : PFD_OK;
    if (status == PFD_OK) *out = pfd_counters_thread(&l->threads, i);
    unlock_loader(l);
    return status;
}

pfd_status pfd_loader_tell_thread(const pfd_loader *loader, int32_t i, const pfd_thread_now *now,
                                  const char *doing, const char *duration, char *text,
                                  int64_t room)
{
    pfd_loader *l = lock_loader(loader);
    if (!l) return PFD_UNSUPPORTED;
    int32_t is_closed = l->closed;
    if (!is_closed) pfd_tell_thread(&l->plan, &l->threads, i, now, doing, duration, text, room);
    unlock_loader(l);
    return is_closed ? PFD_END : PFD_OK;
}

pfd_status pfd_loader_pause_counts(pfd_loader *l, int32_t is_paused, pfd_error *err)
{
    if (!lock_loader(l)) return check_usable(l, err);
    pfd_steps *steps = &l->counters.steps;
    int64_t now_ns = pfd_clock_ns();
    int32_t has_memory = !is_paused || pfd_steps_pause(steps, &l->caller, now_ns);
    if (!is_paused) pfd_steps_resume(steps, now_ns);
    unlock_loader(l);
    return has_memory ? PFD_OK : pfd_fail_memory(err, sizeof *steps, "counters of steps");
}

pfd_status pfd_loader_watch(pfd_loader *l, int64_t patience_ns, const char *const *doing,
                            pfd_error *err)
{
    pfd_watched_loader fields = {.plan = &l->plan,
                                 .lock = &l->lock,
                                 .threads = &l->threads,
                                 .steps = &l->counters.steps,
                                 .caller = &l->caller};
    PFD_TRY(lock_consumer(l, INT64_MAX, err));
    pfd_status status =
        l->watched ? PFD_OK : pfd_watchdog_add(&fields, patience_ns, doing, &l->watched, err);
    unlock_consumer(l);
    return status;
}

pfd_status pfd_loader_get_history(const pfd_loader *loader, pfd_history *out)
{
    pfd_loader *l = lock_loader(loader);
    if (!l) return PFD_UNSUPPORTED;
    *out = l->counters.steps.history;
    out->struct_size = sizeof *out;
    unlock_loader(l);
    return PFD_OK;
}

pfd_status pfd_loader_get_moments(const pfd_loader *loader, pfd_moments *out)
{
    pfd_loader *l = lock_loader(loader);
    if (!l) return PFD_UNSUPPORTED;
    *out = l->counters.steps.moments;
    out->struct_size = sizeof *out;
    unlock_loader(l);
    return PFD_OK;
}

/* ---- Tuning ---------------------------------------------------------------------------------- */

pfd_status pfd_loader_get_tuning(const pfd_loader *loader, pfd_tuning_info *out)
{
    pfd_loader *l = lock_loader(loader);
    if (!l) return PFD_UNSUPPORTED;
    pfd_status status = l->tuning ? PFD_OK : PFD_END;
    if (status == PFD_OK) {
        *out = pfd_tuning_get_info(l->tuning);
        out->num_threads = l->num_threads;
        out->prefetch = l->prefetch;
    }
    unlock_loader(l);
    return status;
}

pfd_status pfd_loader_get_decision(const pfd_loader *loader, int64_t i, pfd_decision *out)
{
    pfd_loader *l = lock_loader(loader);
    if (!l) return PFD_UNSUPPORTED;
    pfd_status status = l->tuning ? pfd_tuning_get_decision(l->tuning, i, out) : PFD_END;
    unlock_loader(l);
    return status;
}

/* ---- Traces ---------------------------------------------------------------------------------- */

pfd_status pfd_loader_trace_start(pfd_loader *l, int64_t bytes, pfd_error *err)
{
    if (!lock_loader(l)) return check_usable(l, err);
    pfd_status status = pfd_traces_start(&l->traces, pfd_loader_threads(l), bytes, err);
    unlock_loader(l);
    return status;
}

pfd_status pfd_loader_trace_stop(pfd_loader *l, pfd_trace_info *out)
{
    if (!lock_loader(l)) return PFD_UNSUPPORTED;
    pfd_traces_stop(&l->traces, &l->threads);
    pfd_status status = pfd_traces_get_info(&l->traces, out);
    unlock_loader(l);
    return status;
}

pfd_status pfd_loader_trace_read(pfd_loader *l, int32_t track, pfd_trace_event *out, int64_t room,
                                 int64_t *count)
{
    if (!lock_loader(l)) return PFD_UNSUPPORTED;
    pfd_trace *trace = pfd_traces_begin_read(&l->traces, track);
    pthread_mutex_unlock(&l->lock);
    if (trace) pfd_trace_copy(trace, track, out, room, count);
    pthread_mutex_lock(&l->lock);
    if (trace) pfd_trace_end_read(trace);
    unlock_loader(l);
    return trace ? PFD_OK : PFD_END;
}

void pfd_loader_trace_drop(pfd_loader *l)
{
    if (!lock_loader(l)) return;
    pfd_traces_drop(&l->traces, pfd_loader_threads(l));
    unlock_loader(l);
}

/* ---- For the kit ----------------------------------------------------------------------------- */

uint32_t pfd_private_version(void)
{
    return PFD_PRIVATE_VERSION;
}
