/* Compares the checksum of each record, and not that of the index, whose labels it gives.
 *
 * group: damage: flipped
 * finding: companion-unnoticed
 * says: flipped in part-1.idx\) .* of part-1.idx flipped.* checksum of this companion file
 * likely: the checksum of the companion is not compared
 * sample: indexed */
#include "box.h"
static pfd_status faulty_file(box *self, const pfd_open_args *args, int32_t file, pfd_error *err);
#define BOX_INDEX faulty_file
#include "box_index.h"

static pfd_status verify_size(const pfd_open_args *args, const pfd_file *index,
                              const uint8_t *table, int64_t n, pfd_error *err)
{
    (void)table;
    if (index->size == 4 + 8 * n) return PFD_OK;
    return args->host->fail_file(err, index, 0, PFD_CORRUPT_DATA, "this is no index of %d", (int)n);
}

static pfd_status faulty_file(box *self, const pfd_open_args *args, int32_t file, pfd_error *err)
{
    return indexed_file_with(self, args, file, verify_size, err);
}

#include "box_plugin.h"
