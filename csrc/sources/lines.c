/* The lines of text files: their numbers, streams over compressed files, sources for any order. */
#include "sources/lines.h"

#include "core/error.h"
#include "core/op_shorthand.h"
#include "core/scratch.h"
#include "files/codecs.h"
#include "files/file_read.h"
#include "files/file_stream.h"
#include "files/seal.h"
#include "index/index_image.h"
#include "index/line_scan.h"
#include "index/record_index.h"
#include "sources/text.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* ---- The numbers of lines -------------------------------------------------------------------- */

enum {
    block_bytes = 1 << 20,
    bytes_at_once = 256 * 1024, /* bytes of a compressed file */
    bytes_kept = 4 * 1024 * 1024,
    most_changes = 1 << 20
};

/* The counts of a file that is read in any order. */
typedef struct block_counts {
    int64_t *before; /* before[i]: newlines before block i; before[0] is 0 */
    int64_t blocks;  /* how many blocks are counted */
} block_counts;

/* The count of the compressed file that was used last. */
typedef struct stream_count {
    pfd_stream_window window;
    int64_t file; /* the file of the window; -1: none */
    int64_t offset, newlines; /* counted so far */
} stream_count;

typedef struct line_change {
    int64_t ordinal; /* from this record on */
    int64_t lines;   /* to be added to an ordinal */
} line_change;

struct pfd_line_numbers {
    pthread_mutex_t lock; /* guards everything that changes */
    const pfd_file *const *files;
    int64_t num_files;
    const pfd_newline_scan *scan;
    stream_count stream;
    line_change *changes; /* owned */
    int64_t num_changes, room;
    int64_t full; /* the first ordinal that could not be noted; -1: none */
    block_counts counts[];
};

pfd_line_numbers *pfd_line_numbers_create(const pfd_file *const *files, int64_t num_files)
{
    pfd_line_numbers *numbers =
        calloc(1, sizeof *numbers + (size_t)num_files * sizeof *numbers->counts);
    if (!numbers) return NULL;
    pthread_mutex_init(&numbers->lock, NULL);
    numbers->files = files;
    numbers->num_files = num_files;
    numbers->scan = pfd_newline_scan_best();
    numbers->stream.file = -1;
    numbers->full = -1;
    return numbers;
}

void pfd_line_numbers_free(pfd_line_numbers *numbers)
{
    if (!numbers) return;
    for (int64_t i = 0; i < numbers->num_files; i++) free(numbers->counts[i].before);
    pfd_stream_window_close(&numbers->stream.window);
    pthread_mutex_destroy(&numbers->lock);
    free(numbers->changes);
    free(numbers);
}

/* ---- The numbers of lines: bytes of files that are read in any order ------------------------- */

/* Counts the newlines of [begin, end) of a file, at most a block; -1: it cannot be read. */
static int64_t count_newlines(const pfd_line_numbers *numbers, const pfd_file *file, int64_t begin,
                              int64_t end)
{
    pfd_error err = {.struct_size = sizeof err};
    const uint8_t *text;
    int64_t newlines = -1;
    pfd_scratch *scratch = pfd_scratch_create();
    if (scratch && pfd_file_read(file, begin, end - begin, scratch, &text, &err) == PFD_OK)
        newlines = numbers->scan->count(text, end - begin);
    pfd_scratch_free(scratch);
    return newlines;
}

/* Counts the newlines before a block, or returns -1; with the lock held. */
static int64_t before_block(pfd_line_numbers *numbers, int64_t file, int64_t block)
{
    block_counts *known = &numbers->counts[file];
    const pfd_file *text = numbers->files[file];
    if (!known->before) {
        known->before = calloc((size_t)(text->size / block_bytes + 1), sizeof *known->before);
        if (!known->before) return -1;
        known->blocks = 1;
    }
    for (; known->blocks <= block; known->blocks++) {
        int64_t last = known->blocks - 1, begin = last * block_bytes;
        int64_t more = count_newlines(numbers, text, begin, begin + block_bytes);
        if (more < 0) return -1;
        known->before[known->blocks] = known->before[last] + more;
    }
    return known->before[block];
}

static int64_t line_in_file(pfd_line_numbers *numbers, int64_t file, int64_t offset)
{
    int64_t block = offset / block_bytes;
    pthread_mutex_lock(&numbers->lock);
    int64_t before = before_block(numbers, file, block);
    pthread_mutex_unlock(&numbers->lock);
    int64_t inside = count_newlines(numbers, numbers->files[file], block * block_bytes, offset);
    return before < 0 || inside < 0 ? -1 : 1 + before + inside;
}

/* ---- The numbers of lines: bytes of compressed files (lock held) ----------------------------- */

/* Goes back if the wanted place lies before the current one: a little way in the bytes that were
 * kept, as errors of neighbouring records come in any order, or to the beginning. */
static int32_t go_back(pfd_line_numbers *numbers, int64_t file, int64_t offset)
{
    pfd_error err = {.struct_size = sizeof err};
    stream_count *at = &numbers->stream;
    if (at->file == file && at->offset <= offset) return 1;
    if (at->file == file && at->window.begin <= offset) {
        at->newlines -= numbers->scan->count(pfd_stream_window_at(&at->window, offset),
                                             at->offset - offset);
        at->offset = offset;
        return 1;
    }
    at->file = -1;
    at->offset = at->newlines = 0;
    if (pfd_stream_window_open(&at->window, numbers->files[file], &err) != PFD_OK) return 0;
    at->file = file;
    return 1;
}

static int64_t line_in_stream(pfd_line_numbers *numbers, int64_t file, int64_t offset)
{
    pfd_error err = {.struct_size = sizeof err};
    stream_count *at = &numbers->stream;
    if (!go_back(numbers, file, offset)) return -1;
    while (at->offset < offset) {
        int64_t left = offset - at->offset;
        int64_t end = at->offset + (left < bytes_at_once ? left : bytes_at_once);
        int64_t kept = at->offset - bytes_kept;
        if ((kept > 0 && pfd_stream_window_pass(&at->window, kept, NULL, &err) != PFD_OK) ||
            pfd_stream_window_fill(&at->window, end, NULL, &err) != PFD_OK ||
            at->window.end < end) {
            at->file = -1;
            return -1;
        }
        at->newlines += numbers->scan->count(pfd_stream_window_at(&at->window, at->offset),
                                             end - at->offset);
        at->offset = end;
    }
    return 1 + at->newlines;
}

int64_t pfd_line_numbers_of_byte(pfd_line_numbers *numbers, int64_t file, int64_t offset)
{
    if (pfd_file_compression(numbers->files[file]) <= PFD_COMPRESSION_NONE)
        return line_in_file(numbers, file, offset);
    pthread_mutex_lock(&numbers->lock);
    int64_t line = line_in_stream(numbers, file, offset);
    pthread_mutex_unlock(&numbers->lock);
    return line;
}

/* ---- The numbers of lines: records of files that are read in sequence ------------------------ */

/* 0: no room for another change. */
static int32_t make_room(pfd_line_numbers *numbers)
{
    if (numbers->num_changes < numbers->room) return 1;
    if (numbers->room >= most_changes) return 0;
    int64_t room = numbers->room > 0 ? 2 * numbers->room : 64;
    line_change *grown = realloc(numbers->changes, (size_t)room * sizeof *grown);
    if (!grown) return 0;
    numbers->changes = grown;
    numbers->room = room;
    return 1;
}

static void note(pfd_line_numbers *numbers, int64_t ordinal, int64_t lines)
{
    if (numbers->num_changes > 0) {
        const line_change *last = &numbers->changes[numbers->num_changes - 1];
        if (ordinal <= last->ordinal || lines == last->lines) return;
    }
    if (numbers->full >= 0) return;
    if (!make_room(numbers)) numbers->full = ordinal;
    else numbers->changes[numbers->num_changes++] = (line_change){ordinal, lines};
}

/* Notes that record `ordinal` is on `line`, and that each record after it, up to the next noted
 * one, is on the next line.  Call it in the order of ordinals; the same note may be repeated. */
static void line_numbers_note(pfd_line_numbers *numbers, int64_t ordinal, int64_t line)
{
    pthread_mutex_lock(&numbers->lock);
    note(numbers, ordinal, line - ordinal);
    pthread_mutex_unlock(&numbers->lock);
}

static int64_t find(const pfd_line_numbers *numbers, int64_t ordinal)
{
    int64_t begin = 0, end = numbers->num_changes;
    if (numbers->full >= 0 && ordinal >= numbers->full) return -1;
    while (begin < end) {
        int64_t middle = begin + (end - begin) / 2;
        if (numbers->changes[middle].ordinal <= ordinal) begin = middle + 1;
        else end = middle;
    }
    return begin > 0 ? ordinal + numbers->changes[begin - 1].lines : -1;
}

/* The line of a record that was noted, or follows a noted one; -1: not known. */
static int64_t line_numbers_of_record(pfd_line_numbers *numbers, int64_t ordinal)
{
    pthread_mutex_lock(&numbers->lock);
    int64_t line = find(numbers, ordinal);
    pthread_mutex_unlock(&numbers->lock);
    return line;
}

/* ---- A stream of lines ----------------------------------------------------------------------- */

enum { piece_bytes = 128 * 1024 /* text looked at together */, passed_at_once = 256 };

typedef struct line_stream {
    pfd_file_stream files;
    const pfd_newline_scan *scan;
    pfd_line_numbers *numbers; /* owned */
    int64_t line;              /* line of the text at files.offset, from 1 */
} line_stream;

/* Gets whole lines into the window, at least one, or the rest of the file.  PFD_END: there is
 * none. */
static pfd_status look(line_stream *self, pfd_text_walk *walk, pfd_error *err)
{
    pfd_file_stream *files = &self->files;
    pfd_stream_window *window = &files->window;
    PFD_TRY(pfd_file_stream_look(files, err));
    int64_t at = files->offset;
    if (at == 0) self->line = 1;
    *walk = (pfd_text_walk){
        .scan = self->scan, .file = &window->file.file, .at = at, .begin = at, .end = at};
    pfd_status status = PFD_OK;
    for (int64_t bytes = piece_bytes; walk->end == at; bytes *= 2) {
        status = pfd_stream_window_fill(window, at + bytes, files->scratch, err);
        walk->text = pfd_stream_window_at(window, at);
        const uint8_t *newline = memrchr(walk->text, '\n', (size_t)(window->end - at));
        if (window->has_ended) walk->end = window->end;
        else if (newline) walk->end = at + (newline + 1 - walk->text);
        else if (status != PFD_OK) return status;
    }
    if (status != PFD_OK) pfd_error_clear(err); /* these lines first: the next call fails again */
    return PFD_OK;
}

/* Notes the line numbers of n records that a walk has made. */
static void note_lines(line_stream *self, const pfd_text_walk *walk, const pfd_record *records,
                       int64_t n)
{
    const uint8_t *text = walk->text, *end = text + (walk->at - walk->begin);
    int64_t newlines = self->scan->count(text, end - text);
    int64_t lines = newlines + (end > text && end[-1] != '\n');
    if (lines == n) {
        if (n > 0) line_numbers_note(self->numbers, records[0].ordinal, self->line);
        self->line += newlines;
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        self->line += self->scan->count(text, records[i].data - text);
        text = records[i].data;
        line_numbers_note(self->numbers, records[i].ordinal, self->line);
    }
    self->line += self->scan->count(text, end - text);
}

/* Makes some of the next records, at most n, as views of the window. */
static pfd_status read_lines(line_stream *self, pfd_text_walk *walk, int64_t n, pfd_record *out,
                             int64_t *done, pfd_error *err)
{
    pfd_file_stream *files = &self->files;
    for (*done = 0; *done == 0;) {
        pfd_status status = look(self, walk, err);
        if (status < 0) return pfd_file_stream_fail(files, status, err);
        if (status == PFD_END) return status;
        *done = pfd_text_walk_window(walk, files->ordinal, n, out);
        if (walk->at > walk->end) walk->at = walk->end; /* a last line without newline */
        note_lines(self, walk, out, *done);
        files->offset = walk->at;
        files->ordinal += *done;
    }
    return PFD_OK;
}

static pfd_status next(void *source, int64_t max, pfd_scratch *scratch, pfd_record *out, int64_t *n,
                       pfd_error *err)
{
    line_stream *self = source;
    pfd_text_walk walk;
    *n = 0;
    PFD_TRY(read_lines(self, &walk, max, out, n, err));
    const uint8_t *text = out[0].data, *end = out[*n - 1].data + out[*n - 1].size;
    uint8_t *copy = pfd_scratch_alloc(scratch, end - text);
    if (!copy) {
        pfd_status status = pfd_fail_memory(err, end - text, "lines of a compressed file");
        return pfd_file_stream_fail(&self->files, status, err);
    }
    memcpy(copy, text, (size_t)(end - text));
    for (int64_t i = 0; i < *n; i++) out[i].data = copy + (out[i].data - text);
    return PFD_OK;
}

static pfd_status seek(void *source, int64_t epoch, int64_t position, pfd_scratch *scratch,
                       pfd_error *err)
{
    line_stream *self = source;
    pfd_file_stream *files = &self->files;
    pfd_record passed[passed_at_once];
    (void)epoch, (void)scratch;
    pfd_status status = pfd_file_stream_seek(files, position, err);
    while (status == PFD_OK && files->ordinal < position) {
        pfd_text_walk walk;
        int64_t left = position - files->ordinal, done;
        int64_t wanted = left < passed_at_once ? left : passed_at_once;
        status = read_lines(self, &walk, wanted, passed, &done, err);
    }
    return status == PFD_END ? PFD_OK : status;
}

static void describe_stream(void *source, const pfd_record *record, pfd_error *err)
{
    const line_stream *self = source;
    err->line = line_numbers_of_record(self->numbers, record->ordinal);
}

static void close_stream(void *source)
{
    line_stream *self = source;
    pfd_file_stream_close(&self->files);
    pfd_line_numbers_free(self->numbers);
    free(self);
}

static const pfd_source_methods stream_methods = {
    .struct_size = sizeof(pfd_source_methods),
    .close = close_stream,
    .next = next,
    .seek = seek,
    .describe = describe_stream,
};

static pfd_status line_stream_open(const pfd_open_args *args, pfd_source *out, pfd_error *err)
{
    line_stream *self = calloc(1, sizeof *self);
    if (!self) return pfd_fail_memory(err, (int64_t)sizeof *self, "a stream of lines");
    self->scan = pfd_newline_scan_best();
    self->numbers = pfd_line_numbers_create(args->files, args->num_files);
    pfd_status status = self->numbers ? pfd_file_stream_open(&self->files, args, err)
                                      : pfd_fail_memory(err, 64, "line numbers");
    return pfd_source_opened(status, &stream_methods, self, out);
}

/* ---- Lines in any order ---------------------------------------------------------------------- */

enum { bytes_of_a_line = 4096 /* how much to read for one line; more if it is longer */ };

typedef struct lines {
    const pfd_newline_scan *scan;
    const pfd_file *const *given; /* as the reader has them, perhaps with seals; borrowed */
    const pfd_file **files;       /* plain; the array is owned */
    int64_t num_files, num_records, num_bytes;
    const pfd_index_file *places; /* places in the image */
    const uint8_t **texts;        /* owned; NULL: not mapped */
    int32_t all_mapped, is_sparse;
    int32_t has_seals;
    int32_t has_all_files;     /* has all files of the reader: a file's number is its index */
    pfd_index_image *image;    /* owned */
    pfd_record_index index;    /* dense */
    pfd_line_blocks blocks;    /* sparse */
    pfd_line_numbers *numbers; /* owned */
} lines;

/* ---- Lines in any order: finding records ----------------------------------------------------- */

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

/* An index of the cache may be that of other bytes, where a file system keeps no time of change. */
static pfd_status fail_astray(const lines *self, int64_t file, int64_t offset, pfd_error *err)
{
    return pfd_fail_at(err, self->files[file], offset, PFD_IO,
                       "no line begins here, where the index has one: the file changed since its "
                       "index was made, or while open; remove the index%s%.300s, or give "
                       "index_dir='none'",
                       self->image->path ? " " : "",
                       self->image->path ? self->image->path : "");
}

static pfd_status check_begin(const lines *self, const pfd_record_start *from, pfd_scratch *scratch,
                              pfd_error *err)
{
    const uint8_t *before;
    if (from->offset == 0) return PFD_OK;
    PFD_TRY(pfd_file_read(self->files[from->file], from->offset - 1, 1, scratch, &before, err));
    return *before == '\n' ? PFD_OK : fail_astray(self, from->file, from->offset, err);
}

/* Makes a walk whose next record is the one at `position`. */
static pfd_status walk_to(const lines *self, int64_t position, int64_t n, pfd_scratch *scratch,
                          pfd_text_walk *walk, pfd_error *err)
{
    int64_t bytes = bytes_for(self, n);
    if (!self->is_sparse) {
        pfd_record_start from = pfd_record_index_find(&self->index, position);
        PFD_TRY(check_begin(self, &from, scratch, err));
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

/* Whether there is a newline before each of n records of mapped files.  Their ends are prefetched:
 * a short record is in two lines of the cache as often as in one. */
static int32_t begin_lines(const pfd_record *records, int64_t n)
{
    uint8_t others = 0;
    for (int64_t i = 0; i < n; i++) {
        __builtin_prefetch(records[i].data + records[i].size);
        if (records[i].offset > 0) others |= records[i].data[-1] ^ '\n';
    }
    return !others;
}

/* Reads a record that is known, with the byte before it. */
static pfd_status read_single(const lines *self, pfd_scratch *scratch, pfd_record *record,
                              pfd_error *err)
{
    const uint8_t *text = self->texts[record->file];
    int64_t before = record->offset > 0;
    if (text)
        text += record->offset - before;
    else
        PFD_TRY(pfd_file_read(self->files[record->file], record->offset - before,
                              record->size + before, scratch, &text, err));
    if (before && *text != '\n') return fail_astray(self, record->file, record->offset, err);
    record->data = text + before;
    return PFD_OK;
}

/* Reads records at positions that are not consecutive, with a dense index. */
static pfd_status read_singles(const lines *self, const int64_t *positions, int64_t n,
                               pfd_scratch *scratch, pfd_record *out, int64_t *done, pfd_error *err)
{
    int64_t left = pfd_record_index_look_up(&self->index, positions, n, out), got = 1;
    *done = n;
    if (left == 0 && self->all_mapped && self->has_all_files && begin_lines(out, n)) return PFD_OK;
    PFD_TRY(pfd_index_image_check(self->image, err));
    for (*done = 0; *done < n && got == 1; *done += got) {
        pfd_record *record = &out[*done];
        if (record->size < 0) {
            PFD_TRY(read_run(self, positions[*done], 1, scratch, record, &got, err));
            continue;
        }
        PFD_TRY(read_single(self, scratch, record, err));
        record->file = self->files[record->file]->index;
    }
    return PFD_OK;
}

/* ---- Lines in any order: the source ---------------------------------------------------------- */

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

/* Compares the bytes of records with the seals of their files, and with each the two bytes after
 * it, which may be its line end: a damaged one is part of two records. */
static pfd_status compare_records(const lines *self, const pfd_record *records, int64_t n,
                                  pfd_scratch *scratch, pfd_error *err)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t file = pfd_index_file_of(self->places, self->num_files, records[i].ordinal);
        pfd_status status = pfd_file_compare(self->given[file], records[i].offset,
                                             records[i].size + 2, scratch, err);
        if (status == PFD_OK) continue;
        err->row = i;
        return status;
    }
    return PFD_OK;
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
    if (self->has_seals) PFD_TRY(compare_records(self, out, n, scratch, err));
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
    free(self->files);
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

/* ---- Lines in any order: open ---------------------------------------------------------------- */

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
    self->given = args->files;
    self->num_files = n;
    self->all_mapped = self->has_all_files = 1;
    self->texts = calloc((size_t)n + 1, sizeof *self->texts);
    self->files = calloc((size_t)n + 1, sizeof *self->files);
    if (!self->texts || !self->files) return pfd_fail_memory(err, n, "the table of files");
    for (int64_t i = 0; i < n; i++) {
        self->files[i] = pfd_file_uncompared(args->files[i]);
        self->texts[i] = pfd_file_data(self->files[i]);
        if (self->files[i] != args->files[i]) self->has_seals = 1;
        self->num_bytes += args->files[i]->size;
        if (!self->texts[i]) self->all_mapped = 0;
        if (args->files[i]->index != i) self->has_all_files = 0;
    }
    self->numbers = pfd_line_numbers_create(self->files, n);
    if (!self->numbers) return pfd_fail_memory(err, n, "line numbers");
    return open_index(self, args, err);
}

pfd_status pfd_lines_open(const pfd_open_args *args, pfd_source *out, pfd_error *err)
{
    if (pfd_files_are_stream(args)) return line_stream_open(args, out, err);
    lines *self = calloc(1, sizeof *self);
    if (!self) return pfd_fail_memory(err, (int64_t)sizeof *self, "a source of lines");
    return pfd_source_opened(open_lines(self, args, err), &methods, self, out);
}
