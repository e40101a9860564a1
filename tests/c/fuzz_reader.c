/* A target of libFuzzer: an input is a file, which the reader that FUZZ_READER names (ArrowReader)
 * reads as a whole, with damaged records left out.  An error may end it; AddressSanitizer says what
 * may not happen.  The fields are those that the reader infers.  `make fuzz-reader` runs it. */
#include "pyflowdata/pyflowdata.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char path[256];
static const char *reader = "ArrowReader";

#define MUST(condition, ...)                                                                       \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            (void)fprintf(stderr, __VA_ARGS__);                                                    \
            abort(); /* libFuzzer keeps the input */                                               \
        }                                                                                          \
    } while (0)

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    const char *named = getenv("FUZZ_READER"), *memory = "/dev/shm";
    if (named && *named) reader = named;
    (void)snprintf(path, sizeof path, "%s/pyflowdata-fuzz-%ld",
                   access(memory, W_OK) == 0 ? memory : "/tmp", (long)getpid());
    return 0;
}

static void write_file(const uint8_t *data, size_t size)
{
    (void)unlink(path); /* another file, so that no index of the former one is used */
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    MUST(file >= 0 && write(file, data, size) == (ssize_t)size, "%s cannot be written\n", path);
    (void)close(file);
}

static pfd_status make_reader(pfd_node **out, pfd_error *err)
{
    const char *files[] = {path};
    pfd_attr_value values[] = {
        {.name = "files", .kind = PFD_VALUE_LIST_STRING, .list = files, .list_size = 1},
        {.name = "batch_size", .kind = PFD_VALUE_INT, .i = 7},
        {.name = "on_error", .kind = PFD_VALUE_STRING, .s = "skip"},
        {.name = "max_skipped", .kind = PFD_VALUE_FLOAT, .f = 1},
        {.name = "rank", .kind = PFD_VALUE_INT, .i = 0},
        {.name = "world_size", .kind = PFD_VALUE_INT, .i = 1},
    };
    return pfd_node_create(reader, "", values, sizeof values / sizeof *values, NULL, 0, out, err);
}

/* Reads an epoch, or the first batches where a small file says that it has very many records.  All
 * records are delivered or counted. */
static pfd_status read_all(pfd_loader *loader, pfd_error *err)
{
    enum { MOST_BATCHES = 200 };
    pfd_batch batch;
    pfd_reader_info info = {.struct_size = sizeof info};
    pfd_status status = PFD_OK;
    int64_t records = 0, i = 0;
    MUST(pfd_loader_get_reader(loader, 0, &info) == PFD_OK, "there is no reader\n");
    for (; i < MOST_BATCHES; i++) {
        status = pfd_loader_next(loader, INT64_MAX, &batch, err);
        if (status != PFD_OK) break;
        records += batch.rows + batch.failed;
        pfd_batch_release(batch.memory);
    }
    MUST(status != PFD_END || info.num_records < 0 || records == info.num_records,
         "%lld of %lld records\n", (long long)records, (long long)info.num_records);
    return status;
}

static pfd_status read_with(pfd_node *node, pfd_error *err)
{
    enum { MOST_BLOBS = 256 };
    pfd_blob blobs[MOST_BLOBS];
    pfd_loader *loader = NULL;
    pfd_loader_options options = {.struct_size = sizeof options, .num_threads = 1, .prefetch = 1,
                                  .memory_budget = 64 << 20};
    int32_t n = (int32_t)pfd_node_op(node)->num_outputs;
    if (n > MOST_BLOBS) n = MOST_BLOBS;
    for (int32_t i = 0; i < n; i++) blobs[i] = (pfd_blob){node, i};
    pfd_status status = pfd_loader_open(&options, blobs, n, &loader, err);
    if (status == PFD_OK) status = read_all(loader, err);
    pfd_loader_release(loader);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pfd_error err = {.struct_size = sizeof err};
    pfd_node *node = NULL;
    write_file(data, size);
    pfd_status status = make_reader(&node, &err);
    if (status == PFD_OK) status = read_with(node, &err);
    pfd_node_release(node);
    (void)unlink(path);
    MUST(status != PFD_INTERNAL, "%s: %s\n", err.op, err.message);
    MUST(status == PFD_OK || status == PFD_END || *err.message, "no message\n");
    return 0;
}
