/* Makes sums of small numbers faster, for all code of the thread.
 *
 * group: state
 * finding: arithmetic-mode
 * says: compute\(\) changed how the processor treats very small numbers */
#include "box.h"

static void treat_small_numbers_as_zero(void)
{
#if defined(__x86_64__)
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);
#elif defined(__aarch64__)
    uint64_t fpcr;
    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    __asm__ volatile("msr fpcr, %0" : : "r"(fpcr | 1u << 24));
#endif
}

static pfd_status faulty_compute(const pfd_compute_args *args, pfd_error *err)
{
    treat_small_numbers_as_zero();
    return box_compute(args, err);
}
#define BOX_COMPUTE faulty_compute
#include "box_plugin.h"
