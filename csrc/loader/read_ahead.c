/* Reads ahead: in sequence the following bytes, in a window shuffle the blocks of the next
 * window. */
#include "loader/read_ahead.h"

#include "dataset/window_shuffle.h"

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

static void need_blocks(const pfd_data_reader *reader, const pfd_record_range *blocks, int64_t n)
{
    int64_t ordinals[2 * blocks_at_once];
    pfd_place places[2 * blocks_at_once];
    for (int64_t i = 0; i < n; i++) {
        ordinals[2 * i] = blocks[i].begin;
        ordinals[2 * i + 1] = blocks[i].end - 1;
    }
    if (!pfd_source_places(reader->source, ordinals, 2 * n, places)) return;
    for (int64_t i = 0; i < n; i++) need_range(reader, &places[2 * i], &places[2 * i + 1]);
}

/* Whether a sample of blocks, spread over the window of a position, is all in memory: then most
 * others are too. This saves requests for each block, which cost a tenth of the time to make the
 * batches. */
static int32_t is_in_memory(const pfd_data_reader *reader, const pfd_window_order *order,
                            int64_t position)
{
    int64_t num_files, step = (int64_t)reader->attrs->shuffle_window / blocks_looked_at + 1;
    const pfd_file *const *files = pfd_input_files_list(reader->files, &num_files);
    for (int64_t first = 0;; first += step) {
        pfd_record_range span, block;
        pfd_place place;
        if (pfd_window_order_blocks(order, position, &span, first, 1, &block) == 0) return 1;
        if (!pfd_source_places(reader->source, &block.begin, 1, &place)) return 1;
        if (place.file < 0 || place.file >= num_files) return 0;
        if (!pfd_file_is_in_memory(files[place.file], place.offset)) return 0;
    }
}

/* Reads ahead the window of a position.  Returns where the next window begins. */
static int64_t need_window(const pfd_data_reader *reader, const pfd_window_order *order,
                           int64_t position)
{
    pfd_record_range span, blocks[blocks_at_once];
    if (is_in_memory(reader, order, position)) {
        (void)pfd_window_order_blocks(order, position, &span, 0, 1, blocks);
        return span.end;
    }
    for (int64_t first = 0;; first += blocks_at_once) {
        int64_t n = pfd_window_order_blocks(order, position, &span, first, blocks_at_once, blocks);
        if (n > 0) need_blocks(reader, blocks, n);
        if (n < blocks_at_once) return span.end;
    }
}

/* When the order enters a window, reads ahead the next one; in the first window also that one. */
static void read_ahead_of_window(pfd_data_reader *reader, int64_t epoch, int64_t position)
{
    pfd_window_order order;
    pfd_record_range span, block;
    int64_t n = reader->num_records;
    if (position >= n) return; /* padding rows of the last batch */
    int64_t records = (int64_t)reader->attrs->shuffle_block_size * reader->attrs->shuffle_window;
    int64_t windows = n / records + 2, entered = epoch * windows + position / records + 1;
    int64_t asked = atomic_load_explicit(&reader->window_ahead, memory_order_relaxed);
    if (asked == entered || asked == entered + 1) return;
    if (!atomic_compare_exchange_strong(&reader->window_ahead, &asked, entered)) return;
    pfd_window_shuffle_order(reader->shuffled, epoch, &order);
    if (asked != entered - 1) (void)need_window(reader, &order, position);
    (void)pfd_window_order_blocks(&order, position, &span, 0, 1, &block);
    if (span.end < n) (void)need_window(reader, &order, span.end);
}

void pfd_data_reader_read_ahead(pfd_data_reader *reader, int64_t epoch, int64_t position,
                                const pfd_record *record)
{
    if (!reader->files) return;
    if (reader->in_sequence && record->file >= 0)
        pfd_input_files_read_ahead(reader->files, record->file, record->offset + record->size);
    else if (reader->shuffle == PFD_SHUFFLE_WINDOW)
        read_ahead_of_window(reader, epoch, position);
}
