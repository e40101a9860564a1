/* StreamReader: what MiniReader reads, through a source that can only be read in sequence. */
#include "pyflowdata/op.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct stream {
    const pfd_host *host;
    const pfd_file *const *files; /* only their paths are used */
    int64_t num_files;
    FILE *file;            /* the one being read; NULL between files */
    int32_t file_index;    /* of it, or of the next one */
    int64_t offset;        /* in it */
    int64_t ordinal;       /* of the next record */
    char *line;            /* as getline() wants it */
    size_t capacity;
} stream;

static void stream_close(void *source)
{
    stream *self = source;
    if (self->file) (void)fclose(self->file);
    free(self->line);
    free(self);
}

/* Reads a line into self->line, without its newline; *size -1 at the end of the last file. */
static pfd_status read_line(stream *self, int64_t *size, int64_t *offset, pfd_error *err)
{
    *size = -1;
    while (self->file || self->file_index < self->num_files) {
        const char *path = self->files[self->file_index]->path;
        if (!self->file) {
            self->file = fopen(path, "rb");
            self->offset = 0;
            if (!self->file) return self->host->fail(err, PFD_IO, "%s cannot be opened", path);
        }
        ssize_t got = getline(&self->line, &self->capacity, self->file);
        if (got < 0) {
            if (ferror(self->file)) return self->host->fail(err, PFD_IO, "%s: read error", path);
            (void)fclose(self->file);
            self->file = NULL;
            self->file_index++;
            continue;
        }
        *offset = self->offset;
        self->offset += got;
        if (got > 0 && self->line[got - 1] == '\n') got--;
        if (got > 0 && self->line[got - 1] == '\r') got--;
        *size = got;
        return PFD_OK;
    }
    return PFD_OK;
}

static int32_t is_blank(const char *line, int64_t size)
{
    for (int64_t i = 0; i < size; i++) {
        if (line[i] != ' ' && line[i] != '\t') return 0;
    }
    return 1;
}

static pfd_status read_record(stream *self, pfd_record *record, pfd_error *err)
{
    int64_t size, offset = 0;
    do {
        PFD_TRY(read_line(self, &size, &offset, err));
        if (size < 0) return PFD_END;
    } while (is_blank(self->line, size));
    *record = (pfd_record){.data = (const uint8_t *)self->line, .size = size, .offset = offset,
                           .ordinal = self->ordinal++, .file = self->file_index};
    return PFD_OK;
}

static pfd_status stream_next(void *source, int64_t max, pfd_scratch *scratch, pfd_record *out,
                              int64_t *n, pfd_error *err)
{
    stream *self = source;
    *n = 0;
    while (*n < max) {
        pfd_status status = read_record(self, &out[*n], err);
        if (status == PFD_END) break;
        if (status != PFD_OK) return status;
        uint8_t *data = self->host->alloc(scratch, out[*n].size);
        if (!data) return self->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for a line");
        memcpy(data, out[*n].data, (size_t)out[*n].size);
        out[(*n)++].data = data;
    }
    return *n > 0 ? PFD_OK : PFD_END;
}

static pfd_status stream_seek(void *source, int64_t epoch, int64_t position,
                              pfd_scratch *scratch, pfd_error *err)
{
    stream *self = source;
    (void)epoch, (void)scratch;
    if (self->file) (void)fclose(self->file);
    self->file = NULL;
    self->file_index = 0;
    self->ordinal = 0;
    while (self->ordinal < position) {
        pfd_record passed_over;
        pfd_status status = read_record(self, &passed_over, err);
        if (status == PFD_END) break;
        if (status != PFD_OK) return status;
    }
    return PFD_OK;
}

static const pfd_source_methods stream_methods = {
    PFD_SIZE(pfd_source_methods),
    .close = stream_close,
    .next = stream_next,
    .seek = stream_seek,
};

static pfd_status stream_reader_open(const pfd_open_args *args, pfd_source *out, pfd_error *err)
{
    stream *self = calloc(1, sizeof *self);
    if (!self) return args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for StreamReader");
    self->host = args->host;
    self->files = args->files;
    self->num_files = args->num_files;
    out->methods = &stream_methods;
    out->self = self;
    return PFD_OK;
}

static pfd_status stream_reader_infer(const pfd_infer_args *args, pfd_error *err)
{
    (void)err;
    args->outputs[0] = (pfd_row_type){.dtype = PFD_FLOAT64, .ndim = 1, .shape = {2}};
    return PFD_OK;
}

static pfd_status stream_reader_compute(const pfd_compute_args *args, pfd_error *err)
{
    double *out = (void *)args->outputs[0]->data;
    for (int64_t i = 0; i < args->num_rows; i++) {
        const char *text = (const char *)args->records[i].data;
        int64_t size = args->records[i].size;
        int64_t x = args->host->parse_double(text, size, &out[2 * i]);
        int64_t y = x > 0 && x < size && text[x] == ','
                        ? args->host->parse_double(text + x + 1, size - x - 1, &out[2 * i + 1])
                        : 0;
        if (y == 0 || x + 1 + y != size) {
            pfd_status status = args->host->fail(err, PFD_CORRUPT_DATA, "expected two numbers");
            err->row = i;
            return status;
        }
    }
    return PFD_OK;
}

static const pfd_port outputs[] = {{"out", "The two numbers of each line."}};

const pfd_op pfd_op_stream_reader = {
    PFD_OP_SIZES,
    .flags = PFD_READS_FILES,
    .name = "StreamReader",
    .doc = "Reads lines of two numbers in sequence.",
    PFD_OP_OUTPUTS(outputs),
    .infer = stream_reader_infer,
    .open = stream_reader_open,
    .compute = stream_reader_compute,
};
