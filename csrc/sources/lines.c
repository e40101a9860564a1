/* A random-access source over the lines of text files. */
#include "sources/lines.h"

#include "core/error.h"
#include "index/index_cache.h"
#include "files/file_stream.h"
#include "files/file_read.h"
#include "index/line_blocks.h"
#include "sources/line_numbers.h"
#include "index/line_scan.h"
#include "sources/line_stream.h"
#include "index/newline_scan.h"
#include "index/record_index.h"
#include "sources/text_walk.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { bytes_of_a_line = 4096 /* how much to read for one line; more if it is longer */ };

typedef struct lines {
    const pfd_newline_scan *scan;
    const pfd_file *const *files; /* borrowed */
    int64_t num_files, num_records, num_bytes;
    const pfd_index_file *places; /* of the image */
    const uint8_t **texts;        /* owned; NULL: not mapped */
    int32_t all_mapped, is_sparse;
    int32_t has_all_files;     /* has all files of the reader: a file's number is its index */
    pfd_index_image *image;    /* owned */
    pfd_record_index index;    /* dense */
    pfd_line_blocks blocks;    /* sparse */
    pfd_line_numbers *numbers; /* owned */
} lines;

/* ---- Finding records ------------------------------------------------------------------------- */
static int64_t num_records(void *source)
{
    const lines *self = source;
    return self->num_records;
}

/* Estimates the bytes of n records. */
static int64_t bytes_for(const lines *self, int64_t n)
{
    double bytes = 1.1 * (double)self->num_bytes / (double)self->num_records * (double)n;
    return bytes < (double)(INT64_C(1) << 40) ? (int64_t)bytes + bytes_of_a_line : INT64_MAX / 8;
}

/* Makes a walk whose next record is the one at `position`. */
static pfd_status walk_to(const lines *self, int64_t position, int64_t n, pfd_scratch *scratch,
                          pfd_text_walk *walk, pfd_error *err)
{
    int64_t bytes = bytes_for(self, n);
    if (!self->is_sparse) {
        pfd_record_start from = pfd_record_index_find(&self->index, position);
        *walk =
            pfd_text_walk_begin(self->scan, self->files[from.file], scratch, from.offset, bytes);
        return from.skip > 0 ? pfd_text_walk_skip(walk, from.skip, err) : PFD_OK;
    }
    pfd_line_block_start from = pfd_line_blocks_find(&self->blocks, position);
    *walk = pfd_text_walk_begin(self->scan, self->files[from.file], scratch, from.offset,
                                bytes + PFD_LINE_BLOCK_BYTES);
    if (from.first_newline_ends) {
        PFD_TRY(pfd_text_walk_pass_line(walk, err));
        from.skip--;
    }
    return pfd_text_walk_skip(walk, from.skip, err);
}

/* Reads the records [position, position + n) as far as they are in one file. */
static pfd_status read_run(const lines *self, int64_t position, int64_t n, pfd_scratch *scratch,
                           pfd_record *out, int64_t *done, pfd_error *err)
{
    pfd_text_walk walk;
    *done = 0;
    PFD_TRY(walk_to(self, position, n, scratch, &walk, err));
    return pfd_text_walk_read(&walk, position, n, out, done, err);
}

/* Reads records at positions that are not consecutive, with a dense index. */
static pfd_status read_singles(const lines *self, const int64_t *positions, int64_t n,
                               pfd_scratch *scratch, pfd_record *out, int64_t *done, pfd_error *err)
{
    int64_t left = pfd_record_index_look_up(&self->index, positions, n, out), got = 1;
    *done = n;
    if (left == 0 && self->all_mapped && self->has_all_files) return PFD_OK;
    PFD_TRY(pfd_index_image_check(self->image, err));
    for (*done = 0; *done < n && got == 1; *done += got) {
        pfd_record *record = &out[*done];
        if (record->size < 0) {
            PFD_TRY(read_run(self, positions[*done], 1, scratch, record, &got, err));
            continue;
        }
        const pfd_file *file = self->files[record->file];
        if (!self->texts[record->file])
            PFD_TRY(pfd_file_read(file, record->offset, record->size, scratch, &record->data, err));
        record->file = file->index;
    }
    return PFD_OK;
}

/* ---- The source ------------------------------------------------------------------------------ */
static pfd_status fail_outside(const lines *self, const int64_t *positions, int64_t n,
                               pfd_error *err)
{
    int64_t i = 0, size = self->num_records;
    while (i < n - 1 && positions[i] >= 0 && positions[i] < size) i++;
    pfd_fail(err, PFD_INTERNAL, "position = %" PRId64 " of lines; it must be in [0, %" PRId64 ")",
             positions[i], size);
    err->row = i;
    return PFD_INTERNAL;
}

static pfd_status fail_lost(const lines *self, int64_t position, int64_t row, pfd_error *err)
{
    int64_t file = pfd_index_file_of(self->places, self->num_files, position);
    PFD_TRY(pfd_index_image_check_disk(self->image, err));
    pfd_fail(err, PFD_IO,
             "the file changed while open: its record %" PRId64 " is missing",
             position - self->places[file].first_record);
    pfd_error_set_file(err, self->files[file]->path);
    err->row = row;
    return PFD_IO;
}

static int64_t run_length(const int64_t *positions, int64_t n)
{
    int64_t i = 1;
    while (i < n && positions[i] == positions[0] + i) i++;
    return i;
}

/* Counts the positions before the first two that are consecutive. */
static int64_t count_singles(const int64_t *positions, int64_t n)
{
    int64_t i = 1;
    while (i < n && positions[i] != positions[i - 1] + 1) i++;
    return i < n && positions[i] == positions[i - 1] + 1 ? i - 1 : i;
}

static pfd_status at(void *source, const int64_t *positions, int64_t n, pfd_scratch *scratch,
                     pfd_record *out, pfd_error *err)
{
    const lines *self = source;
    uint64_t size = (uint64_t)self->num_records;
    int outside = 0;
    for (int64_t i = 0; i < n; i++) outside |= (uint64_t)positions[i] >= size;
    if (outside) return fail_outside(self, positions, n, err);
    for (int64_t i = 0; i < n;) {
        int64_t position = positions[i], wanted = run_length(positions + i, n - i), got;
        pfd_status status;
        if (wanted > 1 || self->is_sparse) {
            int64_t file = pfd_index_file_of(self->places, self->num_files, position);
            int64_t left = self->places[file + 1].first_record - position;
            if (wanted > left) wanted = left;
            status = read_run(self, position, wanted, scratch, out + i, &got, err);
        } else {
            wanted = count_singles(positions + i, n - i);
            status = read_singles(self, positions + i, wanted, scratch, out + i, &got, err);
        }
        if (status != PFD_OK) {
            err->row = i + (got < wanted ? got : 0);
            return status;
        }
        if (got < wanted) return fail_lost(self, positions[i + got], i + got, err);
        i += wanted;
    }
    return pfd_index_image_check(self->image, err);
}

static void places(void *source, const int64_t *ordinals, int64_t n, pfd_place *out)
{
    const lines *self = source;
    for (int64_t i = 0; i < n; i++) {
        int64_t file, offset;
        if (self->is_sparse) {
            pfd_line_block_start from = pfd_line_blocks_find(&self->blocks, ordinals[i]);
            file = from.file, offset = from.offset;
        } else {
            pfd_record_start from = pfd_record_index_find(&self->index, ordinals[i]);
            file = from.file, offset = from.offset;
        }
        out[i] = (pfd_place){.offset = offset, .file = self->files[file]->index};
    }
}

static void describe(void *source, const pfd_record *record, pfd_error *err)
{
    const lines *self = source;
    for (int64_t i = 0; i < self->num_files; i++) {
        if (self->files[i]->index != record->file) continue;
        if (record->offset < 0 || record->offset > self->files[i]->size) return;
        err->line = pfd_line_numbers_of_byte(self->numbers, i, record->offset);
    }
}

static void close_lines(void *source)
{
    lines *self = source;
    pfd_index_image_free(self->image);
    pfd_line_numbers_free(self->numbers);
    free(self->texts);
    free(self);
}

static const pfd_source_methods methods = {
    .struct_size = sizeof(pfd_source_methods),
    .close = close_lines,
    .size = num_records,
    .at = at,
    .describe = describe,
    .places = places,
};

/* ---- Open ------------------------------------------------------------------------------------ */
typedef struct scan_args {
    const pfd_open_args *args;
    const pfd_newline_scan *scan;
    int32_t kind;
} scan_args;

static pfd_status build(void *ctx, int32_t num_threads, pfd_index_image **out, pfd_error *err)
{
    const scan_args *self = ctx;
    return pfd_line_scan(self->args, self->scan, self->kind, num_threads, out, err);
}

/* Returns 0 if the image cannot belong to these files. */
static int32_t init_index(lines *self)
{
    const pfd_index_image *image = self->image;
    self->num_records = image->header->num_records;
    self->places = image->files;
    if (self->is_sparse) return pfd_line_blocks_init(&self->blocks, image, self->files);
    for (int64_t i = 0; i < self->num_files; i++) {
        int64_t bytes = image->files[i + 1].first_place - image->files[i].first_place;
        if (bytes != self->files[i]->size && bytes != self->files[i]->size + 1) return 0;
    }
    return pfd_record_index_init(&self->index, image, self->texts);
}

static pfd_status open_index(lines *self, const pfd_open_args *args, pfd_error *err)
{
    self->is_sparse = args->access == PFD_ACCESS_SEQUENTIAL;
    scan_args scan = {args, self->scan, self->is_sparse ? PFD_INDEX_BLOCKS : PFD_INDEX_LINES};
    PFD_TRY(pfd_index_obtain(args, scan.kind, build, &scan, &self->image, err));
    if (init_index(self)) return PFD_OK;
    pfd_index_image_free(self->image); /* from the cache, and wrong although its checksums fit */
    self->image = NULL;
    PFD_TRY(build(&scan, pfd_index_threads(args), &self->image, err));
    (void)init_index(self);
    return PFD_OK;
}

static pfd_status open_lines(lines *self, const pfd_open_args *args, pfd_error *err)
{
    int64_t n = args->num_files;
    self->scan = pfd_newline_scan_best();
    self->files = args->files;
    self->num_files = n;
    self->all_mapped = self->has_all_files = 1;
    self->texts = calloc((size_t)n + 1, sizeof *self->texts);
    if (!self->texts) return pfd_fail_memory(err, n, "the table of files");
    for (int64_t i = 0; i < n; i++) {
        self->texts[i] = pfd_file_data(args->files[i]);
        self->num_bytes += args->files[i]->size;
        if (!self->texts[i]) self->all_mapped = 0;
        if (args->files[i]->index != i) self->has_all_files = 0;
    }
    self->numbers = pfd_line_numbers_create(args->files, n);
    if (!self->numbers) return pfd_fail_memory(err, n, "line numbers");
    return open_index(self, args, err);
}

pfd_status pfd_lines_open(const pfd_open_args *args, pfd_source *out, pfd_error *err)
{
    if (pfd_files_are_stream(args)) return pfd_line_stream_open(args, out, err);
    lines *self = calloc(1, sizeof *self);
    if (!self) return pfd_fail_memory(err, (int64_t)sizeof *self, "a source of lines");
    pfd_status status = open_lines(self, args, err);
    if (status != PFD_OK) {
        close_lines(self);
        return status;
    }
    out->methods = &methods;
    out->self = self;
    return PFD_OK;
}
