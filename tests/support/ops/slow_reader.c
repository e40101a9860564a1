/* SlowReader: an endless stream that takes its time for each record, as a bad network would. */
#include "pyflowdata/op.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct slow_reader {
    int32_t delay_ms;
} slow_reader;

static const pfd_attr attrs[] = {
    PFD_ATTR_ROW(slow_reader, delay_ms, PFD_ATTR_INT32, NULL, 0, 3600000, NULL,
                 "How long each record takes, in milliseconds."),
};

typedef struct slow {
    int64_t position; /* the next record */
    const pfd_host *host;
    struct timespec delay;
} slow;

static void slow_close(void *source)
{
    free(source);
}

static pfd_status slow_next(void *source, int64_t max, pfd_scratch *scratch, pfd_record *out,
                            int64_t *n, pfd_error *err)
{
    slow *self = source;
    *n = 0;
    if (max < 1) return PFD_OK;
    (void)nanosleep(&self->delay, NULL);
    uint8_t *data = self->host->alloc(scratch, sizeof self->position);
    if (!data) return self->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for a record");
    memcpy(data, &self->position, sizeof self->position);
    out[0] = (pfd_record){.data = data, .size = sizeof self->position, .ordinal = self->position++};
    *n = 1;
    return PFD_OK;
}

static pfd_status slow_seek(void *source, int64_t epoch, int64_t position,
                              pfd_scratch *scratch, pfd_error *err)
{
    (void)epoch, (void)scratch, (void)err;
    slow *self = source;
    self->position = position;
    return PFD_OK;
}

static const pfd_source_methods slow_methods = {
    PFD_SIZE(pfd_source_methods),
    .close = slow_close,
    .next = slow_next,
    .seek = slow_seek,
};

static pfd_status slow_reader_open(const pfd_open_args *args, pfd_source *out, pfd_error *err)
{
    const slow_reader *attr = args->attrs;
    slow *self = calloc(1, sizeof *self);
    if (!self) return args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for SlowReader");
    self->host = args->host;
    self->delay = (struct timespec){.tv_sec = attr->delay_ms / 1000,
                                    .tv_nsec = attr->delay_ms % 1000 * 1000000L};
    out->methods = &slow_methods;
    out->self = self;
    return PFD_OK;
}

static pfd_status slow_reader_infer(const pfd_infer_args *args, pfd_error *err)
{
    (void)err;
    args->outputs[0] = (pfd_row_type){.dtype = PFD_INT64};
    return PFD_OK;
}

static pfd_status slow_reader_compute(const pfd_compute_args *args, pfd_error *err)
{
    (void)err;
    for (int64_t i = 0; i < args->num_rows; i++) {
        memcpy(args->outputs[0]->data + i * args->outputs[0]->row_bytes, args->records[i].data,
               sizeof(int64_t));
    }
    return PFD_OK;
}

static const pfd_port outputs[] = {{"out", "The number of each record."}};

const pfd_op pfd_op_slow_reader = {
    PFD_OP_SIZES,
    .name = "SlowReader",
    .doc = "Counts, slowly.",
    PFD_OP_ATTRS(slow_reader, attrs),
    PFD_OP_OUTPUTS(outputs),
    .infer = slow_reader_infer,
    .open = slow_reader_open,
    .compute = slow_reader_compute,
};
