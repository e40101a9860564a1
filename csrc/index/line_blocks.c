/* Looks up records in the sparse index of lines. */
#include "index/line_blocks.h"

#include "index/record_index.h"

int64_t pfd_line_blocks_entries(const pfd_file *file)
{
    const int64_t bytes = PFD_BLOCKS_PER_ENTRY * PFD_LINE_BLOCK_BYTES;
    return (file->size + bytes - 1) / bytes;
}

int32_t pfd_line_blocks_init(pfd_line_blocks *blocks, const pfd_index_image *image,
                             const pfd_file *const *files)
{
    const pfd_index_header *header = image->header;
    int64_t entries = 0;
    *blocks = (pfd_line_blocks){.num_files = header->num_files,
                                .num_records = header->num_records,
                                .files = image->files,
                                .entries = image->entries};
    for (int64_t i = 0; i < header->num_files; i++) {
        if (image->files[i].first_place != entries) return 0;
        entries += pfd_line_blocks_entries(files[i]);
    }
    return image->files[header->num_files].first_place == entries && header->num_entries == entries;
}

/* Finds the last entry of a file before which fewer than `wanted` records end. */
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
    start.offset =
        ((at - places->first_place) * PFD_BLOCKS_PER_ENTRY + block) * PFD_LINE_BLOCK_BYTES;
    start.skip = left;
    start.first_newline_ends = start.offset > 0 && entry->counts[block] >= PFD_FIRST_NEWLINE_ENDS;
    return start;
}
