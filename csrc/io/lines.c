/* Text files as a random-access dataset of lines. */
#include "io/lines.h"

#include "core/error.h"
#include "io/newline_scan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The index has an entry for every 2^shift-th record.  It grows with the data, so the shift is the
 * least that leaves a half bit of index per byte of text: 64 bytes or more from entry to entry.
 * Measured on rows of 24 bytes in random order: every 4th 42 ns a record, every 64th 300 ns. */
enum { bytes_per_entry = 64, entries_at_least = 1024 };

/* Entries are 32 bits, from the first one of their stretch on. */
enum { entries_per_stretch = 1024 };
#define TOO_FAR UINT32_MAX /* 4 GB or more behind it: an earlier entry has to do */

enum { bytes_per_scan = 16 * 1024, records_at_once = 256 };

/* Places in all files, one behind the other, are offsets in all of the text. */
typedef struct line_file {
    int64_t first_record, first_byte;
} line_file;

typedef struct stretch {
    int64_t first_byte; /* of its first entry, in all of the text */
    int32_t file;       /* in which it begins */
    int32_t is_plain;   /* has no blank lines */
} stretch;

typedef struct lines {
    pfd_dataset base;
    const pfd_newline_scan *scan;
    const pfd_file *files; /* borrowed */
    int64_t num_files;
    line_file *places;     /* num_files + 1: the last one holds the totals */
    int64_t record_bytes;  /* in the mean, newline included */
    int64_t shift;
    stretch *stretches;
    uint32_t *entries;
    int64_t num_entries, capacity;
} lines;

/* Where to look for a record: `skip` records behind `offset`. */
typedef struct start {
    int64_t file, offset, skip;
} start;

/* ---- The index ------------------------------------------------------------------------------- */
static pfd_status grow(lines *self, pfd_error *err)
{
    int64_t capacity = self->capacity > 0 ? 2 * self->capacity : entries_per_stretch;
    size_t bytes = (size_t)capacity * sizeof *self->entries;
    size_t stretch_bytes = (size_t)(capacity / entries_per_stretch) * sizeof *self->stretches;
    uint32_t *entries = realloc(self->entries, bytes);
    if (entries) self->entries = entries;
    stretch *stretches = realloc(self->stretches, stretch_bytes);
    if (stretches) self->stretches = stretches;
    if (!entries || !stretches) return pfd_fail_memory(err, (int64_t)bytes, "the index of lines");
    self->capacity = capacity;
    return PFD_OK;
}

static pfd_status add_entry(lines *self, int64_t file, int64_t byte, pfd_error *err)
{
    if (self->num_entries == self->capacity) PFD_TRY(grow(self, err));
    stretch *at = &self->stretches[self->num_entries / entries_per_stretch];
    if (self->num_entries % entries_per_stretch == 0) *at = (stretch){byte, (int32_t)file, 1};
    int64_t behind = byte - at->first_byte;
    self->entries[self->num_entries++] = behind < TOO_FAR ? (uint32_t)behind : TOO_FAR;
    return PFD_OK;
}

/* Leaves every second entry. */
static void thin(lines *self)
{
    const int64_t half = entries_per_stretch / 2;
    int64_t num_entries = (self->num_entries + 1) / 2;
    for (int64_t i = 0; i < num_entries; i++) {
        const stretch *from = &self->stretches[i / half];
        stretch *to = &self->stretches[i / entries_per_stretch];
        if (i % entries_per_stretch == 0) *to = *from;
        to->is_plain &= from->is_plain;
        int64_t behind = from->first_byte - to->first_byte;
        uint32_t entry = self->entries[2 * i];
        int too_far = entry == TOO_FAR || behind >= TOO_FAR - (int64_t)entry;
        self->entries[i] = too_far ? TOO_FAR : (uint32_t)(behind + entry);
    }
    self->num_entries = num_entries;
    self->shift++;
}

/* Adds the entries that scan->mark() found in a piece of a file, which begins at `byte`. */
static pfd_status add_marks(lines *self, int64_t file, int64_t byte, const uint32_t *marks,
                            int64_t n, int32_t has_blanks, pfd_error *err)
{
    int64_t first = self->num_entries > 0 ? (self->num_entries - 1) / entries_per_stretch : 0;
    for (int64_t i = 0; i < n; i++) PFD_TRY(add_entry(self, file, byte + marks[i], err));
    int64_t last = (self->num_entries - 1) / entries_per_stretch;
    for (int64_t i = first; i <= last && has_blanks; i++) self->stretches[i].is_plain = 0;
    return PFD_OK;
}

/* Counts and marks the records of a file, of which *records come before it. */
static pfd_status index_file(lines *self, int64_t file, int64_t *records, pfd_error *err)
{
    uint32_t marks[bytes_per_scan / 2 + 1];
    const pfd_file *text = &self->files[file];
    int64_t first_byte = self->places[file].first_byte;
    pfd_line_marker marker = {0, 0, 0};
    if (self->num_entries == 0) PFD_TRY(add_entry(self, file, first_byte, err));
    for (int64_t at = 0; at < text->size; at += bytes_per_scan) {
        int64_t size = text->size - at < bytes_per_scan ? text->size - at : bytes_per_scan;
        int64_t step = INT64_C(1) << self->shift;
        int64_t next = self->num_entries << self->shift; /* the record that is to be marked */
        int64_t blank_lines = marker.blank_lines;
        marker.left = next - *records;
        int64_t n = self->scan->mark(text->data + at, size, step, &marker, marks);
        *records = next + n * step - marker.left;
        PFD_TRY(add_marks(self, file, first_byte + at, marks, n, marker.blank_lines > blank_lines,
                          err));
        while (self->num_entries > entries_at_least + (first_byte + at) / bytes_per_entry)
            thin(self);
    }
    if (!marker.content) return PFD_OK; /* else its last line has no newline */
    (*records)++;
    if (*records < self->num_entries << self->shift) return PFD_OK;
    return add_entry(self, file, first_byte + text->size, err);
}

static pfd_status build_index(lines *self, pfd_error *err)
{
    int64_t records = 0, bytes = 0;
    for (int64_t i = 0; i <= self->num_files; i++) {
        self->places[i] = (line_file){records, bytes};
        if (i == self->num_files) break;
        bytes += self->files[i].size;
        PFD_TRY(index_file(self, i, &records, err));
    }
    self->record_bytes = records > 0 ? bytes / records : 1;
    uint32_t *smaller = realloc(self->entries, (size_t)(self->num_entries + 1) * sizeof *smaller);
    if (smaller) self->entries = smaller;
    return PFD_OK;
}

/* ---- Finding records ------------------------------------------------------------------------- */
static int64_t num_records(const pfd_dataset *base)
{
    const lines *self = (const void *)base;
    return self->places[self->num_files].first_record;
}

/* The last file in [low, high) that begins at or before the record: empty files begin where the
 * next one does. */
static int64_t file_of(const lines *self, int64_t position, int64_t low, int64_t high)
{
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (self->places[middle].first_record <= position) low = middle;
        else high = middle;
    }
    return low;
}

static start find_start(const lines *self, int64_t position)
{
    int64_t entry = position >> self->shift, first = entry / entries_per_stretch;
    int64_t last = (self->num_entries - 1) / entries_per_stretch;
    const stretch *from = &self->stretches[first];
    int64_t after = first < last ? from[1].file + 1 : self->num_files;
    int64_t file = file_of(self, position, from->file, after);
    while (self->entries[entry] == TOO_FAR) entry--;
    int64_t behind = from->first_byte + self->entries[entry] - self->places[file].first_byte;
    int64_t record = entry << self->shift;
    if (record >= self->places[file].first_record && behind > 0) {
        return (start){file, behind, position - record};
    }
    return (start){file, 0, position - self->places[file].first_record};
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
    *out = (pfd_record){.data = data,
                        .size = size,
                        .offset = begin,
                        .ordinal = position,
                        .file = (int32_t)file};
    return 1;
}

/* The records [position, position + n) of one file, as many as are there. */
static int64_t read_run(const lines *self, start from, int64_t position, int64_t n, pfd_record *out)
{
    uint32_t newlines[records_at_once + PFD_SPLIT_SLACK];
    const pfd_file *file = &self->files[from.file];
    const int64_t most_bytes = INT64_C(1) << 30;
    int64_t done = 0, at = from.offset;
    if (from.skip > 0) at += self->scan->skip(file->data + at, file->size - at, &from.skip);
    while (done < n && at < file->size) {
        int64_t size = file->size - at < most_bytes ? file->size - at : most_bytes;
        int64_t wanted = n - done < records_at_once ? n - done : records_at_once;
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

/* n <= records_at_once positions that do not follow each other.  Memory is asked for well ahead of
 * its use: first the entries of all, then the text of all.  Returns how many were found. */
static int64_t read_singles(const lines *self, const int64_t *positions, int64_t n, pfd_record *out)
{
    start starts[records_at_once];
    pfd_line_place places[records_at_once];
    for (int64_t i = 0; i < n; i++)
        __builtin_prefetch(&self->entries[positions[i] >> self->shift]);
    for (int64_t i = 0; i < n; i++) {
        starts[i] = find_start(self, positions[i]);
        const pfd_file *file = &self->files[starts[i].file];
        const uint8_t *text = file->data + starts[i].offset;
        places[i] = (pfd_line_place){
            .text = text, .size = file->size - starts[i].offset, .skip = starts[i].skip};
        __builtin_prefetch(text);
        __builtin_prefetch(text + (starts[i].skip + 1) * self->record_bytes);
    }
    self->scan->find(places, n);
    for (int64_t i = 0; i < n; i++) {
        const start *from = &starts[i];
        int64_t begin = from->offset + places[i].begin, end = from->offset + places[i].end;
        int is_plain = self->stretches[(positions[i] >> self->shift) / entries_per_stretch].is_plain;
        if (is_plain && places[i].end >= 0 &&
            make_record(self, from->file, begin, end, positions[i], &out[i]))
            continue;
        if (!read_run(self, *from, positions[i], 1, &out[i])) return i;
    }
    return n;
}

/* ---- The dataset ----------------------------------------------------------------------------- */
static pfd_status fail_outside(const lines *self, const int64_t *positions, int64_t n,
                               pfd_error *err)
{
    int64_t i = 0, size = num_records(&self->base);
    while (i < n - 1 && positions[i] >= 0 && positions[i] < size) i++;
    pfd_fail(err, PFD_INTERNAL, "position = %" PRId64 " of lines; it must be in [0, %" PRId64 ")",
             positions[i], size);
    err->row = i;
    return PFD_INTERNAL;
}

static pfd_status fail_lost(const lines *self, int64_t position, int64_t row, pfd_error *err)
{
    int64_t file = file_of(self, position, 0, self->num_files);
    pfd_fail(err, PFD_IO,
             "the file changed while open: record %" PRId64 " of it, found at open, is not there",
             position - self->places[file].first_record);
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
    while (i < n && i < records_at_once && positions[i] != positions[i - 1] + 1) i++;
    return i < n && positions[i] == positions[i - 1] + 1 ? i - 1 : i;
}

static pfd_status at(const pfd_dataset *base, int64_t epoch, const int64_t *positions, int64_t n,
                     pfd_scratch *scratch, pfd_record *out, pfd_error *err)
{
    (void)epoch, (void)scratch;
    const lines *self = (const void *)base;
    uint64_t size = (uint64_t)num_records(base);
    int outside = 0;
    for (int64_t i = 0; i < n; i++) outside |= (uint64_t)positions[i] >= size;
    if (outside) return fail_outside(self, positions, n, err);
    for (int64_t i = 0; i < n;) {
        int64_t position = positions[i], wanted = run_length(positions + i, n - i), got;
        if (wanted > 1) {
            start from = find_start(self, position);
            int64_t left = self->places[from.file + 1].first_record - position;
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
    free(self->stretches);
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
