/* The loader without Python: MiniReader, MiniDecoder; an epoch is summed, then one is timed.
 *
 *   engine FOLDER PARTS BATCH_SIZE SHUFFLE THREADS PREFETCH      (0: the default)
 *
 * Prints its measures as JSON.  Also what to run under perf or callgrind.
 */
#include "pyflowdata/pyflowdata.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define NEVER INT64_MAX

typedef struct sums {
    int64_t rows, batches;
    uint64_t x_bits, y_bits, pair_bits;
    double x_sum, y_sum;
} sums;

static pfd_error err = {.struct_size = sizeof(pfd_error)};

static void check(pfd_status status)
{
    if (status >= 0) return;
    fprintf(stderr, "engine: %s\n", err.message);
    exit(1);
}

static double seconds_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static pfd_node *create_reader(char **arguments)
{
    const pfd_attr_value values[] = {
        {.name = "data_dir", .kind = PFD_VALUE_STRING, .s = arguments[1]},
        {.name = "data_part_num", .kind = PFD_VALUE_INT, .i = atoi(arguments[2])},
        {.name = "part_name_suffix_length", .kind = PFD_VALUE_INT, .i = 3},
        {.name = "batch_size", .kind = PFD_VALUE_INT, .i = atoi(arguments[3])},
        {.name = "random_shuffle", .kind = PFD_VALUE_BOOL, .i = atoi(arguments[4])},
        {.name = "shuffle_after_epoch", .kind = PFD_VALUE_BOOL, .i = 1},
        {.name = "seed", .kind = PFD_VALUE_INT, .i = 7},
    };
    pfd_node *reader;
    check(pfd_node_create("MiniReader", "", values, PFD_COUNT(values), NULL, 0, &reader, &err));
    return reader;
}

static pfd_loader *open_loader(char **arguments)
{
    pfd_blob record = {create_reader(arguments), 0};
    pfd_node *decoder;
    check(pfd_node_create("MiniDecoder", "", NULL, 0, &record, 1, &decoder, &err));
    pfd_blob columns[] = {{decoder, 0}, {decoder, 1}};
    pfd_loader_options options = {
        .struct_size = sizeof options,
        .num_threads = atoi(arguments[5]),
        .prefetch = atoi(arguments[6]),
    };
    pfd_loader *loader;
    check(pfd_loader_open(&options, columns, 2, &loader, &err));
    pfd_node_release(decoder);
    pfd_node_release(record.node);
    return loader;
}

static void add(sums *total, const pfd_loader_info *info, const pfd_batch *batch)
{
    const uint8_t *memory = batch->memory;
    const double *x = (const double *)(memory + info->offsets[0]);
    const double *y = (const double *)(memory + info->offsets[1]);
    for (int64_t i = 0; i < batch->rows; i++) {
        uint64_t u, v;
        memcpy(&u, &x[i], sizeof u);
        memcpy(&v, &y[i], sizeof v);
        total->x_bits += u;
        total->y_bits += v;
        total->pair_bits += u * v;
        total->x_sum += x[i];
        total->y_sum += y[i];
    }
}

static sums run_epoch(pfd_loader *loader, int64_t epoch, int summing)
{
    sums total = {0};
    pfd_loader_info info = {.struct_size = sizeof info};
    pfd_batch batch;
    pfd_status status;
    check(pfd_loader_get_info(loader, &info));
    do check(status = pfd_loader_seek(loader, epoch, 0, &err));
    while (status == PFD_PENDING);
    while ((status = pfd_loader_next(loader, NEVER, &batch, &err)) == PFD_OK) {
        total.rows += batch.rows;
        total.batches++;
        if (summing) add(&total, &info, &batch);
        pfd_batch_release(batch.memory);
    }
    check(status);
    return total;
}

int main(int argc, char **argv)
{
    if (argc != 7) {
        fprintf(stderr, "usage: engine FOLDER PARTS BATCH_SIZE SHUFFLE THREADS PREFETCH\n");
        return 2;
    }
    pfd_loader *loader = open_loader(argv);
    sums total = run_epoch(loader, 0, 1);
    double began = seconds_of(CLOCK_MONOTONIC), cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
    run_epoch(loader, 1, 0);
    printf("{\"seconds\": %.9f, \"cpu\": %.9f, \"rows\": %" PRId64 ", \"batches\": %" PRId64,
           seconds_of(CLOCK_MONOTONIC) - began, seconds_of(CLOCK_PROCESS_CPUTIME_ID) - cpu,
           total.rows, total.batches);
    printf(", \"x_sum\": %.17g, \"y_sum\": %.17g", total.x_sum, total.y_sum);
    printf(", \"x_bits\": %" PRIu64 ", \"y_bits\": %" PRIu64 ", \"pair_bits\": %" PRIu64 "}\n",
           total.x_bits, total.y_bits, total.pair_bits);
    pfd_loader_release(loader);
    return 0;
}
