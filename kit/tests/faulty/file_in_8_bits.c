/* Gives the number of a record's file as one of 8 bits.
 *
 * group: many records
 * finding: narrow-count
 * says: the 2 files of the sample 129 times, with 1548 records, .* of file \d+, where it
 * likely: a number of records or files of uint16_t, short or char */
#include "box.h"

static pfd_status faulty_index(box *self, const pfd_open_args *args, int32_t index, pfd_error *err)
{
    int64_t first = self->size;
    PFD_TRY(box_index_file(self, args, index, err));
    for (int64_t i = first; i < self->size; i++) self->entries[i].file = (uint8_t)index;
    return PFD_OK;
}

#define BOX_INDEX faulty_index
#include "box_plugin.h"
