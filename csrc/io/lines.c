/* Text files as a random-access dataset of lines. */
#include "io/lines.h"

#include "core/error.h"
#include "io/newline_scan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Records from one index entry to the next: an eighth of a byte of index per record, and at most
 * 63 records to pass in memory that is read anyway. */
enum { index_step = 64 };

/* Places that are looked up before the first of them is read, so that their memory can come. */
enum { lookahead = 8 };

typedef struct line_file {
    int64_t first_record;
    int64_t first_entry;
} line_file;

typedef struct lines {
    pfd_dataset base;
    const pfd_newline_scan *scan;
    const pfd_file *files; /* borrowed */
    int64_t num_files;
    line_file *places;     /* num_files + 1: the last one holds the totals */
    int64_t *entries;      /* offset of a file's every 64th record, or of blank lines before it */
    int64_t num_entries, entries_capacity;
} lines;

/* Where to look for a record: `skip` records behind `offset`. */
typedef struct start {
    int64_t file, offset, skip;
} start;

/* ---- The index ------------------------------------------------------------------------------- */
static pfd_status add_entry(lines *self, int64_t offset, pfd_error *err)
{
    if (self->num_entries == self->entries_capacity) {
        int64_t capacity = self->entries_capacity > 0 ? 2 * self->entries_capacity : 64;
        int64_t bytes = capacity * (int64_t)sizeof(int64_t);
        int64_t *entries = realloc(self->entries, (size_t)bytes);
        if (!entries) return pfd_fail_memory(err, bytes, "the index of lines");
        self->entries = entries;
        self->entries_capacity = capacity;
    }
    self->entries[self->num_entries++] = offset;
    return PFD_OK;
}

static pfd_status index_file(lines *self, const pfd_file *file, int64_t *num_records,
                             pfd_error *err)
{
    int64_t offset = 0;
    *num_records = 0;
    while (offset < file->size) {
        int64_t left = index_step;
        PFD_TRY(add_entry(self, offset, err));
        offset += self->scan->skip(file->data + offset, file->size - offset, &left);
        *num_records += index_step - left;
    }
    return PFD_OK;
}

static pfd_status build_index(lines *self, pfd_error *err)
{
    int64_t records = 0;
    for (int64_t i = 0; i <= self->num_files; i++) {
        int64_t more = 0;
        self->places[i] = (line_file){records, self->num_entries};
        if (i < self->num_files) PFD_TRY(index_file(self, &self->files[i], &more, err));
        records += more;
    }
    if (self->num_entries > 0) {
        size_t bytes = (size_t)self->num_entries * sizeof(int64_t);
        int64_t *smaller = realloc(self->entries, bytes);
        if (smaller) self->entries = smaller;
    }
    return PFD_OK;
}

/* ---- Finding records ------------------------------------------------------------------------- */
static int64_t num_records(const pfd_dataset *base)
{
    const lines *self = (const void *)base;
    return self->places[self->num_files].first_record;
}

/* The last file that begins at or before the record: empty files begin where the next one does. */
static int64_t file_of(const lines *self, int64_t position)
{
    int64_t low = 0, high = self->num_files;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (self->places[middle].first_record <= position) low = middle;
        else high = middle;
    }
    return low;
}

static start find_start(const lines *self, int64_t position)
{
    int64_t file = file_of(self, position);
    int64_t in_file = position - self->places[file].first_record;
    int64_t entry = self->places[file].first_entry + in_file / index_step;
    return (start){file, self->entries[entry], in_file % index_step};
}

/* Whether `position` is best reached from the end of the record `before`: it comes right behind, or
 * later between the same two entries. */
static int follows(const lines *self, int64_t before, int64_t file, int64_t position)
{
    int64_t first = self->places[file].first_record;
    if (position <= before || position >= self->places[file + 1].first_record) return 0;
    return position == before + 1 ||
           (position - first) / index_step == (before - first) / index_step;
}

static int is_blank(const uint8_t *data, const uint8_t *end)
{
    while (data < end && (*data == ' ' || *data == '\t' || *data == '\r')) data++;
    return data == end;
}

/* Reads the record that `from` points to, and moves `from` behind it.  0: there is none, since the
 * bytes are not those of the time when the index was made. */
static int read_record(const lines *self, start *from, pfd_record *out)
{
    const pfd_file *file = &self->files[from->file];
    int64_t offset = from->offset;
    if (from->skip > 0) {
        offset += self->scan->skip(file->data + offset, file->size - offset, &from->skip);
    }
    while (offset < file->size) {
        const uint8_t *line = file->data + offset;
        const uint8_t *newline = memchr(line, '\n', (size_t)(file->size - offset));
        const uint8_t *end = newline ? newline : file->data + file->size;
        int64_t next = end - file->data + (newline ? 1 : 0);
        if (!is_blank(line, end)) {
            if (end[-1] == '\r') end--;
            out->data = line;
            out->size = end - line;
            out->offset = offset;
            out->file = (int32_t)from->file;
            out->filler = 0;
            *from = (start){from->file, next, 0};
            return 1;
        }
        offset = next;
    }
    return 0;
}

static void prefetch(const lines *self, const start *from)
{
    const uint8_t *data = self->files[from->file].data + from->offset;
    for (int64_t i = 0; i < 4; i++) __builtin_prefetch(data + 64 * i);
}

/* Fills starts[i] for positions that do not follow their neighbour; file = -1 for those that do. */
static void find_starts(const lines *self, const int64_t *positions, int64_t n, start *starts)
{
    for (int64_t i = 0; i < n; i++) {
        starts[i] = (start){-1, 0, 0};
        if (i > 0 && positions[i] == positions[i - 1] + 1) continue;
        starts[i] = find_start(self, positions[i]);
        prefetch(self, &starts[i]);
    }
}

static pfd_status fail_lost(const lines *self, int64_t position, int64_t file, pfd_error *err)
{
    pfd_fail(err, PFD_IO,
             "the file changed while open: record %" PRId64 " of it, found at open, is not there",
             position - self->places[file].first_record);
    pfd_error_set_file(err, self->files[file].path);
    return PFD_IO;
}

static pfd_status at(const pfd_dataset *base, int64_t epoch, const int64_t *positions, int64_t n,
                     pfd_scratch *scratch, pfd_record *out, pfd_error *err)
{
    (void)epoch, (void)scratch;
    const lines *self = (const void *)base;
    int64_t size = num_records(base), before = -1;
    start ahead[lookahead], from = {0, 0, 0};
    for (int64_t i = 0; i < n; i++) {
        if (positions[i] < 0 || positions[i] >= size) {
            pfd_fail(err, PFD_INTERNAL,
                     "position = %" PRId64 " of lines; it must be in [0, %" PRId64 ")",
                     positions[i], size);
            err->row = i;
            return PFD_INTERNAL;
        }
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t slot = i % lookahead;
        if (slot == 0) {
            find_starts(self, positions + i, n - i < lookahead ? n - i : lookahead, ahead);
        }
        if (before >= 0 && follows(self, before, from.file, positions[i])) {
            from.skip = positions[i] - before - 1;
        } else {
            from = ahead[slot].file >= 0 ? ahead[slot] : find_start(self, positions[i]);
        }
        out[i].ordinal = before = positions[i];
        if (!read_record(self, &from, &out[i])) {
            fail_lost(self, positions[i], from.file, err);
            err->row = i;
            return PFD_IO;
        }
    }
    return PFD_OK;
}

static void describe(const pfd_dataset *base, const pfd_record *record, pfd_error *err)
{
    const lines *self = (const void *)base;
    if (record->file < 0 || record->file >= self->num_files) return;
    const pfd_file *file = &self->files[record->file];
    if (record->offset < 0 || record->offset > file->size) return;
    err->line = 1 + self->scan->count(file->data, record->offset);
}

static void close_lines(pfd_dataset *base)
{
    lines *self = (void *)base;
    free(self->places);
    free(self->entries);
    free(self);
}

static const pfd_dataset_methods methods = {
    .struct_size = sizeof(pfd_dataset_methods),
    .name = "lines",
    .close = close_lines,
    .size = num_records,
    .at = at,
    .describe = describe,
};

pfd_status pfd_lines_open(const pfd_file *files, int64_t num_files, pfd_dataset **out,
                          pfd_error *err)
{
    int64_t bytes = (num_files + 1) * (int64_t)sizeof(line_file);
    lines *self = calloc(1, sizeof *self);
    if (!self) return pfd_fail_memory(err, (int64_t)sizeof *self, "a dataset of lines");
    self->base.methods = &methods;
    self->scan = pfd_newline_scan_best();
    self->files = files;
    self->num_files = num_files;
    self->places = calloc((size_t)num_files + 1, sizeof *self->places);
    pfd_status status = self->places ? build_index(self, err)
                                     : pfd_fail_memory(err, bytes, "the table of files");
    if (status != PFD_OK) {
        close_lines(&self->base);
        return status;
    }
    *out = &self->base;
    return PFD_OK;
}
