/* Scans text files in pieces, and puts the pieces together. */
#include "index/line_scan.h"

#include "core/error.h"
#include "core/multi_thread_loop.h"
#include "core/scratch.h"
#include "files/file_read.h"
#include "index/line_blocks.h"
#include "index/record_marks.h"

#include <stdlib.h>
#include <string.h>

enum {
    entries_per_piece = 8,
    entry_bytes = PFD_BLOCKS_PER_ENTRY * PFD_LINE_BLOCK_BYTES,
    piece_bytes = entries_per_piece * entry_bytes,
    mark_bytes = 16 * 1024,
    bytes_per_stride = 16, /* or more: the index is 0.6 bits per byte of text, or less */
    sample_bytes = 1024 * 1024,
    least_reserved = 1024 * 1024 /* strides of a thread */
};

/* The ends of a piece of text: the lines that continue in the pieces before and after it. */
typedef struct piece_ends {
    int32_t starts_blank; /* only blanks before the first newline, or before the end */
    int32_t has_newline;
    int32_t content;      /* whether the line that is open at the end has content */
    int32_t is_line_open; /* the last byte is not a newline */
} piece_ends;

typedef struct worker {
    pfd_scratch *scratch;
    uint32_t *marks;
    pfd_mark_list list;
} worker;

typedef struct line_scan {
    const pfd_open_args *args;
    const pfd_newline_scan *scan;
    int32_t num_threads;
    worker *workers;
    double about_records; /* dense: in all files */
    int64_t *first_piece; /* of each file; one more: all pieces.  A file has one more than text */
    piece_ends *ends;
    pfd_mark_list *lists;    /* dense: of each worker */
    pfd_mark_piece *pieces;  /* dense */
    pfd_line_entry *entries; /* sparse */
    pfd_index_file *files;
} line_scan;

/* ---- Pieces ---------------------------------------------------------------------------------- */
static int64_t pieces_of(const pfd_file *file)
{
    return (file->size + piece_bytes - 1) / piece_bytes;
}

static int64_t file_of_piece(const line_scan *self, int64_t piece)
{
    int64_t low = 0, high = self->args->num_files;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (self->first_piece[middle] <= piece)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static int is_blank(const uint8_t *text, const uint8_t *end)
{
    while (text < end && (*text == ' ' || *text == '\t' || *text == '\r')) text++;
    return text == end;
}

static piece_ends ends_of(const uint8_t *text, int64_t size, uint64_t content)
{
    const uint8_t *newline = memchr(text, '\n', (size_t)size);
    return (piece_ends){.starts_blank = is_blank(text, newline ? newline : text + size),
                        .has_newline = newline != NULL,
                        .content = (int32_t)content,
                        .is_line_open = text[size - 1] != '\n'};
}

/* Marks the ends of the records in a piece. */
static pfd_status mark_piece(line_scan *self, int64_t number, const uint8_t *text, int64_t size,
                             int64_t offset, int64_t file, int32_t worker_number, pfd_error *err)
{
    worker *mine = &self->workers[worker_number];
    pfd_mark_list *list = &self->lists[worker_number];
    pfd_mark_piece piece;
    pfd_line_marker marker = {.content = offset > 0};
    pfd_mark_piece_begin(&piece, list, worker_number, file);
    for (int64_t at = 0; at < size; at += mark_bytes) {
        int64_t some = size - at < mark_bytes ? size - at : mark_bytes, before = piece.num_marks;
        marker.blank_lines = marker.returns = 0;
        int64_t n = self->scan->mark(text + at, some, &marker, mine->marks);
        PFD_TRY(pfd_mark_piece_add(&piece, list, offset + at, mine->marks, n, err));
        uint64_t flags = (marker.blank_lines > 0 ? PFD_GROUP_IS_IRREGULAR : 0) |
                         (marker.returns > 0 ? PFD_GROUP_HAS_RETURNS : 0);
        if (flags) PFD_TRY(pfd_mark_piece_flag(&piece, list, before, flags, err));
    }
    self->ends[number] = ends_of(text, size, marker.content);
    self->pieces[number] = piece;
    return PFD_OK;
}

/* Counts the records of a piece. Its entries count from the beginning of the piece. */
static void count_piece(line_scan *self, int64_t number, const uint8_t *text, int64_t size,
                        uint64_t content, pfd_line_entry *entries)
{
    int64_t records = 0;
    for (int64_t at = 0; at < size; at += PFD_LINE_BLOCK_BYTES) {
        int64_t block = at / PFD_LINE_BLOCK_BYTES;
        pfd_line_entry *entry = &entries[block / PFD_BLOCKS_PER_ENTRY];
        int64_t some = size - at < PFD_LINE_BLOCK_BYTES ? size - at : PFD_LINE_BLOCK_BYTES;
        uint64_t flag = content ? PFD_FIRST_NEWLINE_ENDS : 0;
        if (block % PFD_BLOCKS_PER_ENTRY == 0) entry->records_before = records;
        int64_t n = self->scan->count_records(text + at, some, &content);
        entry->counts[block % PFD_BLOCKS_PER_ENTRY] = (uint16_t)((uint64_t)n | flag);
        records += n;
    }
    self->ends[number] = ends_of(text, size, content);
}

static pfd_line_entry *entries_of(const line_scan *self, int64_t file, int64_t offset)
{
    return self->entries + self->files[file].first_place + offset / entry_bytes;
}

static pfd_status read_piece(const line_scan *self, int64_t number, int64_t file,
                             pfd_scratch *scratch, const uint8_t **text, int64_t *offset,
                             int64_t *size, pfd_error *err)
{
    *offset = (number - self->first_piece[file]) * piece_bytes;
    *size = self->args->files[file]->size - *offset;
    if (*size > piece_bytes) *size = piece_bytes;
    if (*size <= 0) return PFD_OK;
    pfd_scratch_reset(scratch);
    return pfd_file_read(self->args->files[file], *offset, *size, scratch, text, err);
}

static pfd_status scan_pieces(void *ctx, int64_t begin, int64_t end, int32_t worker_number,
                              pfd_error *err)
{
    line_scan *self = ctx;
    for (int64_t i = begin; i < end; i++) {
        const uint8_t *text;
        int64_t offset, size, file = file_of_piece(self, i);
        if (self->args->scratch && pfd_scratch_is_cancelled(self->args->scratch))
            return pfd_fail(err, PFD_CANCELLED, "the loader is closing");
        PFD_TRY(read_piece(self, i, file, self->workers[worker_number].scratch, &text, &offset,
                           &size, err));
        if (size <= 0) /* the piece after a file's text */
            continue;
        if (self->pieces)
            PFD_TRY(mark_piece(self, i, text, size, offset, file, worker_number, err));
        else
            count_piece(self, i, text, size, offset > 0, entries_of(self, file, offset));
    }
    return PFD_OK;
}

/* ---- Together -------------------------------------------------------------------------------- */

/* Goes through the pieces in order.  It calls `mend` for each piece whose first line ends in it
 * and turns out to have no content, and `close` for each file, with whether its last line has no
 * newline, and whether that line has content. */
static pfd_status join(line_scan *self,
                       pfd_status (*mend)(line_scan *, int64_t, int64_t, pfd_error *),
                       void (*close)(line_scan *, int64_t, int32_t, int32_t), pfd_error *err)
{
    for (int64_t file = 0; file < self->args->num_files; file++) {
        int32_t content = 0, is_open = 0;
        int64_t last = self->first_piece[file + 1] - 1;
        for (int64_t i = self->first_piece[file]; i < last; i++) {
            int32_t is_first = i == self->first_piece[file];
            if (!is_first && !content && self->ends[i].starts_blank && self->ends[i].has_newline)
                PFD_TRY(mend(self, i, file, err));
            if (self->ends[i].has_newline)
                content = self->ends[i].content;
            else
                content |= !self->ends[i].starts_blank;
            is_open = self->ends[i].is_line_open;
        }
        close(self, file, is_open, content);
    }
    return PFD_OK;
}

static pfd_status mend_marks(line_scan *self, int64_t piece, int64_t file, pfd_error *err)
{
    (void)file, (void)err;
    pfd_mark_piece_drop_first(&self->pieces[piece], self->lists);
    self->pieces[piece].open_flags |= PFD_GROUP_IS_IRREGULAR;
    return PFD_OK;
}

/* Ends a last line without newline where its newline would be. */
static void close_marks(line_scan *self, int64_t file, int32_t is_open, int32_t content)
{
    int64_t end = self->args->files[file]->size + 1;
    pfd_mark_piece *piece = &self->pieces[self->first_piece[file + 1] - 1];
    *piece = (pfd_mark_piece){.file = file};
    if (is_open && content) {
        piece->num_marks = 1;
        piece->first_mark = piece->last_mark = end;
    } else if (is_open) {
        piece->open_flags = PFD_GROUP_IS_IRREGULAR;
    }
    pfd_index_file *files = self->files;
    files[file + 1].first_place = files[file].first_place + end - !is_open;
}

static pfd_status mend_counts(line_scan *self, int64_t piece, int64_t file, pfd_error *err)
{
    const uint8_t *text;
    int64_t offset, size;
    PFD_TRY(read_piece(self, piece, file, self->workers[0].scratch, &text, &offset, &size, err));
    count_piece(self, piece, text, size, 0, entries_of(self, file, offset));
    return PFD_OK;
}

static int64_t records_in(const pfd_line_entry *entry)
{
    int64_t records = 0;
    for (int64_t i = 0; i < PFD_BLOCKS_PER_ENTRY; i++)
        records += entry->counts[i] & (PFD_FIRST_NEWLINE_ENDS - 1);
    return records;
}

static void close_counts(line_scan *self, int64_t file, int32_t is_open, int32_t content)
{
    pfd_index_file *files = self->files;
    int64_t records = 0;
    for (int64_t i = files[file].first_place; i < files[file + 1].first_place; i++) {
        self->entries[i].records_before = records;
        records += records_in(&self->entries[i]);
    }
    files[file + 1].first_record = files[file].first_record + records + (is_open && content);
}

/* ---- Memory ---------------------------------------------------------------------------------- */
static void free_scan(line_scan *self)
{
    for (int32_t i = 0; self->workers && i < self->num_threads; i++) {
        pfd_scratch_free(self->workers[i].scratch);
        free(self->workers[i].marks);
    }
    for (int32_t i = 0; self->lists && i < self->num_threads; i++)
        pfd_mark_list_free(&self->lists[i]);
    free(self->workers);
    free(self->lists);
    free(self->first_piece);
    free(self->ends);
    free(self->pieces);
}

static pfd_status open_scan(line_scan *self, int32_t kind, int width, pfd_error *err)
{
    int64_t num_files = self->args->num_files, pieces = 0;
    size_t threads = (size_t)self->num_threads;
    self->first_piece = calloc((size_t)num_files + 1, sizeof *self->first_piece);
    self->workers = calloc(threads, sizeof *self->workers);
    self->lists = calloc(threads, sizeof *self->lists);
    if (!self->first_piece || !self->workers || !self->lists)
        return pfd_fail_memory(err, num_files, "the scan of the files");
    for (int64_t i = 0; i < num_files; i++) {
        self->first_piece[i] = pieces;
        pieces += pieces_of(self->args->files[i]) + 1;
    }
    self->first_piece[num_files] = pieces;
    self->ends = calloc((size_t)pieces + 1, sizeof *self->ends);
    if (kind == PFD_INDEX_LINES) self->pieces = calloc((size_t)pieces + 1, sizeof *self->pieces);
    int64_t share = (int64_t)(1.25 * self->about_records) / self->num_threads;
    if (share < least_reserved) share = 0;
    int whole = self->ends && (kind != PFD_INDEX_LINES || self->pieces);
    for (int32_t i = 0; whole && i < self->num_threads; i++) {
        worker *each = &self->workers[i];
        self->lists[i].width = width;
        if (share > 0) pfd_mark_list_reserve(&self->lists[i], share);
        each->scratch = pfd_scratch_create();
        each->marks = malloc((mark_bytes / 2 + 1 + PFD_SPLIT_SLACK) * sizeof *each->marks);
        whole = each->scratch && each->marks;
    }
    return whole ? PFD_OK : pfd_fail_memory(err, pieces, "the scan of the files");
}

static pfd_status scan_all(line_scan *self, pfd_error *err)
{
    int64_t pieces = self->first_piece[self->args->num_files];
    int32_t threads = pieces > 2 ? self->num_threads : 1; /* small files need no threads */
    return pfd_parallel_for(threads, pieces, 1, scan_pieces, self, err);
}

/* ---- The two indexes ------------------------------------------------------------------------- */

/* Chooses the width of strides so that they can hold four times the mean line. */
static pfd_status choose_strides(line_scan *self, pfd_record_marks *marks, pfd_error *err)
{
    int64_t bytes = 0, lines = 1, all_bytes = 0;
    for (int64_t i = 0; i < self->args->num_files && bytes == 0; i++) {
        const pfd_file *file = self->args->files[i];
        const uint8_t *text;
        pfd_scratch *scratch = pfd_scratch_create();
        bytes = file->size < sample_bytes ? file->size : sample_bytes;
        pfd_status status = scratch ? pfd_file_read(file, 0, bytes, scratch, &text, err)
                                    : pfd_fail_memory(err, bytes, "a sample of the text");
        if (status == PFD_OK) lines += self->scan->count(text, bytes);
        pfd_scratch_free(scratch);
        PFD_TRY(status);
    }
    for (int64_t i = 0; i < self->args->num_files; i++) all_bytes += self->args->files[i]->size;
    if (bytes > 0) self->about_records = (double)all_bytes / (double)bytes * (double)lines;
    while ((bytes << marks->shift) / lines < bytes_per_stride && marks->shift < 3) marks->shift++;
    int64_t stride = (bytes << marks->shift) / lines;
    marks->width = stride < 64 ? 0 : stride < 64 * 256 ? 1 : 2;
    return PFD_OK;
}

static pfd_status make_marks(line_scan *self, pfd_record_marks *marks, pfd_index_file *files,
                             pfd_index_image **out, pfd_error *err)
{
    int64_t num_files = self->args->num_files;
    PFD_TRY(open_scan(self, PFD_INDEX_LINES, marks->width, err));
    PFD_TRY(scan_all(self, err));
    PFD_TRY(join(self, mend_marks, close_marks, err));
    marks->lists = self->lists;
    marks->pieces = self->pieces;
    marks->num_pieces = self->first_piece[num_files];
    marks->first_number = 1;
    pfd_record_marks_place(marks, files, num_files);
    int64_t records = files[num_files].first_record;
    PFD_TRY(pfd_index_image_create(PFD_INDEX_LINES, num_files,
                                   pfd_record_marks_groups(marks, records), out, err));
    memcpy((*out)->files, files, ((size_t)num_files + 1) * sizeof *files);
    return pfd_record_marks_fill(marks, records, self->num_threads, *out, err);
}

static pfd_status scan_marks(line_scan *self, pfd_index_image **out, pfd_error *err)
{
    pfd_record_marks marks = {0};
    pfd_index_file *files = calloc((size_t)self->args->num_files + 1, sizeof *files);
    if (!files) return pfd_fail_memory(err, self->args->num_files, "the table of files");
    self->files = files;
    pfd_status status = choose_strides(self, &marks, err);
    if (status == PFD_OK) status = make_marks(self, &marks, files, out, err);
    free(files);
    return status;
}

static pfd_status scan_counts(line_scan *self, pfd_index_image **out, pfd_error *err)
{
    int64_t num_files = self->args->num_files, entries = 0;
    for (int64_t i = 0; i < num_files; i++)
        entries += pfd_line_blocks_entries(self->args->files[i]);
    PFD_TRY(pfd_index_image_create(PFD_INDEX_BLOCKS, num_files, entries, out, err));
    pfd_index_file *files = (*out)->files;
    for (int64_t i = 0; i < num_files; i++)
        files[i + 1].first_place =
            files[i].first_place + pfd_line_blocks_entries(self->args->files[i]);
    self->files = files;
    self->entries = (*out)->entries;
    PFD_TRY(open_scan(self, PFD_INDEX_BLOCKS, 0, err));
    PFD_TRY(scan_all(self, err));
    PFD_TRY(join(self, mend_counts, close_counts, err));
    (*out)->header->num_records = files[num_files].first_record;
    return PFD_OK;
}

pfd_status pfd_line_scan(const pfd_open_args *args, const pfd_newline_scan *scan, int32_t kind,
                         int32_t num_threads, pfd_index_image **out, pfd_error *err)
{
    line_scan self = {.args = args, .scan = scan, .num_threads = num_threads};
    pfd_index_image *image = NULL;
    pfd_status status =
        kind == PFD_INDEX_LINES ? scan_marks(&self, &image, err) : scan_counts(&self, &image, err);
    free_scan(&self);
    if (status == PFD_OK)
        *out = image;
    else
        pfd_index_image_free(image);
    return status;
}
