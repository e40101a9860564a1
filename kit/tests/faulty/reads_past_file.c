/* Takes a header for longer than what it asked the host for.
 *
 * group: records
 * finding: reads-past-read
 * says: open\(\) read byte \d past the end of the 8 bytes of */
#include "box.h"

static pfd_status faulty_index(box *self, const pfd_open_args *args, int32_t index, pfd_error *err)
{
    const uint8_t *header;
    PFD_TRY(args->host->read(args->files[index], 0, 8, args->scratch, &header, err));
    if ((box_u32(header + 4) ^ 0x5A5A5A5Au) != box_u32(header + 8))
        return args->host->fail(err, PFD_CORRUPT_DATA, "this is no box file");
    return box_index_file(self, args, index, err);
}

#define BOX_INDEX faulty_index
#include "box_plugin.h"
