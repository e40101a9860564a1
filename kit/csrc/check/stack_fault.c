/* Tells a fault that comes from the stack: more was written to it than there is room for, or it is
 * full. */
#include "check/run_state.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>

static uintptr_t stack_low, stack_high; /* of the thread that runs the kit */
static uintptr_t smashed;               /* the function that aborts where a stack was overwritten */

enum { near_bytes = 1 << 20, code_bytes = 64, words_searched = 2048 };

void pfd_kit_stack_begin(void)
{
    static pthread_t known; /* asking takes a while, and each run asks */
    pthread_attr_t attr;
    void *low = NULL;
    size_t size = 0;
    if (stack_high && pthread_equal(known, pthread_self())) return;
    known = pthread_self();
    void *function = dlsym(RTLD_DEFAULT, "__stack_chk_fail");
    memcpy(&smashed, &function, sizeof smashed);
    stack_low = stack_high = 0;
    if (pthread_getattr_np(pthread_self(), &attr)) return;
    (void)pthread_attr_getstack(&attr, &low, &size);
    (void)pthread_attr_destroy(&attr);
    stack_low = (uintptr_t)low;
    stack_high = stack_low + size;
}

typedef struct machine_state {
    uintptr_t pc, sp;
} machine_state;

static machine_state state_of(const void *context)
{
    const ucontext_t *machine = context;
#if defined(__x86_64__)
    return (machine_state){(uintptr_t)machine->uc_mcontext.gregs[REG_RIP],
                           (uintptr_t)machine->uc_mcontext.gregs[REG_RSP]};
#elif defined(__aarch64__)
    return (machine_state){machine->uc_mcontext.pc, machine->uc_mcontext.sp};
#else
    (void)machine;
    return (machine_state){0, 0};
#endif
}

/* Whether the instruction is a return, to an address that is none. */
static int32_t is_return(uintptr_t pc)
{
#if defined(__x86_64__)
    const uint8_t *code;
    memcpy(&code, &pc, sizeof code);
    return code[0] == 0xC3 || code[0] == 0xC2 || (code[0] == 0xF3 && code[1] == 0xC3);
#else
    (void)pc;
    return 0;
#endif
}

/* Whether abort() was called by the function that finds a stack overwritten.  The words belong to
 * others, which a sanitizer would not like. */
__attribute__((no_sanitize_address)) static int32_t was_smashed(uintptr_t sp)
{
    if (!smashed || sp < stack_low || sp >= stack_high) return 0;
    const uintptr_t *words;
    memcpy(&words, &sp, sizeof words);
    for (int i = 0; i < words_searched && (uintptr_t)(words + i + 1) <= stack_high; i++)
        if (words[i] > smashed && words[i] < smashed + code_bytes) return 1;
    return 0;
}

const char *pfd_kit_stack_fault(int signal, const void *address, int32_t by_kernel,
                                const void *context)
{
    machine_state now = state_of(context);
    uintptr_t at = (uintptr_t)address;
    if (!now.sp) return NULL;
    if (signal == SIGABRT)
        return was_smashed(now.sp) ? "wrote past the end of an array on the stack" : NULL;
    if (signal != SIGSEGV) return NULL;
    if (by_kernel)
        return is_return(now.pc) ? "wrote over the address on the stack to which it returns" : NULL;
    if (at == now.pc && at >= 65536)
        return "wrote over an address on the stack to which it returns, or called a wild one";
    if (stack_high && at >= stack_high && at - stack_high < near_bytes)
        return "wrote past the end of an array on the stack, up to the end of all of it";
    if (stack_low && at < stack_low + near_bytes && at + 64 * (uintptr_t)near_bytes > stack_low)
        return "needs more memory of the stack than there is";
    return NULL;
}
