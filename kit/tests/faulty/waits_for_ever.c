/* Waits for what never comes, where a file says that it has more records than there can be.
 *
 * group: damage: lengths
 * finding: waits
 * says: open\(\) did not end in time .*, with bytes .* set to 0x
 * seconds: 0.3 */
#include "box.h"

#include <unistd.h>

static pfd_status faulty_index(box *self, const pfd_open_args *args, int32_t index, pfd_error *err)
{
    const uint8_t *header;
    PFD_TRY(args->host->read(args->files[index], 0, 8, args->scratch, &header, err));
    while (box_u32(header + 4) > 0x70000000u) (void)pause();
    return box_index_file(self, args, index, err);
}
#define BOX_INDEX faulty_index
#include "box_plugin.h"
