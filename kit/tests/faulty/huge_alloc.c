/* Asks for as much memory as a damaged length says.
 *
 * group: damage: lengths
 * finding: huge-alloc
 * says: asked host->alloc\(\) for \d{10} bytes, of files that have */
#include "box.h"

static pfd_status faulty_index(box *self, const pfd_open_args *args, int32_t index, pfd_error *err)
{
    const uint8_t *frame;
    PFD_TRY(args->host->read(args->files[index], BOX_HEADER, 4, args->scratch, &frame, err));
    if (!args->host->alloc(args->scratch, box_u32(frame)))
        return args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for the first record");
    return box_index_file(self, args, index, err);
}

#define BOX_INDEX faulty_index
#include "box_plugin.h"
