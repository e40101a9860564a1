/* Ops for the tests of ragged blobs and of whole batches. */
#include "pyflowdata/op.h"

#include <stdlib.h>
#include <string.h>

#define FAIL(...) args->host->fail(err, __VA_ARGS__)
#define BYTES(...) ((pfd_row_type){.dtype = PFD_UINT8, .ndim = 1, .shape = {-1}})

static pfd_status infer_bytes(const pfd_infer_args *args, pfd_error *err)
{
    (void)err;
    args->outputs[0] = BYTES();
    return PFD_OK;
}

static pfd_status check_bytes(const pfd_infer_args *args, pfd_error *err)
{
    const pfd_row_type *in = &args->inputs[0];
    if (in->dtype == PFD_UINT8 && in->ndim == 1 && in->shape[0] == -1) return PFD_OK;
    return FAIL(PFD_INVALID_ARGUMENT, "input 'in' must have rows of bytes");
}

static pfd_status infer_bytes_to_bytes(const pfd_infer_args *args, pfd_error *err)
{
    pfd_status status = check_bytes(args, err);
    return status == PFD_OK ? infer_bytes(args, err) : status;
}

/* ---- LineReader, LineStream, LineCopies: a row is the bytes of a line ---------------------------
 *
 * LineReader's records are views of the files; those of the others live in scratch only. */

static pfd_status open_lines(const pfd_open_args *args, pfd_source *out, pfd_error *err)
{
    return args->host->open_lines(args, out, err);
}

static pfd_status compute_lines(const pfd_compute_args *args, pfd_error *err)
{
    for (int64_t i = 0; i < args->num_rows; i++) {
        const pfd_record *record = &args->records[i];
        if (record->size > 0 && record->data[0] == '!')
            return args->host->fail_row(err, i, 0, PFD_CORRUPT_DATA, "the line begins with !");
        args->outputs[0]->rows[i] =
            (pfd_ragged_row){.data = record->data, .num_elements = record->size};
    }
    return PFD_OK;
}

typedef struct line_stream {
    const pfd_host *host;
    pfd_source lines;
    int64_t position;
} line_stream;

static void stream_close(void *self)
{
    line_stream *s = self;
    s->lines.methods->close(s->lines.self);
    free(s);
}

/* Copies the line, so that its bytes live in the scratch only. */
static pfd_status stream_next(void *self, int64_t max, pfd_scratch *scratch, pfd_record *out,
                              int64_t *n, pfd_error *err)
{
    line_stream *s = self;
    int64_t size = s->lines.methods->size(s->lines.self);
    for (*n = 0; *n < max && s->position < size; (*n)++, s->position++) {
        PFD_TRY(s->lines.methods->at(s->lines.self, &s->position, 1, scratch, &out[*n], err));
        void *copy = s->host->alloc(scratch, out[*n].size);
        if (!copy) return s->host->fail(err, PFD_OUT_OF_MEMORY, "no memory");
        out[*n].data = memcpy(copy, out[*n].data, (size_t)out[*n].size);
    }
    return *n > 0 ? PFD_OK : PFD_END;
}

static pfd_status stream_seek(void *self, int64_t epoch, int64_t position,
                              pfd_scratch *scratch, pfd_error *err)
{
    (void)epoch, (void)scratch, (void)err;
    ((line_stream *)self)->position = position;
    return PFD_OK;
}

static const pfd_source_methods stream_methods = {
    PFD_SIZE(pfd_source_methods), .close = stream_close, .next = stream_next, .seek = stream_seek};

static int64_t copies_size(void *self)
{
    line_stream *s = self;
    return s->lines.methods->size(s->lines.self);
}

static pfd_status copies_at(void *self, const int64_t *ordinals, int64_t n, pfd_scratch *scratch,
                            pfd_record *out, pfd_error *err)
{
    line_stream *s = self;
    pfd_status status = s->lines.methods->at(s->lines.self, ordinals, n, scratch, out, err);
    for (int64_t i = 0; i < n && status == PFD_OK; i++) {
        void *copy = s->host->alloc(scratch, out[i].size);
        if (!copy) return s->host->fail(err, PFD_OUT_OF_MEMORY, "no memory");
        out[i].data = memcpy(copy, out[i].data, (size_t)out[i].size);
    }
    return status;
}

static const pfd_source_methods copies_methods = {
    PFD_SIZE(pfd_source_methods), .close = stream_close, .size = copies_size, .at = copies_at};

static pfd_status open_stream(const pfd_open_args *args, pfd_source *out, pfd_error *err)
{
    line_stream *s = calloc(1, sizeof *s);
    if (!s) return FAIL(PFD_OUT_OF_MEMORY, "no memory");
    s->host = args->host;
    s->lines = *out; /* with its struct_size */
    pfd_status status = args->host->open_lines(args, &s->lines, err);
    if (status != PFD_OK) {
        free(s);
        return status;
    }
    *out = (pfd_source){PFD_SIZE(pfd_source), .methods = &stream_methods, .self = s};
    return PFD_OK;
}

static pfd_status open_copies(const pfd_open_args *args, pfd_source *out, pfd_error *err)
{
    pfd_status status = open_stream(args, out, err);
    if (status == PFD_OK) out->methods = &copies_methods;
    return status;
}

/* ---- UpperCase, Echo: rows in scratch, rows of the input ------------------------------------- */

static pfd_status compute_upper(const pfd_compute_args *args, pfd_error *err)
{
    for (int64_t i = 0; i < args->num_rows; i++) {
        const pfd_ragged_row *in = &args->inputs[0]->rows[i];
        const uint8_t *from = in->data;
        uint8_t *to = args->host->alloc(args->scratch, in->num_elements);
        if (!to) return FAIL(PFD_OUT_OF_MEMORY, "no memory");
        for (int64_t k = 0; k < in->num_elements; k++) {
            if (from[k] == '?')
                return args->host->fail_row(err, i, k, PFD_CORRUPT_DATA, "? has no upper case");
            to[k] = (uint8_t)(from[k] >= 'a' && from[k] <= 'z' ? from[k] - 32 : from[k]);
        }
        args->outputs[0]->rows[i] = (pfd_ragged_row){to, in->num_elements, NULL};
    }
    return PFD_OK;
}

static pfd_status compute_echo(const pfd_compute_args *args, pfd_error *err)
{
    (void)err;
    memcpy(args->outputs[0]->rows, args->inputs[0]->rows,
           (size_t)args->num_rows * sizeof(pfd_ragged_row));
    return PFD_OK;
}

/* ---- Lengths: ragged to dense ---------------------------------------------------------------- */

static pfd_status infer_lengths(const pfd_infer_args *args, pfd_error *err)
{
    pfd_status status = check_bytes(args, err);
    args->outputs[0] = (pfd_row_type){.dtype = PFD_FLOAT64};
    return status;
}

static pfd_status compute_lengths(const pfd_compute_args *args, pfd_error *err)
{
    (void)err;
    double *out = (void *)args->outputs[0]->data;
    for (int64_t i = 0; i < args->num_rows; i++)
        out[i] = (double)args->inputs[0]->rows[i].num_elements;
    return PFD_OK;
}

/* ---- FirstByte: of the record, whatever the input is ----------------------------------------- */

static pfd_status infer_first_byte(const pfd_infer_args *args, pfd_error *err)
{
    (void)err;
    args->outputs[0] = (pfd_row_type){.dtype = PFD_UINT8};
    return PFD_OK;
}

static pfd_status compute_first_byte(const pfd_compute_args *args, pfd_error *err)
{
    (void)err;
    for (int64_t i = 0; i < args->num_rows; i++)
        args->outputs[0]->data[i] = args->records[i].data[0];
    return PFD_OK;
}

/* ---- Grid: a line of n bytes to numbers of several shapes ------------------------------------ */

typedef struct grid_attrs {
    const char *form;
} grid_attrs;

static pfd_status infer_grid(const pfd_infer_args *args, pfd_error *err)
{
    const grid_attrs *attrs = args->attrs;
    pfd_row_type type = {.dtype = PFD_INT32, .ndim = 2, .shape = {-1, -1}};
    if (!strcmp(attrs->form, "columns")) type.shape[1] = 3;
    if (!strcmp(attrs->form, "stereo")) type.shape[0] = 2;
    if (!strcmp(attrs->form, "nothing")) type.shape[1] = 0;
    args->outputs[0] = type;
    return check_bytes(args, err);
}

static pfd_status compute_grid(const pfd_compute_args *args, pfd_error *err)
{
    const grid_attrs *attrs = args->attrs;
    for (int64_t i = 0; i < args->num_rows; i++) {
        int64_t n = args->inputs[0]->rows[i].num_elements;
        int64_t *shape = args->host->alloc(args->scratch, 16);
        if (!shape) return FAIL(PFD_OUT_OF_MEMORY, "no memory");
        shape[0] = !strcmp(attrs->form, "stereo") ? 2 : n;
        shape[1] = !strcmp(attrs->form, "columns")   ? 3
                   : !strcmp(attrs->form, "nothing") ? 0
                                                     : n % 4;
        int32_t *out = args->host->alloc(args->scratch, shape[0] * shape[1] * 4);
        if (!out) return FAIL(PFD_OUT_OF_MEMORY, "no memory");
        for (int64_t k = 0; k < shape[0] * shape[1]; k++) out[k] = (int32_t)(100 * n + k);
        int free_form = !strcmp(attrs->form, "free") || !strcmp(attrs->form, "nothing");
        args->outputs[0]->rows[i] =
            (pfd_ragged_row){out, shape[0] * shape[1], free_form || n % 2 ? shape : NULL};
    }
    return PFD_OK;
}

/* ---- Faulty: breaks the rules of ragged rows ------------------------------------------------- */

static pfd_status infer_faulty(const pfd_infer_args *args, pfd_error *err)
{
    (void)err;
    args->outputs[0] = (pfd_row_type){.dtype = PFD_INT32, .ndim = 2, .shape = {-1, 3}};
    const grid_attrs *attrs = args->attrs;
    if (!strcmp(attrs->form, "shapeless")) args->outputs[0].shape[1] = -1;
    if (!strcmp(attrs->form, "type")) args->outputs[0].shape[1] = -2;
    return PFD_OK;
}

static pfd_status compute_faulty(const pfd_compute_args *args, pfd_error *err)
{
    const grid_attrs *attrs = args->attrs;
    (void)err;
    static const int32_t numbers[12];
    static const int64_t negative[] = {-1, 3}, fixed[] = {2, 4}, product[] = {3, 3},
                         large[] = {INT64_MAX / 2, 3};
    const char *form = attrs->form;
    pfd_ragged_row *row = &args->outputs[0]->rows[args->num_rows - 1];
    *row = (pfd_ragged_row){numbers, 6, NULL};
    if (!strcmp(form, "negative")) row->num_elements = -3;
    if (!strcmp(form, "many")) row->num_elements = INT64_MAX / 2;
    if (!strcmp(form, "null")) row->data = NULL;
    if (!strcmp(form, "unaligned")) row->data = (const char *)numbers + 2;
    if (!strcmp(form, "multiple")) row->num_elements = 7;
    if (!strcmp(form, "size")) row->shape = negative;
    if (!strcmp(form, "fixed")) row->shape = fixed;
    if (!strcmp(form, "product")) row->shape = product;
    if (!strcmp(form, "large")) row->shape = large;
    return PFD_OK;
}

/* ---- Center, Sorted: over the whole batch ---------------------------------------------------- */

typedef struct center_attrs {
    double bad;
} center_attrs;

static pfd_status infer_center(const pfd_infer_args *args, pfd_error *err)
{
    if (args->inputs[0].dtype != PFD_FLOAT64 || args->inputs[0].ndim != 0)
        return FAIL(PFD_INVALID_ARGUMENT, "input 'in' must be float64 ()");
    args->outputs[0] = args->inputs[0];
    return PFD_OK;
}

/* Minus the mean. */
static pfd_status compute_center(const pfd_compute_args *args, pfd_error *err)
{
    const center_attrs *attrs = args->attrs;
    const double *in = (void *)args->inputs[0]->data;
    double *out = (void *)args->outputs[0]->data, sum = 0;
    for (int64_t i = 0; i < args->num_rows; i++) {
        if (in[i] == attrs->bad)
            return args->host->fail_row(err, i, -1, PFD_CORRUPT_DATA, "a bad number");
        sum += in[i];
    }
    for (int64_t i = 0; i < args->num_rows; i++) out[i] = in[i] - sum / (double)args->num_rows;
    return PFD_OK;
}

static int by_size(const void *a, const void *b)
{
    const pfd_ragged_row *left = a, *right = b;
    if (left->num_elements != right->num_elements)
        return left->num_elements < right->num_elements ? -1 : 1;
    return memcmp(left->data, right->data, (size_t)left->num_elements);
}

/* The rows in ascending order of size, then bytes. */
static pfd_status compute_sorted(const pfd_compute_args *args, pfd_error *err)
{
    pfd_status status = compute_echo(args, err);
    qsort(args->outputs[0]->rows, (size_t)args->num_rows, sizeof(pfd_ragged_row), by_size);
    return status;
}

/* ---- Descriptors ----------------------------------------------------------------------------- */

static const pfd_port in[] = {{"in", "Rows."}};
static const pfd_port out[] = {{"out", "Rows."}};

static const pfd_attr grid_table[] = {
    PFD_ATTR_ROW(grid_attrs, form, PFD_ATTR_STRING, NULL, 0, 0, NULL, "Which shapes."),
};
static const pfd_attr center_table[] = {
    PFD_ATTR_ROW(center_attrs, bad, PFD_ATTR_FLOAT64, "-1", 0, 0, NULL, "What is corrupt."),
};

#define READER(symbol, its_name, its_open)                                                         \
    static const pfd_op symbol = {                                                                 \
        PFD_OP_SIZES,         .flags = PFD_READS_FILES, .name = its_name,                          \
        .doc = "Lines.",      .outputs = out,           .num_outputs = 1,                          \
        .infer = infer_bytes, .open = its_open,         .compute = compute_lines}

#define DECODER(symbol, its_name, its_flags, its_infer, its_compute, ...)                          \
    static const pfd_op symbol = {PFD_OP_SIZES,       .flags = (its_flags) | PFD_TAKES_RAGGED,     \
                                  .name = its_name,   .doc = "Rows.",                              \
                                  .inputs = in,       .num_inputs = 1,                             \
                                  .outputs = out,     .num_outputs = 1,                            \
                                  .infer = its_infer, .compute = its_compute,                      \
                                  __VA_ARGS__}

#define ATTRS(table, type)                                                                         \
    .attrs = table, .num_attrs = PFD_COUNT(table), .attrs_struct_size = sizeof(type)

READER(line_reader, "LineReader", open_lines);
READER(line_stream_reader, "LineStream", open_stream);
DECODER(upper_case, "UpperCase", 0, infer_bytes_to_bytes, compute_upper, .attrs = NULL);
DECODER(echo, "Echo", 0, infer_bytes_to_bytes, compute_echo, .attrs = NULL);
DECODER(lengths, "Lengths", 0, infer_lengths, compute_lengths, .attrs = NULL);
READER(line_copies, "LineCopies", open_copies);
DECODER(first_byte, "FirstByte", 0, infer_first_byte, compute_first_byte, .attrs = NULL);
DECODER(first_of_all, "FirstBytes", PFD_WHOLE_BATCH, infer_first_byte, compute_first_byte,
        .attrs = NULL);
DECODER(grid, "Grid", 0, infer_grid, compute_grid, ATTRS(grid_table, grid_attrs));
DECODER(faulty, "Faulty", 0, infer_faulty, compute_faulty, ATTRS(grid_table, grid_attrs));
DECODER(center, "Center", PFD_WHOLE_BATCH, infer_center, compute_center,
        ATTRS(center_table, center_attrs));
DECODER(sorted, "Sorted", PFD_WHOLE_BATCH, infer_bytes_to_bytes, compute_sorted, .attrs = NULL);

PFD_PLUGIN("ragged ops", "1", &line_reader, &line_stream_reader, &line_copies, &upper_case, &echo,
           &lengths, &first_byte, &first_of_all, &grid, &faulty, &center, &sorted)
