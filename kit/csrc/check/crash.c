/* Writes to a descriptor where an op crashed or did not end, and then lets the signal end the
 * process. */
#include "check/guard.h"
#include "check/calls.h"
#include "watch/process_watch.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

/* ---- Faults of the stack: it is full, or a write went past the end of an array on it --------- */
static uintptr_t stack_low, stack_high; /* the stack of the kit's thread */

static uintptr_t smashed; /* the function that aborts where a stack was overwritten */
enum { near_bytes = 1 << 20, code_bytes = 64, words_searched = 2048 };

static void stack_begin(void)
{
    static pthread_t known; /* whose stack is known: each run asks, and the answer takes a while */
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

/* Whether the instruction is a return to an invalid address. */
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

/* Whether abort() was called by the function that finds a stack overwritten.  The sanitizer is off
 * because the words belong to other functions. */
__attribute__((no_sanitize_address)) static int32_t was_smashed(uintptr_t sp)
{
    if (!smashed || sp < stack_low || sp >= stack_high) return 0;
    const uintptr_t *words;
    memcpy(&words, &sp, sizeof words);
    for (int i = 0; i < words_searched && (uintptr_t)(words + i + 1) <= stack_high; i++)
        if (words[i] > smashed && words[i] < smashed + code_bytes) return 1;
    return 0;
}

/* How a fault was caused by the stack, in words; NULL: it was not. The signal handler reads no
 * memory of a stack that has such a fault. */
static const char *stack_fault(int signal, const void *address, int32_t by_kernel,
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
        return "wrote past the end of an array on the stack, up to the end of the stack";
    if (stack_low && at < stack_low + near_bytes && at + 64 * (uintptr_t)near_bytes > stack_low)
        return "needs more memory of the stack than there is";
    return NULL;
}

/* ---- The report ------------------------------------------------------------------------------ */

/* Without SIGBUS, which files/sigbus_guard.c handles for files that shrink. */
static const int signals[] = {SIGSEGV, SIGFPE, SIGILL, SIGABRT, SIGPROF};

enum { num_signals = sizeof signals / sizeof *signals };
static struct sigaction before[num_signals];
static const pfd_kit_options *current;

static uint8_t own_stack[65536]; /* after a deep recursion the usual stack is full */
static int64_t work_before;
static stack_t stack_before;

/* 1: write, 0: read, -1: not known. */
static int32_t is_write(const void *context)
{
#if defined(__x86_64__) && defined(REG_ERR)
    const ucontext_t *machine = context;
    return (machine->uc_mcontext.gregs[REG_ERR] & 2) != 0;
#else
    (void)context;
    return -1;
#endif
}

/* An address below this is NULL plus the offset of a field. */
static const uintptr_t NULL_PAGE = 4096;

static void tell(const char *id, const char *what, const char *remedy)
{
    const pfd_kit_call *call = pfd_kit_active;
    const char *doing = current->doing && current->doing[0] ? current->doing : NULL;
    const char *function = call && call->function ? call->function : "the op";
    if (!call && pfd_kit_last_function) function = pfd_kit_last_function;
    const char *types = call ? call->type_words : NULL;
    char line[1200];
    int size = snprintf(line, sizeof line, "%s\t%s %s%s%s%s%s%s: %s\n", id, function, what,
                        doing ? ", with " : "", doing ? doing : "", types ? " (" : "",
                        types ? types : "", types ? ")" : "", remedy);
    if (size >= (int)sizeof line) size = sizeof line - 1;
    ssize_t written = write(current->report_fd, line, (size_t)size);
    (void)written;
}

static const char *const kinds[] = {
    [PFD_GUARD_RECORD] = "record",       [PFD_GUARD_READ] = "read",
    [PFD_GUARD_ALLOC] = "alloc",         [PFD_GUARD_OUTPUT] = "output",
    [PFD_GUARD_INPUT] = "input",         [PFD_GUARD_ORDINALS] = "ordinals",
    [PFD_GUARD_FOUND] = "found-records", [PFD_GUARD_HEAD] = "head",
    [PFD_GUARD_ATTRS] = "attrs",         [PFD_GUARD_RECORDS] = "records",
    [PFD_GUARD_TENSORS] = "tensors",
};

static const char *const remedies[] = {
    [PFD_GUARD_RECORD] =
        "a record has record.size bytes and may end right before a forbidden page; "
        "compare with record.size before each read, and treat the bytes as const",
    [PFD_GUARD_READ] = "what host->read() gives has the bytes that were asked for, not one more; "
                       "ask for all that is read, and treat the bytes as const",
    [PFD_GUARD_ALLOC] = "host->alloc() gives the bytes that were asked for; ask for more, or stop "
                        "before the end",
    [PFD_GUARD_OUTPUT] = "rows of an output are row_bytes apart, and there are num_rows of them; "
                         "write each row within its own bytes",
    [PFD_GUARD_INPUT] =
        "rows of an input are row_bytes apart, there are num_rows of them, and they "
        "are const",
    [PFD_GUARD_ORDINALS] = "there are n ordinals",
    [PFD_GUARD_FOUND] = "there is room for n records; do not write out[n] or after",
    [PFD_GUARD_HEAD] = "probe() and resync() have the bytes from data to data + size, which may be "
                       "none at all; compare with size before each read",
    [PFD_GUARD_ATTRS] = "args->attrs is one struct for all threads, for as long as the node lives: "
                        "keep what is computed from it in local variables, or in the source",
    [PFD_GUARD_RECORDS] = "args->records has num_rows records, and is const",
    [PFD_GUARD_TENSORS] = "args->inputs has num_inputs tensors, and they are const",
};

/* "record 4", "the attrs". */
static void region_words(const pfd_guarded *region, const uint8_t *address, char out[120])
{
    const pfd_kit_call *call = pfd_kit_active;
    int64_t at = address - region->data;
    if (region->kind == PFD_GUARD_ATTRS) {
        const pfd_op *op = call ? call->run->node->op->op : NULL;
        snprintf(out, 120, "the attrs");
        for (uint32_t i = 0; op && call->run->attrs == region->data && i < op->num_attrs; i++)
            if (at >= op->attrs[i].offset && at < op->attrs[i].offset + op->attrs[i].size)
                snprintf(out, 120, "the attr '%.60s'", op->attrs[i].name);
    } else if (region->kind == PFD_GUARD_RECORDS) {
        snprintf(out, 120, "args->records (row %" PRId64 ")", at / (int64_t)sizeof(pfd_record));
    } else if (region->kind == PFD_GUARD_TENSORS) {
        snprintf(out, 120, "args->inputs (input %" PRId64 ")", at / (int64_t)sizeof(pfd_tensor));
    } else {
        snprintf(out, 120, "%s %" PRId64, kinds[region->kind], region->index);
    }
}

static void tell_region(const pfd_guarded *region, const uint8_t *address, int32_t write)
{
    char id[48], what[300], words[120];
    region_words(region, address, words);
    int64_t past = address - (region->data + region->bytes), ahead = region->data - address;
    const char *kind = kinds[region->kind], *verb = write == 1 ? "writes" : "reads";
    const char *did = write == 1 ? "wrote" : write == 0 ? "read" : "touched";
    if (region->released) {
        snprintf(id, sizeof id, "late-%s", kind);
        snprintf(what, sizeof what, "%s memory (%s) that was no longer its own", did, words);
        tell(id, what,
             "memory of a scratch, and bytes read with it, end with the call that the scratch was "
             "given to; copy what is kept into memory of the source, or read it again");
        return;
    }
    if (past >= 0)
        snprintf(what, sizeof what,
                 "%s byte %" PRId64 " past the end of the %" PRId64 " bytes of %s", did, past + 1,
                 region->bytes, words);
    else if (ahead > 0)
        snprintf(what, sizeof what,
                 "%s %" PRId64 " bytes before the beginning of the %" PRId64 " bytes of %s", did,
                 ahead, region->bytes, words);
    else
        snprintf(what, sizeof what, "wrote into the bytes of %s, which are const", words);
    if (past < 0 && ahead <= 0)
        snprintf(id, sizeof id, "writes-into-%s", kind);
    else
        snprintf(id, sizeof id, "%s-%s-%s", verb, past >= 0 ? "past" : "before", kind);
    tell(id, what, remedies[region->kind]);
}

static void tell_returned(const pfd_kit_call *call)
{
    char what[200];
    snprintf(what, sizeof what, "returned %s %" PRId64 " whose bytes cannot be read", call->reading,
             call->reading_index);
    tell("returns-wild-pointer", what,
         "data and size must lie within the file's bytes or the scratch's memory: check offsets "
         "and sizes from the file before using them");
}

static void tell_null(const pfd_kit_call *call)
{
    const pfd_kit_run_state *run = call ? call->run : NULL;
    if (run && run->injected && current->fail_alloc)
        tell("alloc-failure-ignored", "used the NULL that host->alloc() returned",
             "host->alloc() gives NULL when memory is short; look for it, and return "
             "host->fail(err, PFD_OUT_OF_MEMORY, ...)");
    else if (run && run->injected && current->fail_read)
        tell("read-failure-ignored", "went on after host->read() had failed",
             "return the status of host->read() when it is not PFD_OK");
    else if (call && call->type_words && call->computing)
        tell("null-pointer", "used a NULL pointer",
             "`rows` of an input is NULL where it is dense, and `data` where it is ragged: look at "
             "is_ragged, or let infer() refuse what compute() does not read; the data of an empty "
             "row may be NULL as well");
    else
        tell("null-pointer", "used a NULL pointer",
             "look where a pointer may stay NULL: a function of the host that failed, a field that "
             "was not set, or an element after the end of an array of the source");
}

static void tell_fault(int signal, const siginfo_t *info, const void *context)
{
    const char *stack = stack_fault(signal, info->si_addr, info->si_code == SI_KERNEL,
                                    context);
    if (stack) {
        pfd_kit_active = NULL; /* it lies on the stack, and may be overwritten */
        tell("stack-overrun", stack,
             "a row or a record can be of any size: compare with the size of the array before "
             "copying to it, or take memory from host->alloc()");
        return;
    }
    const pfd_kit_call *call = pfd_kit_active;
    const uint8_t *address = info->si_addr;
    const pfd_guarded *region = signal == SIGSEGV ? pfd_guard_find(address) : NULL;
    char what[200];
    if (call && call->reading) {
        tell_returned(call);
    } else if (region) {
        tell_region(region, address, is_write(context));
    } else if (signal == SIGSEGV && info->si_code == SI_KERNEL) {
        tell("crash", "made an access that the processor refuses (SIGSEGV)",
             "a wild pointer, or an aligned vector access to bytes of a record: these have no "
             "alignment, use memcpy()");
    } else if (signal == SIGSEGV && (uintptr_t)address < NULL_PAGE) {
        tell_null(call);
    } else if (call && call->run->injected) {
        snprintf(what, sizeof what, "crashed (%s) after %s had failed", strsignal(signal),
                 current->fail_alloc ? "host->alloc()" : "host->read()");
        tell(current->fail_alloc ? "alloc-failure-ignored" : "read-failure-ignored", what,
             "look at what the host's function returned before using what it gave");
    } else {
        snprintf(what, sizeof what, signal == SIGSEGV ? "used a wild pointer (%s)" : "crashed (%s)",
                 strsignal(signal));
        tell("crash", what,
             signal == SIGABRT  ? "an op must not abort: return host->fail() instead"
             : signal == SIGFPE ? "a division by zero: check numbers from the file first"
                                : "check sizes and offsets from the file, and indexes of arrays of "
                                  "the source, before using them");
    }
}

/* Processor time of all threads. */
static int64_t work_ms(void)
{
    struct timespec used = {0};
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (int64_t)used.tv_sec * 1000 + used.tv_nsec / 1000000;
}

static void tell_time(void)
{
    char what[100];
    int64_t worked = work_ms() - work_before;
    if (worked < current->limit_ms / 2) {
        snprintf(what, sizeof what, "did not end in time (it waits, after %" PRId64 " ms of work)",
                 worked);
        tell("waits", what,
             pfd_kit_locks_wait()
                 ? "for a lock that another call keeps: unlock it before each return, also where "
                   "the call fails, and take locks in one order"
                 : "look for a lock that is not released where a call fails, for a condition that "
                   "nobody signals, and for a read from a pipe or a terminal");
        return;
    }
    snprintf(what, sizeof what, "did not end in time (%d ms of work)", current->limit_ms);
    tell("hang", what,
         "look for a loop that does not advance if a length is 0, or comes from a damaged "
         "file");
}

static void on_signal(int signal, siginfo_t *info, void *context)
{
    pfd_kit_output_hand_on(); /* the words of the C library about the crash */
    if (signal == SIGPROF) {
        tell_time();
    } else {
        tell_fault(signal, info, context);
    }
    for (int i = 0; i < num_signals; i++) {
        if (signals[i] != signal) continue;
        (void)sigaction(signal, &before[i], NULL);
        if (signal == SIGPROF) (void)raise(signal); /* unlike a fault, it does not recur */
    }
}

/* Counts processor time, because a busy machine is not a fault of the op.  The parent process
 * ends an op that waits. */
static void set_timer(int32_t limit_ms)
{
    struct itimerval limit = {.it_value = {limit_ms / 1000, limit_ms % 1000 * 1000}};
    (void)setitimer(ITIMER_PROF, &limit, NULL);
}

void pfd_kit_crash_begin(const pfd_kit_options *options)
{
    current = options;
    work_before = work_ms();
    if (options->report_fd < 0) return;
    stack_begin();
    stack_t stack = {.ss_sp = own_stack, .ss_size = sizeof own_stack};
    (void)sigaltstack(&stack, &stack_before);
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    (void)sigemptyset(&action.sa_mask);
    for (int i = 0; i < num_signals; i++) (void)sigaction(signals[i], &action, &before[i]);
    if (options->limit_ms > 0) set_timer(options->limit_ms);
}

void pfd_kit_crash_end(void)
{
    if (current->report_fd < 0) return;
    if (current->limit_ms > 0) set_timer(0);
    for (int i = 0; i < num_signals; i++) (void)sigaction(signals[i], &before[i], NULL);
    (void)sigaltstack(&stack_before, NULL);
    current = NULL;
}
