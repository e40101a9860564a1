/* Text files as a random-access dataset of lines. */
#include "io/lines.h"

#include "core/error.h"
#include "io/input_files.h"
#include "io/line_index.h"
#include "io/line_numbers.h"
#include "io/newline_scan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { lines_at_once = 256 };

typedef struct lines {
    const pfd_newline_scan *scan;
    pfd_text_file *files; /* owned; their texts are borrowed */
    pfd_line_index index;
    pfd_line_numbers *numbers; /* owned */
} lines;

/* ---- Finding records ------------------------------------------------------------------------- */
static int64_t num_records(void *source)
{
    const lines *self = source;
    return self->index.num_records;
}

static int is_blank(const uint8_t *data, const uint8_t *end)
{
    while (data < end && (*data == ' ' || *data == '\t' || *data == '\r')) data++;
    return data == end;
}

/* Makes a record of the line [begin, end) of a file, unless it is blank. */
static inline int make_record(const lines *self, int64_t file, int64_t begin, int64_t end,
                              int64_t position, pfd_record *out)
{
    const uint8_t *data = self->files[file].data + begin;
    int64_t size = end - begin;
    if (size == 0 || (*data <= ' ' && is_blank(data, data + size))) return 0;
    size -= data[size - 1] == '\r';
    *out = (pfd_record){
        .data = data, .size = size, .offset = begin, .ordinal = position, .file = (int32_t)file};
    return 1;
}

/* The records [position, position + n) of one file, as many as are there. */
static int64_t read_run(const lines *self, pfd_line_start from, int64_t position, int64_t n,
                        pfd_record *out)
{
    uint32_t newlines[lines_at_once + PFD_SPLIT_SLACK];
    const pfd_text_file *file = &self->files[from.file];
    const int64_t most_bytes = INT64_C(1) << 30;
    int64_t done = 0, at = from.offset;
    if (from.skip > 0) at += self->scan->skip(file->data + at, file->size - at, &from.skip);
    while (done < n && at < file->size) {
        int64_t size = file->size - at < most_bytes ? file->size - at : most_bytes;
        int64_t wanted = n - done < lines_at_once ? n - done : lines_at_once;
        int64_t got = self->scan->split(file->data + at, size, wanted, newlines), first = at;
        for (int64_t i = 0; i < got; i++) {
            int64_t end = first + newlines[i];
            done += make_record(self, from.file, at, end, position + done, &out[done]);
            at = end + 1;
        }
        if (got > 0) continue;
        const uint8_t *line = file->data + at; /* huge, or the last one and without newline */
        const uint8_t *newline = memchr(line, '\n', (size_t)(file->size - at));
        int64_t end = newline ? newline - file->data : file->size;
        done += make_record(self, from.file, at, end, position + done, &out[done]);
        at = end + 1;
    }
    return done;
}

/* Positions that do not follow each other.  Returns how many were found. */
static int64_t read_singles(const lines *self, const int64_t *positions, int64_t n, pfd_record *out)
{
    int64_t left = pfd_line_index_look_up(&self->index, positions, n, out);
    for (int64_t i = 0; left > 0 && i < n; i++) {
        if (out[i].size >= 0) continue;
        pfd_line_start from = pfd_line_index_find(&self->index, positions[i]);
        if (!read_run(self, from, positions[i], 1, &out[i])) return i;
        left--;
    }
    return n;
}

/* ---- The dataset ----------------------------------------------------------------------------- */
static pfd_status fail_outside(const lines *self, const int64_t *positions, int64_t n,
                               pfd_error *err)
{
    int64_t i = 0, size = self->index.num_records;
    while (i < n - 1 && positions[i] >= 0 && positions[i] < size) i++;
    pfd_fail(err, PFD_INTERNAL, "position = %" PRId64 " of lines; it must be in [0, %" PRId64 ")",
             positions[i], size);
    err->row = i;
    return PFD_INTERNAL;
}

static pfd_status fail_lost(const lines *self, int64_t position, int64_t row, pfd_error *err)
{
    int64_t file = pfd_line_index_file_of(&self->index, position);
    pfd_fail(err, PFD_IO,
             "the file changed while open: record %" PRId64 " of it, found at open, is not there",
             position - self->index.files[file].first_record);
    pfd_error_set_file(err, self->files[file].path);
    err->row = row;
    return PFD_IO;
}

static int64_t run_length(const int64_t *positions, int64_t n)
{
    int64_t i = 1;
    while (i < n && positions[i] == positions[0] + i) i++;
    return i;
}

/* Positions up to the first two that follow each other. */
static int64_t count_singles(const int64_t *positions, int64_t n)
{
    int64_t i = 1;
    while (i < n && positions[i] != positions[i - 1] + 1) i++;
    return i < n && positions[i] == positions[i - 1] + 1 ? i - 1 : i;
}

static pfd_status at(void *source, const int64_t *positions, int64_t n, pfd_scratch *scratch,
                     pfd_record *out, pfd_error *err)
{
    (void)scratch;
    const lines *self = source;
    uint64_t size = (uint64_t)self->index.num_records;
    int outside = 0;
    for (int64_t i = 0; i < n; i++) outside |= (uint64_t)positions[i] >= size;
    if (outside) return fail_outside(self, positions, n, err);
    for (int64_t i = 0; i < n;) {
        int64_t position = positions[i], wanted = run_length(positions + i, n - i), got;
        if (wanted > 1) {
            pfd_line_start from = pfd_line_index_find(&self->index, position);
            int64_t left = self->index.files[from.file + 1].first_record - position;
            if (wanted > left) wanted = left;
            got = read_run(self, from, position, wanted, out + i);
        } else {
            wanted = count_singles(positions + i, n - i);
            got = read_singles(self, positions + i, wanted, out + i);
        }
        if (got < wanted) return fail_lost(self, positions[i + got], i + got, err);
        i += wanted;
    }
    return PFD_OK;
}

static void describe(void *source, const pfd_record *record, pfd_error *err)
{
    const lines *self = source;
    if (record->file < 0 || record->file >= self->index.num_files) return;
    const pfd_text_file *file = &self->files[record->file];
    if (record->offset < 0 || record->offset > file->size) return;
    err->line = pfd_line_numbers_of(self->numbers, record->file, record->offset);
}

static void close_lines(void *source)
{
    lines *self = source;
    pfd_line_index_free(&self->index);
    pfd_line_numbers_free(self->numbers);
    free(self->files);
    free(self);
}

static const pfd_source_methods methods = {
    .struct_size = sizeof(pfd_source_methods),
    .close = close_lines,
    .size = num_records,
    .at = at,
    .describe = describe,
};

static pfd_status open_index(lines *self, const pfd_open_args *args, pfd_error *err)
{
    int64_t n = args->num_files;
    self->scan = pfd_newline_scan_best();
    self->files = calloc((size_t)n + 1, sizeof *self->files);
    if (!self->files) return pfd_fail_memory(err, n, "the table of files");
    for (int64_t i = 0; i < n; i++) {
        const pfd_file *file = args->files[i];
        if (!pfd_file_data(file))
            return pfd_fail_at(err, file, -1, PFD_UNSUPPORTED, "lines need files that are mapped");
        self->files[i] = (pfd_text_file){file->path, pfd_file_data(file), file->size};
    }
    self->numbers = pfd_line_numbers_create(self->files, n, self->scan);
    if (!self->numbers) return pfd_fail_memory(err, n, "line numbers");
    return pfd_line_index_build(&self->index, self->files, n, self->scan, err);
}

pfd_status pfd_lines_open(const pfd_open_args *args, pfd_source *out, pfd_error *err)
{
    lines *self = calloc(1, sizeof *self);
    if (!self) return pfd_fail_memory(err, (int64_t)sizeof *self, "a source of lines");
    pfd_status status = open_index(self, args, err);
    if (status != PFD_OK) {
        close_lines(self);
        return status;
    }
    out->methods = &methods;
    out->self = self;
    return PFD_OK;
}
