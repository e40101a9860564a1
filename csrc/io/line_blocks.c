/* The sparse index of lines: looking up. */
#include "io/line_blocks.h"

#include "io/record_index.h"

int32_t pfd_line_blocks_init(pfd_line_blocks *blocks, const pfd_index_image *image)
{
    const pfd_index_header *header = image->header;
    *blocks = (pfd_line_blocks){.num_files = header->num_files,
                                .num_records = header->num_records,
                                .num_entries = header->num_entries,
                                .files = image->files,
                                .entries = image->entries};
    for (int64_t i = 0; i <= header->num_files; i++) {
        int64_t place = image->files[i].first_place;
        if (place < (i > 0 ? image->files[i - 1].first_place : 0)) return 0;
        if (place > header->num_entries) return 0;
    }
    return 1;
}

/* The last entry of a file before which fewer than `wanted` records end. */
static int64_t entry_of(const pfd_line_blocks *blocks, int64_t low, int64_t high, int64_t wanted)
{
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (blocks->entries[middle].records_before < wanted)
            low = middle;
        else
            high = middle;
    }
    return low;
}

pfd_line_block_start pfd_line_blocks_find(const pfd_line_blocks *blocks, int64_t position)
{
    int64_t file = pfd_index_file_of(blocks->files, blocks->num_files, position);
    const pfd_index_file *places = &blocks->files[file];
    int64_t wanted = position - places->first_record; /* records end before this one */
    pfd_line_block_start start = {.file = file, .skip = wanted};
    if (wanted == 0 || places[1].first_place == places->first_place) return start;
    int64_t at = entry_of(blocks, places->first_place, places[1].first_place, wanted);
    const pfd_line_entry *entry = &blocks->entries[at];
    int64_t block = 0, left = wanted - entry->records_before;
    for (; block < PFD_BLOCKS_PER_ENTRY - 1; block++) {
        int64_t count = entry->counts[block] & (PFD_FIRST_NEWLINE_ENDS - 1);
        if (left <= count) break;
        left -= count;
    }
    start.offset = ((at - places->first_place) * PFD_BLOCKS_PER_ENTRY + block) * PFD_LINE_BLOCK_BYTES;
    start.skip = left;
    start.first_newline_ends = start.offset > 0 && entry->counts[block] >= PFD_FIRST_NEWLINE_ENDS;
    return start;
}
