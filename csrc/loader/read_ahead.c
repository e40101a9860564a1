/* Reads ahead: in sequence the following bytes, in a window shuffle the blocks of the next
 * window. */
#include "loader/read_ahead.h"

#include "dataset/shuffle.h"

#include <stdatomic.h>

enum { blocks_at_once = 64 };
/* How many blocks of a window are checked for whether they are in memory; each is a call of the
 * kernel. */
enum { blocks_looked_at = 16 };

/* Reads ahead from the beginning of a block to its last record, and some bytes for that record. */
static void need_range(const pfd_data_reader *reader, const pfd_place *first, const pfd_place *last)
{
    const int64_t beyond = 4096 + 2 * (reader->num_bytes / reader->num_records);
    int64_t num_files;
    const pfd_file *const *files = pfd_input_files_list(reader->files, &num_files);
    for (int32_t i = first->file; i <= last->file && i < num_files; i++) {
        int64_t begin = i == first->file ? first->offset : 0;
        int64_t end = i == last->file ? last->offset + beyond : files[i]->size;
        pfd_file_will_need(files[i], begin, end - begin);
    }
}

/* A window order of an epoch: of all records, or of a lane. */
typedef struct ordered {
    pfd_data_reader *reader;
    const pfd_lanes *lanes; /* NULL: of all records */
    int64_t lane;
    pfd_window_order order;
} ordered;

/* The blocks of a window from the first-th on, as ranges of ordinals: at most blocks_at_once, of
 * which one may be in two ranges. Returns how many ranges. */
static int64_t find_ranges(const ordered *of, int64_t position, int64_t first, int64_t most,
                           pfd_record_range *span, pfd_record_range *ranges)
{
    int64_t n = pfd_window_order_blocks(&of->order, position, span, first, most, ranges);
    return of->lanes ? pfd_window_lanes_ranges(of->lanes, of->lane, ranges, n) : n;
}

static void need_ranges(const pfd_data_reader *reader, const pfd_record_range *ranges, int64_t n)
{
    int64_t ordinals[2 * (blocks_at_once + 1)];
    pfd_place places[2 * (blocks_at_once + 1)];
    for (int64_t i = 0; i < n; i++) {
        ordinals[2 * i] = ranges[i].begin;
        ordinals[2 * i + 1] = ranges[i].end - 1;
    }
    if (!pfd_source_places(reader->source, ordinals, 2 * n, places)) return;
    for (int64_t i = 0; i < n; i++) need_range(reader, &places[2 * i], &places[2 * i + 1]);
}

/* Whether a sample of blocks, spread over the window of a position, is all in memory: then most
 * others are too. This saves requests for each block, which cost a tenth of the time to make the
 * batches. */
static int32_t is_in_memory(const ordered *of, int64_t position)
{
    const pfd_data_reader *reader = of->reader;
    int64_t num_files, step = (int64_t)reader->attrs->shuffle_window / blocks_looked_at + 1;
    const pfd_file *const *files = pfd_input_files_list(reader->files, &num_files);
    for (int64_t first = 0;; first += step) {
        pfd_record_range span, ranges[2];
        pfd_place place;
        if (find_ranges(of, position, first, 1, &span, ranges) == 0) return 1;
        if (!pfd_source_places(reader->source, &ranges[0].begin, 1, &place)) return 1;
        if (place.file < 0 || place.file >= num_files) return 0;
        if (!pfd_file_is_in_memory(files[place.file], place.offset)) return 0;
    }
}

/* Where the window of a position ends. */
static int64_t window_end(const ordered *of, int64_t position)
{
    pfd_record_range span, none;
    (void)pfd_window_order_blocks(&of->order, position, &span, 0, 0, &none);
    return span.end;
}

/* Reads ahead the window of a position. */
static void need_window(const ordered *of, int64_t position)
{
    pfd_record_range span, ranges[blocks_at_once + 1];
    if (is_in_memory(of, position)) return;
    for (int64_t first = 0, n = blocks_at_once; n >= blocks_at_once; first += blocks_at_once) {
        n = find_ranges(of, position, first, blocks_at_once, &span, ranges);
        if (n > 0) need_ranges(of->reader, ranges, n);
    }
}

/* When an order enters a window, reads ahead the next one; in the first window also that one.
 * `position` is one of its `n` positions. */
static void read_ahead_of_window(ordered *of, int64_t epoch, int64_t position, int64_t n)
{
    pfd_data_reader *reader = of->reader;
    int64_t records = (int64_t)reader->attrs->shuffle_block_size * reader->attrs->shuffle_window;
    int64_t windows = n / records + 2, entered = epoch * windows + position / records + 1;
    _Atomic int64_t *ahead = &reader->windows_ahead[of->lane];
    int64_t asked = atomic_load_explicit(ahead, memory_order_relaxed);
    if (asked == entered || asked == entered + 1) return;
    if (!atomic_compare_exchange_strong(ahead, &asked, entered)) return;
    if (of->lanes)
        pfd_window_lanes_order(reader->shuffled, epoch, of->lane, &of->order);
    else
        pfd_window_shuffle_order(reader->shuffled, epoch, &of->order);
    if (asked != entered - 1) need_window(of, position);
    int64_t end = window_end(of, position);
    if (end < n) need_window(of, end);
}

/* In each order that the rows are of.  Rows that only fill the last batch have later positions. */
static void read_ahead_of_windows(pfd_data_reader *reader, int64_t epoch, int64_t position,
                                  int64_t rows)
{
    ordered of = {.reader = reader, .lanes = pfd_window_lanes(reader->shuffled)};
    int64_t end = position + rows < reader->num_records ? position + rows : reader->num_records;
    if (!of.lanes && position < end)
        read_ahead_of_window(&of, epoch, end - 1, reader->num_records);
    while (of.lanes && position < end) {
        pfd_lane_run run = pfd_lanes_find(of.lanes, position);
        int64_t left = end - position, last = run.count < left ? run.count - 1 : left - 1;
        of.lane = run.lane;
        read_ahead_of_window(&of, epoch, run.place + last, pfd_lanes_size(of.lanes, run.lane));
        position += last + 1;
    }
}

void pfd_data_reader_read_ahead(pfd_data_reader *reader, int64_t epoch, int64_t position,
                                const pfd_record *records, int64_t rows)
{
    if (!reader->files || rows < 1) return;
    const pfd_record *last = &records[rows - 1];
    if (reader->in_sequence && last->file >= 0)
        pfd_input_files_read_ahead(reader->files, last->file, last->offset + last->size);
    else if (reader->windows_ahead)
        read_ahead_of_windows(reader, epoch, position, rows);
}
