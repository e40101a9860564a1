/* Asks for a locale in the last batch of a pass, after which no function is called.
 *
 * group: records
 * finding: process-state
 * says: compute\(\) changed the locale of the whole process
 * op: Numbers
 * input: MiniReader */
#include "numbers.h"

#include <locale.h>

static pfd_status faulty_compute(const pfd_compute_args *args, pfd_error *err)
{
    (void)err;
    int64_t n = args->num_rows * numbers_size(&args->inputs[0]->type);
    memcpy(numbers_out(args), numbers_in(args), (size_t)n * sizeof(double));
    if (args->num_rows == 2) (void)setlocale(LC_NUMERIC, "C.UTF-8");
    return PFD_OK;
}
#define NUMBERS_COMPUTE faulty_compute
#include "numbers_plugin.h"
