/* Counts newlines up to a byte, and keeps the map from record to line. */
#include "sources/line_numbers.h"

#include "core/scratch.h"
#include "files/codecs.h"
#include "files/file_stream.h"
#include "index/newline_scan.h"

#include <pthread.h>
#include <stdlib.h>

enum {
    block_bytes = 1 << 20,
    bytes_at_once = 256 * 1024, /* of a compressed file */
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

/* ---- Bytes of files that are read in any order ----------------------------------------------- */

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

/* ---- Bytes of compressed files (lock held) --------------------------------------------------- */

/* Goes back where the place sought lies before the current one: a little way in what was kept, as
 * errors of neighbouring records come in any order, or to the beginning. */
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

/* ---- Records of files that are read in sequence ---------------------------------------------- */

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

void pfd_line_numbers_note(pfd_line_numbers *numbers, int64_t ordinal, int64_t line)
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

int64_t pfd_line_numbers_of_record(pfd_line_numbers *numbers, int64_t ordinal)
{
    pthread_mutex_lock(&numbers->lock);
    int64_t line = find(numbers, ordinal);
    pthread_mutex_unlock(&numbers->lock);
    return line;
}
