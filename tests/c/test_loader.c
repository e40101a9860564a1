/* Drives whole loaders through the C interface, with no Python: for the sanitizers, which see every
 * thread and every byte here. Prints "N passed, N failed". */
#include "check.h"

#include "core/cpu.h"
#include "loader/ring/ring.h"
#include "pyflowdata/pyflowdata.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void must(pfd_status status, const pfd_error *err, int line)
{
    if (status == PFD_OK) return;
    printf("%s:%d: status %d: %s: %s\n", __FILE__, line, status, err->op, err->message);
    exit(1);
}
#define MUST(call) must((call), &err, __LINE__)

enum { ROWS_PER_FILE = 700, NUM_FILES = 3, NUM_ROWS = ROWS_PER_FILE * NUM_FILES };

static char folder[] = "/tmp/pyflowdata-test-XXXXXX";

/* Row i of the whole is "i,2i"; where `bad` says so, a line that is no row. */
static void write_parts(const char *prefix, int bad_every)
{
    for (int file = 0; file < NUM_FILES; file++) {
        char path[256];
        snprintf(path, sizeof path, "%s/%s%d", folder, prefix, file);
        FILE *out = fopen(path, "w");
        if (!out) exit(1);
        for (int i = file * ROWS_PER_FILE; i < (file + 1) * ROWS_PER_FILE; i++)
            if (bad_every && i % bad_every == 0)
                fprintf(out, "%d,oops\n", i);
            else
                fprintf(out, "%d,%d\n", i, 2 * i);
        fclose(out);
    }
}

typedef struct setting {
    const char *prefix, *on_error, *last_batch;
    int64_t batch_size, rank, world_size, shuffle, max_errors;
    int32_t num_threads, prefetch;
    int64_t memory_budget;
} setting;

static pfd_attr_value text(const char *name, const char *s)
{
    return (pfd_attr_value){.name = name, .kind = PFD_VALUE_STRING, .s = s};
}

static pfd_attr_value number(const char *name, int64_t i)
{
    return (pfd_attr_value){.name = name, .kind = PFD_VALUE_INT, .i = i};
}

static pfd_attr_value flag(const char *name, int64_t i)
{
    return (pfd_attr_value){.name = name, .kind = PFD_VALUE_BOOL, .i = i};
}

/* A loader of x, y, mask and id. */
static pfd_status open_loader(setting s, pfd_loader **out, pfd_error *err)
{
    pfd_attr_value values[] = {
        text("data_dir", folder),
        text("part_name_prefix", s.prefix ? s.prefix : "good-"),
        text("on_error", s.on_error ? s.on_error : "raise"),
        text("last_batch", s.last_batch ? s.last_batch : "short"),
        number("batch_size", s.batch_size ? s.batch_size : 64),
        number("rank", s.rank),
        number("world_size", s.world_size ? s.world_size : 1),
        number("seed", 5),
        number("max_errors", s.max_errors ? s.max_errors : -1),
        flag("random_shuffle", s.shuffle),
        flag("shuffle_after_epoch", s.shuffle),
    };
    pfd_node *reader = NULL, *decoder = NULL;
    must(pfd_node_create("MiniReader", "", values, sizeof values / sizeof *values, NULL, 0, &reader,
                         err),
         err, __LINE__);
    pfd_blob rows = {.node = reader, .output = 0};
    must(pfd_node_create("MiniDecoder", "", NULL, 0, &rows, 1, &decoder, err), err, __LINE__);
    pfd_blob blobs[] = {{.node = decoder, .output = 0},
                        {.node = decoder, .output = 1},
                        {.node = reader, .output = 1},
                        {.node = reader, .output = 2}};
    pfd_loader_options options = {.struct_size = sizeof options,
                                  .num_threads = s.num_threads ? s.num_threads : 2,
                                  .prefetch = s.prefetch,
                                  .memory_budget = s.memory_budget};
    pfd_status status = pfd_loader_open(&options, blobs, 4, out, err);
    pfd_node_release(decoder);
    pfd_node_release(reader);
    return status;
}

/* Where blob i of the loader lies in its batches. */
static int64_t offset_of(const pfd_loader *loader, int i)
{
    pfd_loader_info info;
    pfd_loader_get_info(loader, &info);
    return info.offsets[i];
}

static double first_x(const pfd_batch *batch, int64_t offset)
{
    return *(const double *)(void *)((uint8_t *)batch->memory + offset);
}

/* Waits for ever and by turns: both give the next batch. */
static pfd_status next(pfd_loader *loader, pfd_batch *batch, pfd_error *err)
{
    static _Atomic int calls;
    int for_ever = atomic_fetch_add(&calls, 1) % 2;
    pfd_status status;
    do status = pfd_loader_next(loader, for_ever ? INT64_MAX : 20 * 1000 * 1000, batch, err);
    while (status == PFD_PENDING && !for_ever);
    return status;
}

/* Rows add up, and a hash of the values in their order. */
typedef struct epoch_sum {
    int64_t steps, rows, errors;
    uint64_t order;
} epoch_sum;

static void add_batch(epoch_sum *sum, pfd_loader *loader, const pfd_batch *batch)
{
    uint8_t *memory = batch->memory;
    const double *x = (double *)(void *)(memory + offset_of(loader, 0));
    const double *y = (double *)(void *)(memory + offset_of(loader, 1));
    const uint8_t *mask = memory + offset_of(loader, 2);
    const int64_t *ids = (int64_t *)(void *)(memory + offset_of(loader, 3));
    for (int64_t i = 0; i < batch->rows; i++) {
        if (mask[i]) CHECK(y[i] == 2 * x[i] && (int64_t)x[i] == ids[2 * i + 1]);
        sum->order = (sum->order ^ (uint64_t)ids[2 * i + 1]) * 0x100000001b3u;
    }
    sum->rows += batch->rows;
    sum->steps++;
}

static epoch_sum read_epoch(pfd_loader *loader)
{
    epoch_sum sum = {0};
    pfd_batch batch;
    pfd_error err = {.struct_size = sizeof err};
    for (pfd_status status; (status = next(loader, &batch, &err)) != PFD_END;) {
        if (status != PFD_OK) {
            sum.errors++;
            continue;
        }
        add_batch(&sum, loader, &batch);
        pfd_batch_release(batch.memory);
    }
    return sum;
}

static void test_any_number_of_threads_gives_the_same_order(void)
{
    pfd_error err = {.struct_size = sizeof err};
    uint64_t order[3] = {0};
    const int32_t threads[] = {1, 2, 7};
    for (int t = 0; t < 3; t++)
        for (int32_t prefetch = 1; prefetch < 9; prefetch += 3) {
            pfd_loader *loader = NULL;
            setting s = {.shuffle = 1, .num_threads = threads[t], .prefetch = prefetch};
            MUST(open_loader(s, &loader, &err));
            for (int epoch = 0; epoch < 3; epoch++) {
                epoch_sum sum = read_epoch(loader);
                CHECK(sum.rows == NUM_ROWS && sum.steps == (NUM_ROWS + 63) / 64);
                CHECK(order[epoch] == 0 || order[epoch] == sum.order);
                order[epoch] = sum.order;
            }
            pfd_loader_release(loader);
        }
    CHECK(order[0] != order[1] && order[1] != order[2]);
}

/* Returns NULL if all that it is told is possible. */
static void *ask_meanwhile(void *loader)
{
    pfd_loader_info info = {0};
    pfd_tuning_info tuning = {0};
    pfd_stats stats = {0};
    pfd_thread_now thread;
    pfd_decision decision;
    int32_t ok = 1;
    while (stats.batches < 500) {
        ok &= pfd_loader_get_stats(loader, &stats) == PFD_OK;
        ok &= stats.idle_ns >= 0 && stats.thread_ns >= 0;
        ok &= pfd_loader_get_info(loader, &info) == PFD_OK;
        ok &= pfd_loader_get_tuning(loader, &tuning) == PFD_OK;
        ok &= info.num_threads >= 1 && info.num_threads <= tuning.most_threads;
        ok &= info.prefetch >= 1 && info.prefetch <= tuning.most_prefetch;
        ok &= pfd_loader_get_decision(loader, 0, &decision) >= PFD_OK;
        int32_t threads = 0;
        while (pfd_loader_get_thread(loader, threads, &thread) == PFD_OK) threads++;
        ok &= threads >= 2 && threads <= tuning.most_threads + 1;
    }
    return ok ? NULL : loader;
}

/* Threads and batches in flight change after each batch, while somebody looks. */
static void test_threads_that_change_give_the_same_order(void)
{
    pfd_error err = {.struct_size = sizeof err};
    pfd_loader *steady = NULL, *loader = NULL;
    setting s = {.shuffle = 1, .num_threads = PFD_AUTO, .prefetch = PFD_AUTO};
    MUST(open_loader((setting){.shuffle = 1}, &steady, &err));
    MUST(open_loader(s, &loader, &err));
    CHECK(pfd_loader_get_tuning(steady, &(pfd_tuning_info){0}) == PFD_END);
    CHECK(loader->threads.most_threads >= 16 && loader->most_prefetch >= 64);
    pthread_t asker;
    REQUIRE(pthread_create(&asker, NULL, ask_meanwhile, loader) == 0);
    pfd_batch batch, same;
    int64_t x = offset_of(loader, 0);
    for (int i = 0; i < 640; i++) {
        pfd_status status = next(loader, &batch, &err);
        CHECK(next(steady, &same, &err) == status);
        if (status == PFD_OK) {
            CHECK(batch.step == same.step && batch.rows == same.rows);
            CHECK(first_x(&batch, x) == first_x(&same, x));
            pfd_batch_release(batch.memory);
            pfd_batch_release(same.memory);
        }
        pthread_mutex_lock(&loader->consumer);
        pfd_ring_adjust(loader, i * 7 % 16 + 1, i * i % 64 + 1);
        pthread_mutex_unlock(&loader->consumer);
        if (i % 50 == 49)
            for (int k = 0; k < 2; k++) {
                pfd_loader *of = k ? loader : steady;
                while (pfd_loader_seek(of, i / 50, i % 33, &err) == PFD_PENDING) continue;
            }
    }
    void *wrong = NULL;
    pthread_join(asker, &wrong);
    CHECK(!wrong);
    pfd_stats stats;
    CHECK(pfd_loader_get_stats(loader, &stats) == PFD_OK);
    CHECK(stats.slots <= 64 + 2);
    pfd_loader_close(loader);
    CHECK(pfd_loader_get_tuning(loader, &(pfd_tuning_info){0}) == PFD_OK);
    pfd_loader_release(loader);
    pfd_loader_release(steady);
}

/* Threads and batches ahead stay within memory_budget. */
/* Whether the events of a thread are whole, and lie one after the other or one in the other. */
static int32_t are_possible(const pfd_trace_event *events, int64_t count)
{
    int64_t range_end_ns = 0, work_end_ns = 0;
    int32_t ok = 1;
    for (int64_t i = 0; i < count; i++) {
        const pfd_trace_event *event = &events[i];
        ok &= event->begin_ns > 0 && event->begin_ns <= event->end_ns;
        if (event->kind == PFD_TRACE_WORK) { /* before the range that it is in */
            ok &= event->begin_ns >= work_end_ns && event->begin_ns >= range_end_ns;
            work_end_ns = event->end_ns;
        } else if (event->kind == PFD_TRACE_RANGE) {
            ok &= event->begin_ns >= range_end_ns && event->end_ns >= work_end_ns;
            ok &= event->num_rows > 0 && event->first_row >= 0 && event->step >= 0;
            range_end_ns = event->end_ns;
        }
    }
    return ok;
}

/* Traces, again and again; returns NULL if all events are possible. */
static void *trace_meanwhile(void *loader)
{
    enum { ROOM = 4096 };
    pfd_error err = {.struct_size = sizeof err};
    pfd_trace_event *events = calloc(ROOM, sizeof *events);
    int64_t seen = 0, count;
    int32_t ok = events != NULL;
    pfd_stats stats = {0};
    for (int i = 0; ok && stats.batches < 500; i++) {
        pfd_trace_info info;
        ok &= pfd_loader_trace_start(loader, (i % 5 + 1) * 20000, &err) == PFD_OK;
        ok &= pfd_loader_trace_start(loader, 20000, &err) == PFD_INVALID_ARGUMENT;
        int64_t until = stats.batches + 3;
        while (stats.batches < until && stats.batches < 500) {
            struct timespec pause = {.tv_nsec = 20000};
            (void)nanosleep(&pause, NULL);
            ok &= pfd_loader_get_stats(loader, &stats) == PFD_OK;
        }
        ok &= pfd_loader_trace_stop(loader, &info) == PFD_OK && info.end_ns >= info.begin_ns;
        for (int32_t track = 0; track <= info.num_tracks; track++) {
            ok &= pfd_loader_trace_read(loader, track, events, ROOM, &count) == PFD_OK;
            if (track < info.num_tracks - 1) ok &= count <= ROOM && are_possible(events, count);
            seen += count;
        }
        ok &= pfd_loader_trace_read(loader, info.num_tracks + 1, events, ROOM, &count) == PFD_END;
        if (i % 2) pfd_loader_trace_drop(loader);
    }
    free(events);
    return ok && seen > 0 ? NULL : loader;
}

/* While threads come and go, and the loader is moved. */
static void test_traces_begin_and_end_at_any_time(void)
{
    pfd_error err = {.struct_size = sizeof err};
    pfd_loader *loader = NULL;
    setting s = {.shuffle = 1, .num_threads = PFD_AUTO, .prefetch = PFD_AUTO};
    MUST(open_loader(s, &loader, &err));
    pthread_t tracer;
    REQUIRE(pthread_create(&tracer, NULL, trace_meanwhile, loader) == 0);
    pfd_batch batch;
    for (int i = 0; i < 600; i++) {
        if (next(loader, &batch, &err) == PFD_OK) pfd_batch_release(batch.memory);
        pthread_mutex_lock(&loader->consumer);
        pfd_ring_adjust(loader, i * 7 % 16 + 1, i * i % 64 + 1);
        pthread_mutex_unlock(&loader->consumer);
        if (i % 50 == 49)
            while (pfd_loader_seek(loader, i / 50, i % 33, &err) == PFD_PENDING) continue;
    }
    void *wrong = NULL;
    pthread_join(tracer, &wrong);
    CHECK(!wrong);
    while (pfd_loader_seek(loader, 0, 0, &err) == PFD_PENDING) continue;
    MUST(pfd_loader_trace_start(loader, 1 << 20, &err));
    CHECK(next(loader, &batch, &err) == PFD_OK); /* held until after the loader */
    pfd_loader_close(loader);
    pfd_trace_info info;
    CHECK(pfd_loader_trace_stop(loader, &info) == PFD_OK && info.dropped == 0);
    CHECK(pfd_loader_trace_start(loader, 1 << 20, &err) == PFD_CANCELLED);
    pfd_loader_release(loader);
    pfd_batch_release(batch.memory);
}

static void test_tuning_within_the_budget(void)
{
    pfd_error err = {.struct_size = sizeof err};
    pfd_loader *loader = NULL;
    for (int64_t budget = 20000; budget < 4000000; budget = budget * 3 / 2) {
        setting s = {.num_threads = PFD_AUTO, .prefetch = PFD_AUTO, .memory_budget = budget};
        MUST(open_loader(s, &loader, &err));
        pfd_batch batch;
        for (int i = 0; i < 100; i++) {
            pthread_mutex_lock(&loader->consumer);
            pfd_ring_adjust(loader, loader->threads.most_threads, loader->most_prefetch);
            pthread_mutex_unlock(&loader->consumer);
            if (next(loader, &batch, &err) == PFD_OK) pfd_batch_release(batch.memory);
        }
        pfd_stats stats;
        CHECK(pfd_loader_get_stats(loader, &stats) == PFD_OK && stats.slot_bytes <= budget);
        int64_t more = loader->threads.most_threads - pfd_cpu_count();
        CHECK(more == 0 || more * loader->plan.worker_bytes <= budget / 4);
        pfd_loader_release(loader);
    }
}

static void test_big_batches_are_made_by_several_threads(void)
{
    pfd_error err = {.struct_size = sizeof err};
    pfd_loader *loader = NULL;
    MUST(open_loader((setting){.batch_size = 100000, .num_threads = 7}, &loader, &err));
    for (int epoch = 0; epoch < 5; epoch++) CHECK(read_epoch(loader).rows == NUM_ROWS);
    pfd_loader_release(loader);
}

static void test_ranks_share_an_epoch(void)
{
    pfd_error err = {.struct_size = sizeof err};
    const char *const rules[] = {"short", "drop", "pad", "wrap"};
    for (int rule = 0; rule < 4; rule++) {
        int64_t rows = 0, steps = -1;
        for (int64_t rank = 0; rank < 4; rank++) {
            pfd_loader *loader = NULL;
            setting s = {.shuffle = 1, .rank = rank, .world_size = 4, .last_batch = rules[rule]};
            MUST(open_loader(s, &loader, &err));
            epoch_sum sum = read_epoch(loader);
            rows += sum.rows;
            CHECK(steps < 0 || steps == sum.steps);
            steps = sum.steps;
            pfd_loader_release(loader);
        }
        CHECK(rows == (rule == 0 ? NUM_ROWS : rule == 1 ? NUM_ROWS / 64 * 64 : steps * 64));
    }
}

static void test_seek_goes_on_exactly_there(void)
{
    pfd_error err = {.struct_size = sizeof err};
    pfd_loader *loader = NULL;
    pfd_batch batch;
    MUST(open_loader((setting){.shuffle = 1}, &loader, &err));
    const int64_t x = offset_of(loader, 0);
    double first[40];
    for (int step = 0; step < 33; step++) {
        MUST(next(loader, &batch, &err));
        first[step] = first_x(&batch, x);
        pfd_batch_release(batch.memory);
    }
    for (int i = 0; i < 60; i++) {
        int step = i * 7 % 33;
        pfd_status status;
        while ((status = pfd_loader_seek(loader, 0, step, &err)) == PFD_PENDING) continue;
        MUST(status);
        MUST(next(loader, &batch, &err));
        CHECK(batch.step == step && first_x(&batch, x) == first[step]);
        pfd_batch_release(batch.memory);
    }
    CHECK(pfd_loader_seek(loader, 0, 34, &err) == PFD_INVALID_ARGUMENT);
    pfd_loader_release(loader);
}

static void test_bad_records_by_policy(void)
{
    pfd_error err = {.struct_size = sizeof err};
    pfd_loader *loader = NULL;
    const int64_t bad = (NUM_ROWS + 49) / 50;
    MUST(open_loader((setting){.prefix = "bad-", .on_error = "skip", .shuffle = 1}, &loader, &err));
    CHECK(read_epoch(loader).rows == NUM_ROWS - bad);
    pfd_stats stats;
    pfd_loader_get_stats(loader, &stats);
    CHECK(stats.skipped == bad && stats.slots_held == 0);
    CHECK(pfd_loader_get_skipped(loader, bad - 1, &err) == PFD_OK && err.line > 0 && err.file[0]);
    CHECK(pfd_loader_get_skipped(loader, bad, &err) == PFD_END);
    union { /* of a program that was compiled with 1.0: nothing beyond its size is written */
        pfd_error err;
        uint8_t bytes[sizeof(pfd_error)];
    } old;
    memset(&old, 0xaa, sizeof old);
    old.err.struct_size = offsetof(pfd_error, reason);
    CHECK(pfd_loader_get_skipped(loader, 0, &old.err) == PFD_OK);
    CHECK(old.err.struct_size == offsetof(pfd_error, reason));
    CHECK(old.err.status == PFD_CORRUPT_DATA && old.err.line > 0 && old.err.message[0]);
    for (size_t b = offsetof(pfd_error, reason); b < sizeof old; b++) CHECK(old.bytes[b] == 0xaa);
    pfd_loader_release(loader);

    MUST(open_loader((setting){.prefix = "bad-", .on_error = "pad"}, &loader, &err));
    CHECK(read_epoch(loader).rows == NUM_ROWS);
    pfd_loader_release(loader);

    MUST(open_loader((setting){.prefix = "bad-", .num_threads = 7}, &loader, &err));
    pfd_batch batch;
    CHECK(next(loader, &batch, &err) == PFD_CORRUPT_DATA && err.line == 1 && err.byte == 2);
    CHECK(read_epoch(loader).errors > 0);
    pfd_loader_release(loader);

    setting few = {.prefix = "bad-", .on_error = "skip", .max_errors = 3};
    MUST(open_loader(few, &loader, &err));
    CHECK(read_epoch(loader).errors > 0);
    pfd_loader_release(loader);
}

static void test_held_batches_survive_close_and_obey_the_budget(void)
{
    pfd_error err = {.struct_size = sizeof err};
    pfd_loader *loader = NULL;
    pfd_batch held[16];
    MUST(open_loader((setting){.memory_budget = 8 * 64 * 64}, &loader, &err));
    const int64_t x = offset_of(loader, 0);
    int n = 0;
    pfd_status status;
    while ((status = next(loader, &held[n], &err)) == PFD_OK && n < 15) n++;
    CHECK(status == PFD_OUT_OF_MEMORY && strstr(err.message, "memory_budget"));
    pfd_batch_release(held[--n].memory);
    CHECK(next(loader, &held[n++], &err) == PFD_OK);
    pfd_loader_close(loader);
    CHECK(next(loader, &held[15], &err) == PFD_CANCELLED);
    pfd_loader_release(loader);
    for (int i = 0; i < n; i++) {
        CHECK(first_x(&held[i], x) == (double)(64 * held[i].step));
        pfd_batch_release(held[i].memory);
    }
}

typedef struct crowd {
    pfd_loader *loader;
    _Atomic int64_t rows;
} crowd;

static void *consume(void *argument)
{
    crowd *c = argument;
    pfd_error err = {.struct_size = sizeof err};
    pfd_batch batch;
    pfd_stats stats;
    for (pfd_status status; (status = next(c->loader, &batch, &err)) != PFD_CANCELLED;) {
        if (status != PFD_OK) continue;
        c->rows += batch.rows;
        pfd_loader_get_stats(c->loader, &stats);
        pfd_batch_release(batch.memory);
    }
    return NULL;
}

static void test_many_consumers_and_a_close_in_between(void)
{
    pfd_error err = {.struct_size = sizeof err};
    for (int round = 0; round < 5; round++) {
        crowd c = {0};
        MUST(open_loader((setting){.shuffle = 1, .num_threads = 3}, &c.loader, &err));
        pthread_t threads[3];
        for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, consume, &c);
        while (c.rows < 2 * NUM_ROWS) usleep(1000);
        pfd_loader_close(c.loader);
        for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
        pfd_loader_release(c.loader);
        CHECK(c.rows >= 2 * NUM_ROWS);
    }
}

/* Reads rows at places of an epoch, while another thread takes batches. */
static void *read_rows(void *argument)
{
    pfd_loader *loader = argument;
    pfd_error err = {.struct_size = sizeof err};
    int64_t offset = offset_of(loader, 0), wrong = 0;
    for (int64_t i = 0; i < 300; i++) {
        int64_t positions[3] = {i * 7 % NUM_ROWS, NUM_ROWS - 1 - i, i * 7 % NUM_ROWS};
        pfd_batch batch;
        pfd_status status;
        do status = pfd_loader_read(loader, 0, positions, 3, &batch, &err);
        while (status == PFD_PENDING);
        if (status != PFD_OK) return (void *)(intptr_t)-1;
        const double *x = (const double *)(void *)((uint8_t *)batch.memory + offset);
        for (int k = 0; k < 3; k++) wrong += x[k] != (double)positions[k];
        wrong += batch.rows != 3 || batch.step != -1;
        pfd_batch_release(batch.memory);
    }
    return (void *)(intptr_t)wrong;
}

static void test_rows_are_read_beside_the_batches(void)
{
    pfd_error err = {.struct_size = sizeof err};
    pfd_loader *loader = NULL;
    MUST(open_loader((setting){.batch_size = 64}, &loader, &err));
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, read_rows, loader);
    int64_t rows = 0, offset = offset_of(loader, 0), wrong = 0;
    pfd_batch batch;
    pfd_status status;
    while ((status = next(loader, &batch, &err)) == PFD_OK || status == PFD_PENDING) {
        if (status == PFD_PENDING) continue;
        wrong += first_x(&batch, offset) != (double)rows;
        rows += batch.rows;
        pfd_batch_release(batch.memory);
    }
    CHECK(status == PFD_END && rows == NUM_ROWS && wrong == 0);
    for (int i = 0; i < 2; i++) {
        void *failures;
        pthread_join(threads[i], &failures);
        CHECK(failures == NULL);
    }
    int64_t beyond[] = {NUM_ROWS, -1}, many[65] = {0};
    CHECK(pfd_loader_read(loader, 0, &beyond[0], 1, &batch, &err) == PFD_INVALID_ARGUMENT);
    CHECK(pfd_loader_read(loader, 0, &beyond[1], 1, &batch, &err) == PFD_INVALID_ARGUMENT);
    CHECK(pfd_loader_read(loader, 0, many, 65, &batch, &err) == PFD_INVALID_ARGUMENT);
    CHECK(pfd_loader_read(loader, -1, many, 1, &batch, &err) == PFD_INVALID_ARGUMENT);
    MUST(pfd_loader_read(loader, 0, many, 0, &batch, &err));
    CHECK(batch.rows == 0);
    pfd_batch_release(batch.memory);
    pfd_loader_close(loader);
    CHECK(pfd_loader_read(loader, 0, many, 1, &batch, &err) == PFD_CANCELLED);
    pfd_loader_release(loader);
}

/* ---- Every call beside every other, and beside close() --------------------------------------- */

/* `status` of a call that may be refused, since the loader closes, or is traced already. */
static int32_t is_answer(pfd_status status, const pfd_error *err)
{
    return status >= 0 || status == PFD_CANCELLED ||
           (status == PFD_INVALID_ARGUMENT && strstr(err->message, "traced already"));
}

static int32_t call_next(pfd_loader *l, pfd_error *err)
{
    pfd_batch batch;
    pfd_status status = pfd_loader_next(l, INT64_MAX, &batch, err);
    if (status == PFD_OK) pfd_batch_release(batch.memory);
    return is_answer(status, err);
}

static int32_t call_read(pfd_loader *l, pfd_error *err)
{
    const int64_t positions[] = {3, 1400};
    pfd_batch batch;
    pfd_status status = pfd_loader_read(l, 0, positions, 2, &batch, err);
    if (status == PFD_OK) pfd_batch_release(batch.memory);
    return is_answer(status, err);
}

static int32_t call_seek(pfd_loader *l, pfd_error *err)
{
    static _Atomic int64_t calls;
    return is_answer(pfd_loader_seek(l, 0, atomic_fetch_add(&calls, 1) % 3, err), err);
}

static int32_t call_set_seed(pfd_loader *l, pfd_error *err)
{
    static _Atomic int64_t calls;
    return is_answer(pfd_loader_set_seed(l, 0, atomic_fetch_add(&calls, 1) % 3, err), err);
}

static int32_t call_file(pfd_loader *l, pfd_error *err)
{
    char path[256];
    int64_t size = 0;
    pfd_status status = pfd_loader_file(l, 0, 1, path, sizeof path, &size, err);
    return is_answer(status, err) &&
           (status != PFD_OK || (strstr(path, "good-1") && size == (int64_t)strlen(path) + 1));
}

static int32_t call_first_record(pfd_loader *l, pfd_error *err)
{
    int64_t ordinal = ROWS_PER_FILE;
    pfd_status status = pfd_loader_first_record(l, 0, 1, &ordinal, err);
    return is_answer(status, err) && ordinal == ROWS_PER_FILE;
}

static int32_t call_locate(pfd_loader *l, pfd_error *err)
{
    pfd_status status = pfd_loader_locate(l, 0, 1, ROWS_PER_FILE, err);
    return is_answer(status, err) && (status != PFD_OK || strstr(err->file, "good-1"));
}

static int32_t call_get_reader(pfd_loader *l, pfd_error *err)
{
    (void)err;
    pfd_reader_info info;
    return pfd_loader_get_reader(l, 0, &info) == PFD_OK && info.num_files == NUM_FILES;
}

static int32_t call_get_past(pfd_loader *l, pfd_error *err)
{
    (void)err;
    return pfd_loader_get_past(l, 0, 1, 1) == 0;
}

static int32_t call_pause_counts(pfd_loader *l, pfd_error *err)
{
    pfd_status paused = pfd_loader_pause_counts(l, 1, err);
    return paused == PFD_OK && pfd_loader_pause_counts(l, 0, err) == PFD_OK;
}

static int32_t call_missing_bytes(pfd_loader *l, pfd_error *err)
{
    (void)err;
    return pfd_loader_missing_bytes(l) == 0;
}

static int32_t call_watch(pfd_loader *l, pfd_error *err)
{
    static const char *const doing[] = {"a", "b", "c", "d", "e", "f", "g", "h"}; /* and some more */
    pfd_watch_expect(0);
    return is_answer(pfd_loader_watch(l, INT64_C(60000000000), doing, err), err);
}

static int32_t call_tell_thread(pfd_loader *l, pfd_error *err)
{
    (void)err;
    char told[8] = "";
    pfd_thread_now now = {.struct_size = sizeof now, .system_id = 1, .file = -1};
    pfd_status status = pfd_loader_tell_thread(l, 0, &now, "at it", "1 s", told, sizeof told);
    return status == PFD_END || (status == PFD_OK && strcmp(told, "thread ") == 0);
}

static int32_t call_caller(pfd_loader *l, pfd_error *err)
{
    (void)err;
    return pfd_loader_caller(l) != NULL;
}

static int32_t call_trace_start(pfd_loader *l, pfd_error *err)
{
    return is_answer(pfd_loader_trace_start(l, 20000, err), err);
}

static int32_t call_trace_drop(pfd_loader *l, pfd_error *err)
{
    (void)err;
    pfd_loader_trace_drop(l);
    return 1;
}

/* A question whose answer is a struct, or PFD_END. */
#define ASKS(name, type, ...)                                                                      \
    static int32_t call_##name(pfd_loader *l, pfd_error *err)                                      \
    {                                                                                              \
        (void)err;                                                                                 \
        type out;                                                                                  \
        return pfd_loader_##name(l, __VA_ARGS__ &out) >= 0;                                        \
    }
ASKS(get_info, pfd_loader_info, )
ASKS(get_stats, pfd_stats, )
ASKS(get_work, pfd_work_stats, 0, )
ASKS(get_thread, pfd_thread_now, 0, )
ASKS(get_history, pfd_history, )
ASKS(get_moments, pfd_moments, )
ASKS(get_tuning, pfd_tuning_info, )
ASKS(get_decision, pfd_decision, 0, )
ASKS(trace_stop, pfd_trace_info, )

static int32_t call_get_skipped(pfd_loader *l, pfd_error *err)
{
    return pfd_loader_get_skipped(l, 0, err) == PFD_END;
}

static int32_t call_trace_read(pfd_loader *l, pfd_error *err)
{
    (void)err;
    pfd_trace_event events[16];
    int64_t count;
    return pfd_loader_trace_read(l, 0, events, 16, &count) >= 0;
}

/* All of them, but open, close and release. */
#define CALL(name) {"pfd_loader_" #name, call_##name}
static const struct call {
    const char *name;
    int32_t (*run)(pfd_loader *, pfd_error *);
} calls[] = {
    CALL(next),        CALL(read),         CALL(seek),       CALL(set_seed),   CALL(file),
    CALL(locate),      CALL(first_record), CALL(get_reader), CALL(get_past),   CALL(pause_counts),
    CALL(get_info),    CALL(get_stats),    CALL(get_work),   CALL(get_thread), CALL(get_history),
    CALL(get_tuning),  CALL(get_decision), CALL(trace_stop), CALL(trace_read), CALL(trace_start),
    CALL(get_skipped), CALL(trace_drop),   CALL(watch),      CALL(caller),
    CALL(get_moments), CALL(missing_bytes), CALL(tell_thread),
};
enum { NUM_CALLS = sizeof calls / sizeof *calls };

typedef struct caller {
    const struct call *call;
    pfd_loader *loader;
    _Atomic int32_t made, wrong, over;
} caller;

static void *call_again(void *argument)
{
    caller *c = argument;
    pfd_error err = {.struct_size = sizeof err};
    while (!atomic_load(&c->over)) {
        if (!c->call->run(c->loader, &err)) atomic_store(&c->wrong, 1);
        atomic_fetch_add(&c->made, 1);
    }
    return NULL;
}

static void check_caller(caller *c, pthread_t thread)
{
    atomic_store(&c->over, 1);
    pthread_join(thread, NULL);
    if (c->wrong) printf("wrong: %s\n", c->call->name);
    CHECK(!c->wrong);
}

/* The `round`-th loader: some adjust themselves. */
static pfd_loader *open_shared(int round)
{
    pfd_error err = {.struct_size = sizeof err};
    pfd_loader *loader = NULL;
    setting s = {.shuffle = 1, .num_threads = round % 2 ? PFD_AUTO : 2, .prefetch = 3};
    MUST(open_loader(s, &loader, &err));
    return loader;
}

static void test_every_call_beside_every_other(void)
{
    pfd_error err = {.struct_size = sizeof err};
    pfd_loader *loader = open_shared(1);
    for (int i = 0; i < NUM_CALLS; i++) {
        caller c = {.call = &calls[i], .loader = loader};
        pthread_t thread;
        REQUIRE(pthread_create(&thread, NULL, call_again, &c) == 0);
        while (atomic_load(&c.made) == 0) usleep(10);
        for (int k = i; k < NUM_CALLS; k++)
            for (int times = 0; times < 5; times++) CHECK(calls[k].run(loader, &err));
        check_caller(&c, thread);
    }
    pfd_loader_release(loader);
}

/* Closed by two threads at once, while a third one makes calls. */
static void *close_loader(void *loader)
{
    pfd_loader_close(loader);
    return NULL;
}

static void test_every_call_beside_close(void)
{
    for (int round = 0; round < 3 * NUM_CALLS; round++) {
        caller c = {.call = &calls[round % NUM_CALLS], .loader = open_shared(round)};
        pthread_t thread, closer;
        REQUIRE(pthread_create(&thread, NULL, call_again, &c) == 0);
        while (atomic_load(&c.made) < 1 + round % 7) usleep(10);
        REQUIRE(pthread_create(&closer, NULL, close_loader, c.loader) == 0);
        pfd_loader_close(c.loader);
        int32_t made = atomic_load(&c.made);
        while (atomic_load(&c.made) < made + 2) usleep(10); /* calls of a closed loader */
        check_caller(&c, thread);
        pthread_join(closer, NULL);
        pfd_loader_release(c.loader);
    }
}

static void *release_loader(void *loader)
{
    pfd_loader_release(loader);
    return NULL;
}

static int32_t is_closed(pfd_loader *loader)
{
    pthread_mutex_lock(&loader->lock);
    int32_t closed = loader->closed;
    pthread_mutex_unlock(&loader->lock);
    return closed;
}

/* What a call does at its beginning and at its end, as if a thread were inside for long. */
static void test_release_waits_for_every_call(void)
{
    const int64_t kinds[] = {PFD_LEASE_USE, PFD_LEASE_QUESTION};
    for (int i = 0; i < 2; i++) {
        pfd_loader *loader = open_shared(i);
        atomic_fetch_add(&loader->lease.calls, kinds[i]);
        pthread_t releaser;
        REQUIRE(pthread_create(&releaser, NULL, release_loader, loader) == 0);
        while (!pfd_loader_is_closing(loader)) usleep(100);
        while (kinds[i] == PFD_LEASE_QUESTION && !is_closed(loader)) usleep(100);
        usleep(5000); /* in which nothing happens */
        CHECK(pthread_tryjoin_np(releaser, NULL) == EBUSY);
        CHECK(is_closed(loader) == (kinds[i] == PFD_LEASE_QUESTION));
        pthread_mutex_lock(&loader->lock);
        atomic_fetch_sub(&loader->lease.calls, kinds[i]);
        pthread_cond_broadcast(&loader->changed);
        pthread_mutex_unlock(&loader->lock);
        pthread_join(releaser, NULL);
    }
}

static void test_damage_of_rows_that_are_read(void)
{
    pfd_error err = {.struct_size = sizeof err};
    const char *const rules[] = {"raise", "skip", "pad"};
    int64_t positions[] = {99, 100, 101};
    for (int i = 0; i < 3; i++) {
        pfd_loader *loader = NULL;
        pfd_batch batch;
        pfd_stats stats = {.struct_size = sizeof stats};
        MUST(open_loader((setting){.prefix = "bad-", .on_error = rules[i]}, &loader, &err));
        pfd_status status = pfd_loader_read(loader, 0, positions, 3, &batch, &err);
        CHECK(status == (i == 0 ? PFD_CORRUPT_DATA : PFD_OK));
        if (status == PFD_OK) {
            CHECK(batch.rows == (i == 1 ? 2 : 3));
            pfd_batch_release(batch.memory);
        }
        pfd_loader_get_stats(loader, &stats);
        CHECK(stats.skipped == (i > 0) && stats.slots_held == 0);
        pfd_loader_release(loader);
    }
}

static void test_open_failures_leave_nothing(void)
{
    pfd_error err = {.struct_size = sizeof err};
    pfd_loader *loader = NULL;
    CHECK(open_loader((setting){.prefix = "none-"}, &loader, &err) == PFD_IO);
    CHECK(open_loader((setting){.memory_budget = 10}, &loader, &err) == PFD_INVALID_ARGUMENT);
    CHECK(open_loader((setting){.num_threads = -1}, &loader, &err) == PFD_INVALID_ARGUMENT);
    CHECK(open_loader((setting){.batch_size = INT32_MAX}, &loader, &err) != PFD_OK || loader);
    pfd_loader_release(loader);
}

static void remove_parts(const char *prefix)
{
    for (int file = 0; file < NUM_FILES; file++) {
        char path[256];
        snprintf(path, sizeof path, "%s/%s%d", folder, prefix, file);
        unlink(path);
    }
}

int main(void)
{
    if (!mkdtemp(folder)) return 1;
    write_parts("good-", 0);
    write_parts("bad-", 50);
    test_any_number_of_threads_gives_the_same_order();
    test_threads_that_change_give_the_same_order();
    test_traces_begin_and_end_at_any_time();
    test_tuning_within_the_budget();
    test_big_batches_are_made_by_several_threads();
    test_ranks_share_an_epoch();
    test_seek_goes_on_exactly_there();
    test_bad_records_by_policy();
    test_held_batches_survive_close_and_obey_the_budget();
    test_many_consumers_and_a_close_in_between();
    test_rows_are_read_beside_the_batches();
    test_every_call_beside_every_other();
    test_every_call_beside_close();
    test_release_waits_for_every_call();
    test_damage_of_rows_that_are_read();
    test_open_failures_leave_nothing();
    remove_parts("good-");
    remove_parts("bad-");
    rmdir(folder);
    return report();
}
