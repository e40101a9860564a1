/* A random-access source over files of records of one size. */
#include "sources/fixed.h"

#include "core/error.h"
#include "core/op_shorthand.h"
#include "files/codecs.h"
#include "files/file_read.h"
#include "index/index_image.h"
#include "index/record_index.h"

#include <inttypes.h>
#include <stdlib.h>

/* Limits for reading consecutive records of a file that is not mapped, and for prefetching. */
enum { most_read_bytes = 1024 * 1024, most_prefetched_bytes = 4096 };

typedef struct fixed {
    int64_t record_bytes, num_files, num_records;
    const pfd_file *const *files; /* borrowed */
    pfd_index_file *places;       /* owned; num_files + 1; first_place: offset in the file */
} fixed;

static int64_t num_records(void *source)
{
    const fixed *self = source;
    return self->num_records;
}

/* Counts the positions, at most n, that are consecutive in one file and can be read at once. */
static int64_t run_length(const fixed *self, int64_t file, const int64_t *positions, int64_t n)
{
    int64_t most = most_read_bytes / self->record_bytes, i = 1;
    int64_t left = self->places[file + 1].first_record - positions[0];
    if (most < 1) most = 1;
    if (n > left) n = left;
    if (n > most) n = most;
    while (i < n && positions[i] == positions[0] + i) i++;
    return i;
}

/* Prefetches all cache lines of a small run, or the first ones of a large run: the processor
 * fetches the rest when it reads on. */
static void prefetch(const uint8_t *data, int64_t bytes)
{
    if (bytes > most_prefetched_bytes) bytes = most_prefetched_bytes;
    for (int64_t i = 0; i < bytes; i += 64) __builtin_prefetch(data + i, 0, 2);
}

static int64_t place_of(const fixed *self, int64_t file, int64_t position)
{
    int64_t number = position - self->places[file].first_record;
    return self->places[file].first_place + number * self->record_bytes;
}

static pfd_status read_run(const fixed *self, int64_t file, int64_t position, int64_t n,
                           pfd_scratch *scratch, pfd_record *out, pfd_error *err)
{
    const pfd_file *from = self->files[file];
    int64_t offset = place_of(self, file, position);
    const uint8_t *data;
    PFD_TRY(pfd_file_read(from, offset, n * self->record_bytes, scratch, &data, err));
    for (int64_t i = 0; i < n; i++)
        out[i] = (pfd_record){.data = data + i * self->record_bytes,
                              .size = self->record_bytes,
                              .offset = offset + i * self->record_bytes,
                              .ordinal = position + i,
                              .file = from->index};
    prefetch(data, n * self->record_bytes);
    return PFD_OK;
}

/* Which record of a run that cannot be read as a whole is the first that is damaged. */
static int64_t find_damaged(const fixed *self, int64_t file, int64_t position, int64_t n,
                            pfd_scratch *scratch, pfd_error *err)
{
    int64_t bytes = self->record_bytes, i = 0;
    int64_t offset = place_of(self, file, position);
    const uint8_t *data;
    do {
        pfd_error_clear(err);
        if (pfd_file_read(self->files[file], offset + i * bytes, bytes, scratch, &data, err))
            return i;
    } while (++i < n);
    return 0;
}

static pfd_status at(void *source, const int64_t *positions, int64_t n, pfd_scratch *scratch,
                     pfd_record *out, pfd_error *err)
{
    const fixed *self = source;
    for (int64_t i = 0; i < n;) {
        if (positions[i] < 0 || positions[i] >= self->num_records)
            return pfd_fail_row(err, i, -1, PFD_INTERNAL,
                                "position = %" PRId64 " of records; it must be in [0, %" PRId64 ")",
                                positions[i], self->num_records);
        int64_t file = pfd_index_file_of(self->places, self->num_files, positions[i]);
        int64_t run = run_length(self, file, positions + i, n - i);
        pfd_status status = read_run(self, file, positions[i], run, scratch, out + i, err);
        if (status != PFD_OK) {
            int64_t row = i;
            if (status == PFD_CORRUPT_DATA && run > 1)
                row += find_damaged(self, file, positions[i], run, scratch, err);
            err->row = row;
            return status;
        }
        i += run;
    }
    return PFD_OK;
}

static void close_fixed(void *source)
{
    fixed *self = source;
    free(self->places);
    free(self);
}

static void places(void *source, const int64_t *ordinals, int64_t n, pfd_place *out)
{
    const fixed *self = source;
    for (int64_t i = 0; i < n; i++) {
        int64_t file = pfd_index_file_of(self->places, self->num_files, ordinals[i]);
        int64_t number = ordinals[i] - self->places[file].first_record;
        int64_t offset = self->places[file].first_place + number * self->record_bytes;
        out[i] = (pfd_place){.offset = offset, .file = self->files[file]->index};
    }
}

static const pfd_source_methods methods = {
    .struct_size = sizeof(pfd_source_methods),
    .close = close_fixed,
    .size = num_records,
    .at = at,
    .places = places,
};

/* ---- Open ------------------------------------------------------------------------------------ */
static pfd_status check_layout(const pfd_fixed_layout *layout, pfd_error *err)
{
    if (layout->record_bytes > 0 && layout->header_bytes >= 0 && layout->footer_bytes >= 0)
        return PFD_OK;
    return pfd_fail(err, PFD_INTERNAL,
                    "open_fixed() was given header_bytes = %" PRId64 ", record_bytes = %" PRId64
                    ", footer_bytes = %" PRId64 "; record_bytes must be positive, and the others "
                    "not negative",
                    layout->header_bytes, layout->record_bytes, layout->footer_bytes);
}

/* Counts the records of a file; -1: they do not fill it. */
static int64_t count_records(const pfd_file *file, const pfd_fixed_layout *layout)
{
    if (file->size < layout->header_bytes) return -1;
    int64_t payload = file->size - layout->header_bytes;
    if (payload < layout->footer_bytes) return -1;
    payload -= layout->footer_bytes;
    return payload % layout->record_bytes ? -1 : payload / layout->record_bytes;
}

static pfd_status fail_size(const pfd_file *file, const pfd_fixed_layout *layout, pfd_error *err)
{
    int64_t payload = file->size - layout->header_bytes - layout->footer_bytes;
    if (file->size < layout->header_bytes || payload < 0)
        return pfd_fail_at(err, file, file->size, PFD_CORRUPT_DATA,
                           "the file ends at byte %" PRId64 ", but its header (%" PRId64
                           " bytes) and footer (%" PRId64 ") are longer; is it truncated?",
                           file->size, layout->header_bytes, layout->footer_bytes);
    int64_t rest = payload % layout->record_bytes;
    return pfd_fail_at(err, file, layout->header_bytes + payload - rest, PFD_CORRUPT_DATA,
                       "the last record, which begins here, has %" PRId64 " of %" PRId64 " bytes; "
                       "is the file truncated, or does it have another record size?",
                       rest, layout->record_bytes);
}

static pfd_status count_all(fixed *self, const pfd_fixed_layout *layouts, int64_t each,
                            pfd_error *err)
{
    for (int64_t i = 0; i < self->num_files; i++) {
        const pfd_fixed_layout *layout = &layouts[i * each];
        PFD_TRY(check_layout(layout, err));
        int64_t records = count_records(self->files[i], layout);
        if (records < 0) return fail_size(self->files[i], layout, err);
        self->places[i].first_place = layout->header_bytes;
        self->places[i + 1].first_record = self->num_records += records;
    }
    return PFD_OK;
}

static pfd_status open_fixed(const pfd_file *const *files, const pfd_fixed_layout *layouts,
                             int64_t each, int64_t n, pfd_source *out, pfd_error *err)
{
    for (int64_t i = 0; i < n; i++) PFD_TRY(pfd_compression_refuse(files[i], err));
    fixed *self = calloc(1, sizeof *self);
    pfd_index_file *places = calloc((size_t)n + 1, sizeof *places);
    if (!self || !places) {
        free(self);
        free(places);
        return pfd_fail_memory(err, n, "a source of records of one size");
    }
    *self = (fixed){.record_bytes = layouts->record_bytes,
                    .num_files = n,
                    .files = files,
                    .places = places};
    return pfd_source_opened(count_all(self, layouts, each, err), &methods, self, out);
}

pfd_status pfd_fixed_open(const pfd_open_args *args, const pfd_fixed_layout *layout,
                          pfd_source *out, pfd_error *err)
{
    PFD_TRY(check_layout(layout, err)); /* even without files */
    return open_fixed(args->files, layout, 0, args->num_files, out, err);
}

pfd_status pfd_fixed_open_each(const pfd_file *const *files, const pfd_fixed_layout *layouts,
                               int64_t n, pfd_source *out, pfd_error *err)
{
    return open_fixed(files, layouts, 1, n, out, err);
}
