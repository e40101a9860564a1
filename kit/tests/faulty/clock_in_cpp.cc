/* Seeds a generator of C++ with the time, under a lock that it keeps in order.
 *
 * group: state
 * finding: not-repeatable
 * says: row 0 is another one when the clocks that the plugin reads are 7 s slow
 * likely: the time of day goes into the output
 * op: CppOp
 * input: MiniReader */
#include "pyflowdata/op.h"

#include <chrono>
#include <mutex>
#include <random>

static std::mutex lock;

static double draw(int64_t ordinal)
{
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now).count();
    std::mt19937_64 generator(static_cast<std::uint64_t>(seconds + ordinal));
    return std::uniform_real_distribution<double>(-1e-3, 1e-3)(generator);
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *)
{
    const std::lock_guard<std::mutex> locked(lock);
    const int64_t n = args->inputs[0]->type.shape[0];
    const double *in = reinterpret_cast<const double *>(args->inputs[0]->data);
    double *out = reinterpret_cast<double *>(args->outputs[0]->data);
    for (int64_t row = 0; row < args->num_rows; row++) {
        const double noise = draw(args->records[row].ordinal);
        for (int64_t i = 0; i < n; i++) *out++ = *in++ + noise;
    }
    return PFD_OK;
}

#include "box_cpp.h"
