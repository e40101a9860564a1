/* Is the surer of a format the more files of it it has seen, and goes above all scores.
 *
 * group: state
 * finding: format-differs
 * says: two calls of probe\(\) of format 'box' with the same \d+ bytes gave \d+ and \d+ */
#include "box.h"

static int32_t faulty_probe(const pfd_probe_args *args)
{
    static int32_t seen;
    if (args->size < 4 || memcmp(args->data, "BOX1", 4) != 0) return PFD_PROBE_NO;
    return PFD_PROBE_POSSIBLE + ++seen;
}
#define BOX_PROBE faulty_probe
#include "box_plugin.h"
