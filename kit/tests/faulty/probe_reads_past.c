/* Compares the count in the header of a file without asking whether it is there.
 *
 * group: state
 * finding: reads-past-head
 * says: probe\(\) read byte \d past the end of the \d bytes of head
 * likely: fewer bytes than the header */
#include "box.h"

static int32_t faulty_probe(const pfd_probe_args *args)
{
    if (args->size < 4 || memcmp(args->data, "BOX1", 4) != 0) return PFD_PROBE_NO;
    uint32_t count = box_u32(args->data + 4);
    return (count ^ 0x5A5A5A5Au) == box_u32(args->data + 8) ? PFD_PROBE_CERTAIN : PFD_PROBE_LIKELY;
}
#define BOX_PROBE faulty_probe
#include "box_plugin.h"
