/* An epoch of a workload's loader, without Python; its batches are not looked at.
 *
 *   drain WORKLOAD BATCH_SIZE FILE...
 *
 * Prints the number of records and of batches.  instructions.py counts what the library executes
 * meanwhile: so nothing here depends on the machine.
 */
#include "pyflowdata/pyflowdata.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { most_values = 8, most_blobs = 2, prefetch = 2 };
#define NEVER INT64_MAX

/* The attrs of a node. */
typedef struct attrs {
    pfd_attr_value values[most_values];
    int64_t count;
} attrs;

/* The files, and how they are batched. */
typedef struct source {
    const char **files;
    int64_t num_files, batch_size;
} source;

/* What a loader delivers. */
typedef struct columns {
    pfd_blob blobs[most_blobs];
    int64_t count;
} columns;

static pfd_error err = {.struct_size = sizeof(pfd_error)};

static void check(pfd_status status)
{
    if (status >= 0) return;
    fprintf(stderr, "drain: %s\n", err.message);
    exit(1);
}

static void add(attrs *to, pfd_attr_value value)
{
    to->values[to->count++] = value;
}

static void add_int(attrs *to, const char *name, int32_t kind, int64_t value)
{
    add(to, (pfd_attr_value){.name = name, .kind = kind, .i = value});
}

static void add_text(attrs *to, const char *name, const char *value)
{
    add(to, (pfd_attr_value){.name = name, .kind = PFD_VALUE_STRING, .s = value});
}

static void add_texts(attrs *to, const char *name, const char **values, int64_t count)
{
    add(to, (pfd_attr_value){
                .name = name, .kind = PFD_VALUE_LIST_STRING, .list = values, .list_size = count});
}

static pfd_node *create(const char *op, const attrs *with, const pfd_blob *input)
{
    pfd_node *node;
    check(pfd_node_create(op, "", with->values, with->count, input, input != NULL, &node, &err));
    return node;
}

/* A reader of the first `num_files` files: in their order, or shuffled. */
static pfd_node *create_reader(const char *op, attrs *with, const source *from, int64_t num_files,
                               int is_random)
{
    add_texts(with, "files", from->files, num_files);
    add_int(with, "batch_size", PFD_VALUE_INT, from->batch_size);
    if (is_random) {
        add_int(with, "random_shuffle", PFD_VALUE_BOOL, 1);
        add_int(with, "shuffle_after_epoch", PFD_VALUE_BOOL, 1);
        add_int(with, "seed", PFD_VALUE_INT, 7);
    }
    return create(op, with, NULL);
}

static columns create_lines(const source *from, int is_random)
{
    attrs none = {0}, of_reader = {0};
    pfd_node *reader = create_reader("MiniReader", &of_reader, from, from->num_files, is_random);
    pfd_node *decoder = create("MiniDecoder", &none, &(pfd_blob){reader, 0});
    pfd_node_release(reader);
    return (columns){{{decoder, 0}, {decoder, 1}}, 2};
}

static columns create_examples(const source *from, int is_random)
{
    static const char *features[] = {"x:float32[64]", "y:int64"};
    attrs of_decoder = {0}, of_reader = {0};
    add_int(&of_reader, "check_crc", PFD_VALUE_BOOL, 1);
    add_texts(&of_decoder, "features", features, PFD_COUNT(features));
    pfd_node *reader =
        create_reader("TFRecordReader", &of_reader, from, from->num_files, is_random);
    pfd_node *decoder = create("ExampleDecoder", &of_decoder, &(pfd_blob){reader, 0});
    pfd_node_release(reader);
    return (columns){{{decoder, 0}, {decoder, 1}}, 2};
}

static columns create_images(const source *from, int is_random)
{
    static const double scale = 1.0 / 255;
    attrs of_affine = {0}, of_reader = {0};
    add_texts(&of_reader, "labels", from->files + 1, 1);
    pfd_blob pixels = {create_reader("IDXReader", &of_reader, from, 1, is_random), 0};
    add(&of_affine, (pfd_attr_value){.name = "scale", .kind = PFD_VALUE_LIST_FLOAT,
                                     .list = &scale, .list_size = 1});
    add_text(&of_affine, "dtype", "float32");
    pfd_node *affine = create("Affine", &of_affine, &pixels);
    return (columns){{{affine, 0}, {pixels.node, 1}}, 2};
}

static columns create_windows(const source *from, int is_random)
{
    attrs of_reader = {0};
    add_int(&of_reader, "seq_length", PFD_VALUE_INT, 2048);
    add_text(&of_reader, "file_dtype", "uint16");
    return (columns){{{create_reader("GPTReader", &of_reader, from, 1, is_random), 0}}, 1};
}

static const struct workload {
    const char *name;
    columns (*create)(const source *from, int is_random);
    int is_random;
} workloads[] = {
    {"W0", create_lines, 0},    {"W1a", create_lines, 0},  {"W1b", create_lines, 1},
    {"W2a", create_examples, 0}, {"W3", create_images, 1}, {"W5", create_windows, 1},
};

static pfd_loader *open_loader(const columns *of)
{
    pfd_loader_options options = {
        .struct_size = sizeof options,
        .num_threads = 1,
        .prefetch = prefetch,
        .memory_budget = INT64_C(1) << 30,
    };
    pfd_loader *loader;
    check(pfd_loader_open(&options, of->blobs, of->count, &loader, &err));
    for (int64_t i = 0; i < of->count; i++)
        if (i == 0 || of->blobs[i].node != of->blobs[0].node) pfd_node_release(of->blobs[i].node);
    return loader;
}

/* The ring makes batches of the next epoch while this one ends.  All of them are waited for: how
 * many would be made before the loader is closed, is chance. */
static void wait_for_ring(pfd_loader *loader)
{
    static const struct timespec pause = {.tv_nsec = 50 * 1000 * 1000};
    pfd_stats stats = {.struct_size = sizeof stats};
    do {
        (void)nanosleep(&pause, NULL);
        check(pfd_loader_get_stats(loader, &stats));
    } while (stats.slots_ready < prefetch);
}

static void drain(pfd_loader *loader)
{
    int64_t rows = 0, batches = 0;
    pfd_batch batch;
    pfd_status status;
    for (; (status = pfd_loader_next(loader, NEVER, &batch, &err)) == PFD_OK; batches++) {
        rows += batch.rows;
        pfd_batch_release(batch.memory);
    }
    check(status);
    wait_for_ring(loader);
    printf("%" PRId64 " %" PRId64 "\n", rows, batches);
}

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 3 && i < PFD_COUNT(workloads); i++) {
        const struct workload *chosen = &workloads[i];
        if (strcmp(chosen->name, argv[1]) != 0) continue;
        source from = {(const char **)(argv + 3), argc - 3, atoll(argv[2])};
        columns delivered = chosen->create(&from, chosen->is_random);
        pfd_loader *loader = open_loader(&delivered);
        drain(loader);
        pfd_loader_release(loader);
        return 0;
    }
    fprintf(stderr, "usage: drain W0|W1a|W1b|W2a|W3|W5 BATCH_SIZE FILE...\n");
    return 2;
}
