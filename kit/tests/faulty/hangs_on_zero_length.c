/* Looks for the end of a file by adding up lengths.
 *
 * group: damage: flipped
 * finding: hang
 * says: open\(\) did not end in time .* with .* a length
 * seconds: 0.5 */
#include "box.h"

static pfd_status faulty_index(box *self, const pfd_open_args *args, int32_t index, pfd_error *err)
{
    const pfd_file *file = args->files[index];
    const uint8_t *all;
    PFD_TRY(args->host->read(file, 0, file->size, args->scratch, &all, err));
    for (volatile int64_t at = BOX_HEADER; at + 4 <= file->size;) {
        uint32_t size = box_u32(all + at);
        at = size == 0 ? at : at + 4 + (int64_t)size;
    }
    return box_index_file(self, args, index, err);
}

#define BOX_INDEX faulty_index
#include "box_plugin.h"
