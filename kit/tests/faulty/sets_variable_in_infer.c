/* Sets how many threads another library may use, where the node is made.
 *
 * group: state
 * finding: process-state
 * says: infer\(\) changed the environment variable BLOSC_NTHREADS of */
#include "box.h"

static pfd_status box_infer(const pfd_infer_args *args, pfd_error *err);
static pfd_status faulty_infer(const pfd_infer_args *args, pfd_error *err)
{
    (void)setenv("BLOSC_NTHREADS", "1", 1);
    return box_infer(args, err);
}
#define BOX_INFER faulty_infer
#include "box_plugin.h"
