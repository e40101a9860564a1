/* An op in C++ without a fault: sorts the numbers of each row, and catches what the library throws.
 *
 * op: CppOp
 * input: MiniReader */
#include "pyflowdata/op.h"

#include <algorithm>
#include <new>
#include <vector>

static bool is_less(double left, double right)
{
    return left < right || (right != right && left == left);
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    const std::size_t n = static_cast<std::size_t>(args->inputs[0]->type.shape[0]);
    const double *in = reinterpret_cast<const double *>(args->inputs[0]->data);
    double *out = reinterpret_cast<double *>(args->outputs[0]->data);
    try {
        for (int64_t row = 0; row < args->num_rows; row++, in += n, out += n) {
            std::vector<double> values(in, in + n);
            std::stable_sort(values.begin(), values.end(), is_less);
            std::copy(values.begin(), values.end(), out);
        }
    } catch (const std::bad_alloc &) {
        return args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for a row");
    }
    return PFD_OK;
}

#include "box_cpp.h"
