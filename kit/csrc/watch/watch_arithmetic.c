/* How the processor computes, which each thread has for itself: an op that changes it changes the
 * results of all code that runs in the thread afterwards. */
#include "watch/process_watch.h"

#include <fenv.h>

#if defined(__x86_64__)
/* Without the flags of operations before, which every addition sets. */
static const uint32_t MXCSR_MODE = 0xffc0, X87_MODE = 0x0f3f;

uint64_t pfd_kit_arithmetic_now(void)
{
    uint32_t mxcsr = __builtin_ia32_stmxcsr();
    uint16_t x87;
    __asm__ volatile("fnstcw %0" : "=m"(x87));
    return (uint64_t)(x87 & X87_MODE) << 32 | (mxcsr & MXCSR_MODE);
}

static void set(uint64_t mode)
{
    uint16_t x87;
    __asm__ volatile("fnstcw %0" : "=m"(x87));
    x87 = (uint16_t)((x87 & ~X87_MODE) | (uint32_t)(mode >> 32));
    __asm__ volatile("fnclex\n\tfldcw %0" : : "m"(x87));
    __builtin_ia32_ldmxcsr((uint32_t)mode); /* which clears the flags: none may trap */
}

static const char *part_of(uint64_t changed)
{
    const uint64_t traps = UINT64_C(0x3f00001f80), small = 0x8040; /* FTZ and DAZ */
    return changed & small   ? "how the processor treats very small numbers (FTZ or DAZ), with "
                               "which they become 0"
           : changed & traps ? "the traps of floating-point exceptions (feenableexcept())"
                             : "the rounding mode (fesetround())";
}
#elif defined(__aarch64__)
static const uint64_t FPCR_MODE = 0x07c89f07;

uint64_t pfd_kit_arithmetic_now(void)
{
    uint64_t fpcr;
    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    return fpcr & FPCR_MODE;
}

static void set(uint64_t mode)
{
    __asm__ volatile("msr fpcr, %0" : : "r"(mode));
}

static const char *part_of(uint64_t changed)
{
    const uint64_t rounding = 0x00c00000, traps = 0x9f00;
    return changed & rounding ? "the rounding mode (fesetround())"
           : changed & traps  ? "the traps of floating-point exceptions (feenableexcept())"
                              : "how the processor treats very small numbers (FZ), with which they "
                                "become 0";
}
#else
uint64_t pfd_kit_arithmetic_now(void)
{
    return (uint64_t)fegetround();
}

static void set(uint64_t mode)
{
    (void)fesetround((int)mode);
}

static const char *part_of(uint64_t changed)
{
    (void)changed;
    return "the rounding mode (fesetround())";
}
#endif

void pfd_kit_arithmetic_check(pfd_kit_call *call)
{
    uint64_t now = pfd_kit_arithmetic_now();
    if (now == call->arithmetic) return;
    set(call->arithmetic);
    pfd_kit_report(call->run, "arithmetic-mode",
                   "%s changed %s, and left it so: all sums that this thread computes afterwards "
                   "come out otherwise, those of other ops too; put it back before each return, "
                   "also where the call fails",
                   call->function, part_of(now ^ call->arithmetic));
}
