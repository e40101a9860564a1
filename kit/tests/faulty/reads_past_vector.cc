/* Adds to each number the next one of a vector, and to the last one what lies after it.
 *
 * op: CppOp
 * input: MiniReader
 * sanitizer: asan
 * says: heap-buffer-overflow.* in compute\(\) at reads_past_vector.cc:\d+ */
#include "pyflowdata/op.h"

#include <vector>

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    (void)err;
    const std::size_t n = static_cast<std::size_t>(args->inputs[0]->type.shape[0]);
    const double *in = reinterpret_cast<const double *>(args->inputs[0]->data);
    double *out = reinterpret_cast<double *>(args->outputs[0]->data);
    for (int64_t row = 0; row < args->num_rows; row++, in += n, out += n) {
        const std::vector<double> values(in, in + n);
        for (std::size_t i = 0; i < n; i++) {
            volatile double next = values.data()[i + 1];
            out[i] = values[i] + 0 * (next == next);
        }
    }
    return PFD_OK;
}

#include "box_cpp.h"
