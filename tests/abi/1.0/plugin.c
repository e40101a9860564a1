/* A plugin of interface 1.0 that uses each part of it.  It must load and work for ever: this file
 * does not change. */
#include "pyflowdata/op.h"

#include <stdlib.h>
#include <string.h>

/* ---- V1Lines: text lines with a number each; V1Groups: in groups of one length ---- */

typedef struct lines_attrs {
    double scale;
    int32_t negate;
} lines_attrs;

static const pfd_attr lines_attr_table[] = {
    PFD_ATTR_ROW(lines_attrs, scale, PFD_ATTR_FLOAT64, "1", -100, 100, NULL, "A factor."),
    PFD_ATTR_ROW(lines_attrs, negate, PFD_ATTR_BOOL, "false", 0, 0, NULL, "The sign."),
};
static const pfd_port lines_outputs[] = {{"out", "The numbers."}, {"size", "Bytes of the line."}};

static pfd_status lines_infer(const pfd_infer_args *args, pfd_error *err)
{
    (void)err;
    args->outputs[0] = (pfd_row_type){.dtype = PFD_FLOAT64};
    args->outputs[1] = (pfd_row_type){.dtype = PFD_INT64, .ndim = 1, .shape = {1}};
    return PFD_OK;
}

static pfd_status lines_open(const pfd_open_args *args, pfd_source *out, pfd_error *err)
{
    return args->host->open_lines(args, out, err);
}

static pfd_status lines_compute(const pfd_compute_args *args, pfd_error *err)
{
    const lines_attrs *attrs = args->attrs;
    double *out = (double *)(void *)args->outputs[0]->data;
    int64_t *size = (int64_t *)(void *)args->outputs[1]->data;
    for (int64_t row = 0; row < args->num_rows; row++) {
        const pfd_record *line = &args->records[row];
        double value;
        int64_t used = args->host->parse_double((const char *)line->data, line->size, &value);
        if (used != line->size)
            return args->host->fail_row(err, row, used, PFD_CORRUPT_DATA, "not a number");
        out[row] = value * attrs->scale * (attrs->negate ? -1 : 1);
        size[row] = line->size;
    }
    return PFD_OK;
}

static pfd_status lines_group(const pfd_group_args *args, int64_t *group, pfd_error *err)
{
    (void)err;
    *group = args->record->size;
    return PFD_OK;
}

static const pfd_op pfd_op_lines = {
    PFD_OP_SIZES,
    .name = "V1Lines",
    .doc = "Reads lines.",
    .flags = PFD_READS_FILES,
    .attrs = lines_attr_table,
    .num_attrs = PFD_COUNT(lines_attr_table),
    .attrs_struct_size = sizeof(lines_attrs),
    .outputs = lines_outputs,
    .num_outputs = PFD_COUNT(lines_outputs),
    .infer = lines_infer,
    .open = lines_open,
    .compute = lines_compute,
};

static const pfd_op pfd_op_groups = {
    PFD_OP_SIZES,
    .name = "V1Groups",
    .doc = "Reads groups of lines.",
    .flags = PFD_READS_FILES,
    .attrs = lines_attr_table,
    .num_attrs = PFD_COUNT(lines_attr_table),
    .attrs_struct_size = sizeof(lines_attrs),
    .outputs = lines_outputs,
    .num_outputs = PFD_COUNT(lines_outputs),
    .infer = lines_infer,
    .open = lines_open,
    .compute = lines_compute,
    .group = lines_group,
};

/* ---- V1Bytes: the bytes of files through host->read(), a stream and random access ---- */

typedef struct bytes_attrs {
    int32_t access;
} bytes_attrs;

static const pfd_attr bytes_attr_table[] = {
    PFD_ATTR_ROW(bytes_attrs, access, PFD_ATTR_CHOICE, "random", 0, 0, "random|stream",
                 "How the records are reached."),
};
static const pfd_port bytes_outputs[] = {{"out", "The bytes."}};

typedef struct bytes_source {
    const pfd_host *host;
    const pfd_file *const *files;
    int64_t num_files, position;
} bytes_source;

static int64_t bytes_size(void *self)
{
    const bytes_source *s = self;
    int64_t size = 0;
    for (int64_t i = 0; i < s->num_files; i++) size += s->files[i]->size;
    return size;
}

static pfd_status bytes_at(void *self, const int64_t *ordinals, int64_t n, pfd_scratch *scratch,
                           pfd_record *out, pfd_error *err)
{
    const bytes_source *s = self;
    for (int64_t i = 0; i < n; i++) {
        int64_t offset = ordinals[i], file = 0;
        while (offset >= s->files[file]->size) offset -= s->files[file++]->size;
        const uint8_t *data;
        pfd_status status = s->host->read(s->files[file], offset, 1, scratch, &data, err);
        if (status != PFD_OK) return status;
        out[i] = (pfd_record){.data = data,
                              .size = 1,
                              .offset = offset,
                              .ordinal = ordinals[i],
                              .file = (int32_t)file};
    }
    return PFD_OK;
}

static pfd_status bytes_next(void *self, int64_t max, pfd_scratch *scratch, pfd_record *out,
                             int64_t *n, pfd_error *err)
{
    bytes_source *s = self;
    *n = 0;
    for (; *n < max && *n < 7 && s->position < bytes_size(self); s->position++, ++*n) {
        pfd_status status = bytes_at(self, &s->position, 1, scratch, &out[*n], err);
        if (status != PFD_OK) return status;
    }
    return *n > 0 ? PFD_OK : PFD_END;
}

static pfd_status bytes_seek(void *self, int64_t epoch, int64_t position,
                              pfd_scratch *scratch, pfd_error *err)
{
    (void)epoch, (void)scratch;
    (void)err;
    ((bytes_source *)self)->position = position;
    return PFD_OK;
}

static void bytes_close(void *self)
{
    free(self);
}

static const pfd_source_methods random_methods = {
    PFD_SIZE(pfd_source_methods), .close = bytes_close, .size = bytes_size, .at = bytes_at};
static const pfd_source_methods stream_methods = {
    PFD_SIZE(pfd_source_methods), .close = bytes_close, .next = bytes_next, .seek = bytes_seek};

static pfd_status bytes_open(const pfd_open_args *args, pfd_source *out, pfd_error *err)
{
    const bytes_attrs *attrs = args->attrs;
    bytes_source *s = calloc(1, sizeof *s);
    if (!s) return args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory");
    *s = (bytes_source){.host = args->host, .files = args->files, .num_files = args->num_files};
    out->methods = attrs->access == 0 ? &random_methods : &stream_methods;
    out->self = s;
    return PFD_OK;
}

static pfd_status bytes_infer(const pfd_infer_args *args, pfd_error *err)
{
    (void)err;
    args->outputs[0] = (pfd_row_type){.dtype = PFD_UINT8};
    return PFD_OK;
}

static pfd_status bytes_compute(const pfd_compute_args *args, pfd_error *err)
{
    (void)err;
    for (int64_t row = 0; row < args->num_rows; row++)
        args->outputs[0]->data[row] = args->records[row].data[0];
    return PFD_OK;
}

static const pfd_op pfd_op_bytes = {
    PFD_OP_SIZES,
    .name = "V1Bytes",
    .doc = "Reads bytes.",
    .flags = PFD_READS_FILES,
    .attrs = bytes_attr_table,
    .num_attrs = PFD_COUNT(bytes_attr_table),
    .attrs_struct_size = sizeof(bytes_attrs),
    .outputs = bytes_outputs,
    .num_outputs = PFD_COUNT(bytes_outputs),
    .infer = bytes_infer,
    .open = bytes_open,
    .compute = bytes_compute,
};

/* ---- V1Frames: a byte that says the size, then as many bytes; a size of 0 is padding ---- */

static const pfd_port size_outputs[] = {{"first", "The first byte."}, {"size", "The bytes."}};

static pfd_status size_infer(const pfd_infer_args *args, pfd_error *err)
{
    (void)err;
    args->outputs[0] = (pfd_row_type){.dtype = PFD_UINT8};
    args->outputs[1] = (pfd_row_type){.dtype = PFD_INT64};
    return PFD_OK;
}

static pfd_status size_compute(const pfd_compute_args *args, pfd_error *err)
{
    for (int64_t row = 0; row < args->num_rows; row++) {
        const pfd_record *record = &args->records[row];
        if (record->data[0] == '!')
            return args->host->fail_row(err, row, 0, PFD_CORRUPT_DATA, "it cries");
        args->outputs[0]->data[row] = record->data[0];
        ((int64_t *)(void *)args->outputs[1]->data)[row] = record->size;
    }
    return PFD_OK;
}

static pfd_status frame(const pfd_frame_args *args, pfd_frame *out, pfd_error *err)
{
    const uint8_t *size;
    pfd_status status = args->host->read(args->file, args->offset, 1, args->scratch, &size, err);
    if (status != PFD_OK) return status;
    if (*size == 255) return args->host->fail(err, PFD_CORRUPT_DATA, "no frame has 255 bytes");
    out->is_record = *size > 0;
    out->data = args->offset + 1;
    out->size = *size;
    out->next = args->offset + 1 + *size;
    return PFD_OK;
}

static pfd_status frames_open(const pfd_open_args *args, pfd_source *out, pfd_error *err)
{
    static const pfd_framing framing = {PFD_SIZE(pfd_framing), frame};
    return args->host->open_frames(args, &framing, out, err);
}

static const pfd_op pfd_op_frames = {
    PFD_OP_SIZES,
    .name = "V1Frames",
    .doc = "Reads frames.",
    .flags = PFD_READS_FILES,
    .outputs = size_outputs,
    .num_outputs = PFD_COUNT(size_outputs),
    .infer = size_infer,
    .open = frames_open,
    .compute = size_compute,
};

/* ---- V1Fixed: a header of 2 bytes, records of 3, a footer of 1 ---- */

static pfd_status fixed_open(const pfd_open_args *args, pfd_source *out, pfd_error *err)
{
    pfd_fixed_layout layout = {PFD_SIZE(pfd_fixed_layout), 2, 3, 1};
    return args->host->open_fixed(args, &layout, out, err);
}

static const pfd_op pfd_op_fixed = {
    PFD_OP_SIZES,
    .name = "V1Fixed",
    .doc = "Reads records of three bytes.",
    .flags = PFD_READS_FILES,
    .outputs = size_outputs,
    .num_outputs = PFD_COUNT(size_outputs),
    .infer = size_infer,
    .open = fixed_open,
    .compute = size_compute,
};

/* ---- V1Noise: a random number of the record, by way of the scratch ---- */

static const pfd_port noise_inputs[] = {{"in", "Any rows."}};
static const pfd_port noise_outputs[] = {{"out", "Random bits."}};

static pfd_status noise_infer(const pfd_infer_args *args, pfd_error *err)
{
    (void)err;
    args->outputs[0] = (pfd_row_type){.dtype = PFD_UINT64};
    return PFD_OK;
}

static pfd_status noise_compute(const pfd_compute_args *args, pfd_error *err)
{
    const pfd_host *host = args->host;
    int64_t bytes = args->num_rows * 8;
    uint64_t *bits = host->alloc(args->scratch, bytes);
    if (!bits) return host->fail(err, PFD_OUT_OF_MEMORY, "no memory");
    if (host->is_cancelled(args->scratch)) return host->fail(err, PFD_CANCELLED, "closing");
    for (int64_t row = 0; row < args->num_rows; row++)
        bits[row] = host->random_bits(args->random_key, args->records[row].ordinal, 0);
    memcpy(args->outputs[0]->data, bits, (size_t)bytes);
    return PFD_OK;
}

static const pfd_op pfd_op_noise = {
    PFD_OP_SIZES,
    .name = "V1Noise",
    .doc = "Draws.",
    .inputs = noise_inputs,
    .num_inputs = PFD_COUNT(noise_inputs),
    .outputs = noise_outputs,
    .num_outputs = PFD_COUNT(noise_outputs),
    .infer = noise_infer,
    .compute = noise_compute,
    .aliases = "v1_random",
};

/* ---- V1Rank: the place of each row's number in its batch, which needs the whole batch ---- */

static const pfd_port rank_inputs[] = {{"in", "One float64 a row."}};
static const pfd_port rank_outputs[] = {{"out", "How many rows are smaller."}};

static pfd_status rank_infer(const pfd_infer_args *args, pfd_error *err)
{
    if (args->inputs[0].dtype != PFD_FLOAT64 || args->inputs[0].ndim != 0)
        return args->host->fail(err, PFD_INVALID_ARGUMENT, "in must be one float64 a row");
    args->outputs[0] = (pfd_row_type){.dtype = PFD_INT64};
    return PFD_OK;
}

static pfd_status rank_compute(const pfd_compute_args *args, pfd_error *err)
{
    (void)err;
    const double *in = (const double *)(const void *)args->inputs[0]->data;
    int64_t *out = (int64_t *)(void *)args->outputs[0]->data;
    for (int64_t i = 0; i < args->num_rows; i++) {
        out[i] = 0;
        for (int64_t j = 0; j < args->num_rows; j++) out[i] += in[j] < in[i];
    }
    return PFD_OK;
}

static const pfd_op pfd_op_rank = {
    PFD_OP_SIZES,
    .name = "V1Rank",
    .doc = "Ranks.",
    .flags = PFD_WHOLE_BATCH,
    .inputs = rank_inputs,
    .num_inputs = PFD_COUNT(rank_inputs),
    .outputs = rank_outputs,
    .num_outputs = PFD_COUNT(rank_outputs),
    .infer = rank_infer,
    .compute = rank_compute,
};

PFD_PLUGIN("abi", "1.0", &pfd_op_lines, &pfd_op_groups, &pfd_op_bytes, &pfd_op_frames,
           &pfd_op_fixed, &pfd_op_noise, &pfd_op_rank)
