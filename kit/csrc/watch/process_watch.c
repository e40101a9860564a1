/* Watches the state of the whole process: an op that changes it changes the user's program. Reports
 * each change and undoes it, so that later checks run as in a program. */
#include "watch/process_watch.h"

#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

static int32_t is_full; /* also watch what costs some microseconds per call */

/* ---- The mode in which the processor computes: each thread has its own ----------------------- */
#if defined(__x86_64__)
/* The bits of the modes, without the flags, which every addition sets. */
static const uint32_t MXCSR_MODE = 0xffc0, X87_MODE = 0x0f3f;

static uint64_t arithmetic_now(void)
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
    __builtin_ia32_ldmxcsr((uint32_t)mode); /* it clears the flags: none may trap */
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

static uint64_t arithmetic_now(void)
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
static uint64_t arithmetic_now(void)
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

static void arithmetic_check(pfd_kit_call *call)
{
    uint64_t now = arithmetic_now();
    if (now == call->arithmetic) return;
    set(call->arithmetic);
    pfd_kit_report(call->run, "arithmetic-mode",
                   "%s changed %s, and left it so: all sums that this thread computes afterwards "
                   "change, those of other ops too; restore it before each return, also where the "
                   "call fails",
                   call->function, part_of(now ^ call->arithmetic));
}

/* ---- Handlers of signals, blocked signals, and timers that send signals ---------------------- */

/* The signals that programs use; a full watch looks at all signals. */
static const int usual[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGPIPE,
                            SIGCHLD, SIGALRM, SIGUSR1, SIGUSR2};

/* The kit and the host have handlers of these. */
static const int own[] = {SIGSEGV, SIGFPE, SIGILL, SIGABRT, SIGPROF, SIGBUS, SIGKILL, SIGSTOP};

enum {
    num_usual = sizeof usual / sizeof *usual,
    num_own = sizeof own / sizeof *own,
    num_signals = 64, /* one bit per signal at the beginning of a sigset_t */
};
static int watched[64];
static struct sigaction handlers_before[64];
static int num_watched;
static struct itimerval timer_before;
static int32_t watches_timers;

static int32_t is_one_of(const int *list, int n, int number)
{
    for (int i = 0; i < n; i++)
        if (list[i] == number) return 1;
    return 0;
}

static void watch(int number)
{
    if (sigaction(number, NULL, &handlers_before[num_watched])) return; /* reserved by libc */
    watched[num_watched++] = number;
}

static void signals_begin(void)
{
    num_watched = 0;
    for (int i = 0; i < num_usual; i++) watch(usual[i]);
    for (int number = 1; is_full && number < 64 && num_watched < 64; number++)
        if (!is_one_of(usual, num_usual, number) && !is_one_of(own, num_own, number)) watch(number);
    watches_timers = is_full && !getitimer(ITIMER_REAL, &timer_before);
}

static const char *name_of(int number, char *out, size_t size)
{
    static const struct {
        int number;
        const char *name;
    } names[] = {{SIGINT, "SIGINT"},   {SIGTERM, "SIGTERM"}, {SIGHUP, "SIGHUP"},
                 {SIGQUIT, "SIGQUIT"}, {SIGPIPE, "SIGPIPE"}, {SIGCHLD, "SIGCHLD"},
                 {SIGALRM, "SIGALRM"}, {SIGUSR1, "SIGUSR1"}, {SIGUSR2, "SIGUSR2"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].number == number) return names[i].name;
    (void)snprintf(out, size, "%d (%s)", number, strsignal(number));
    return out;
}

static void check_timer(const pfd_kit_call *call)
{
    struct itimerval now;
    int32_t was = timer_before.it_value.tv_sec || timer_before.it_value.tv_usec;
    if (getitimer(ITIMER_REAL, &now)) return;
    if (was || (now.it_value.tv_sec == 0 && now.it_value.tv_usec == 0)) return;
    (void)setitimer(ITIMER_REAL, &timer_before, NULL);
    pfd_kit_process_report(call, "timer (alarm() or setitimer()) that sends SIGALRM");
}

static void signals_check(const pfd_kit_call *call)
{
    char name[64];
    for (int i = 0; i < num_watched; i++) {
        struct sigaction now;
        if (sigaction(watched[i], NULL, &now)) continue;
        if (now.sa_handler == handlers_before[i].sa_handler) continue;
        (void)sigaction(watched[i], &handlers_before[i], NULL);
        pfd_kit_process_report(call, "handler of the signal %s",
                               name_of(watched[i], name, sizeof name));
    }
    if (watches_timers) check_timer(call);
}

static void mask_check(const pfd_kit_call *call)
{
    sigset_t now;
    char name[64];
    if (pthread_sigmask(SIG_SETMASK, NULL, &now)) return;
    if (memcmp(&now, &call->mask, num_signals / 8) == 0) return;
    for (int number = 1; number < num_signals; number++) {
        int is_blocked = sigismember(&now, number) == 1;
        if (is_blocked == (sigismember(&call->mask, number) == 1)) continue;
        (void)pthread_sigmask(SIG_SETMASK, &call->mask, NULL);
        pfd_kit_report(call->run, "process-state",
                       "%s left the signal %s %s in the thread that called it: restore the mask "
                       "before each return, also where the call fails",
                       call->function, name_of(number, name, sizeof name),
                       is_blocked ? "blocked" : "unblocked");
        return;
    }
}

/* ---- Variables of the environment ------------------------------------------------------------ */
extern char **environ;

/* The variables before: pointers into the environment, and copies of what they point to. */
static char **pointers;

static char **copies;
static size_t num_variables;
static int32_t is_watched;

static void environment_end(void)
{
    for (size_t i = 0; copies && i < num_variables; i++) free(copies[i]);
    free(pointers);
    free(copies);
    pointers = copies = NULL;
    num_variables = 0;
    is_watched = 0;
}

static void environment_begin(void)
{
    while (environ && environ[num_variables]) num_variables++;
    pointers = calloc(num_variables + 1, sizeof *pointers);
    copies = calloc(num_variables + 1, sizeof *copies);
    is_watched = pointers && copies;
    for (size_t i = 0; is_watched && i < num_variables; i++) {
        pointers[i] = environ[i];
        copies[i] = strdup(environ[i]);
        if (!copies[i]) is_watched = 0;
    }
    if (!is_watched) environment_end();
}

static int32_t is_as_before(void)
{
    for (size_t i = 0; i < num_variables; i++) {
        if (!environ || environ[i] != pointers[i]) return 0;
        if (is_full && strcmp(environ[i], copies[i]) != 0) return 0;
    }
    return !environ || !environ[num_variables];
}

/* Copies the name in "NAME=VALUE", for free(); *value points into the text. */
static char *split(const char *variable, char **value)
{
    char *name = strdup(variable);
    *value = name ? strchr(name, '=') : NULL;
    if (*value) *(*value)++ = '\0';
    return name;
}

static void check_former(const pfd_kit_call *call, const char *variable)
{
    char *value, *name = split(variable, &value);
    const char *now = value ? getenv(name) : NULL;
    if (value && (!now || strcmp(now, value) != 0)) {
        pfd_kit_process_report(call, "environment variable %s", name);
        (void)setenv(name, value, 1);
    }
    free(name);
}

/* Removes a variable that was added; returns 1 if it did, since there may be more. */
static int32_t remove_added(const pfd_kit_call *call)
{
    for (size_t i = 0; environ && environ[i]; i++) {
        char *value, *name = split(environ[i], &value);
        size_t k = 0, size = value ? strlen(name) + 1 : 0;
        while (k < num_variables && strncmp(copies[k], environ[i], size) != 0) k++;
        if (value && k == num_variables) {
            pfd_kit_process_report(call, "environment variable %s", name);
            int32_t is_gone = !unsetenv(name);
            free(name);
            return is_gone;
        }
        free(name);
    }
    return 0;
}

static void environment_check(const pfd_kit_call *call)
{
    if (!is_watched || is_as_before()) return;
    for (size_t i = 0; i < num_variables; i++) check_former(call, copies[i]);
    while (remove_added(call)) continue;
    environment_end();
    environment_begin(); /* the pointers have changed */
}

/* ---- The generators that the whole process shares: rand() and drand48() ---------------------- */
static char state[128], as_left[128]; /* the state of rand() in a run: a number drawn changes it */
static char *of_program;
static unsigned short seed_left[3];

static void random_begin(void)
{
    of_program = initstate(1, state, sizeof state);
    memcpy(as_left, state, sizeof state);
    if (is_full) memcpy(seed_left, seed48((unsigned short[3]){1, 2, 3}), sizeof seed_left);
}

static void random_end(void)
{
    if (of_program) (void)setstate(of_program);
    of_program = NULL;
    if (is_full) (void)seed48(seed_left);
}

static void report(const pfd_kit_call *call, const char *what)
{
    pfd_kit_report(call->run, "own-generator",
                   "%s used %s, whose state is one for the whole process: the program gets other "
                   "random numbers, and rows change with what ran before; use host->random_bits()",
                   call->function, what);
}

static void random_check(const pfd_kit_call *call)
{
    if (of_program && memcmp(state, as_left, sizeof state) != 0) {
        memcpy(as_left, state, sizeof state);
        report(call, "rand(), random(), srand() or srandom()");
    }
    if (!is_full) return;
    unsigned short expected[3] = {1, 2, 3}, *now = seed48(expected);
    if (memcmp(now, expected, sizeof expected) != 0)
        report(call, "drand48(), lrand48() or srand48()");
}

/* ---- Working directory, locale, umask, limits, processors ------------------------------------ */

/* glibc has its own type for these numbers. */
#ifdef __GLIBC__
typedef __rlimit_resource_t resource_number;
#else
typedef int resource_number;
#endif

static const struct {
    resource_number number;
    const char *name;
} resources[] = {{RLIMIT_AS, "RLIMIT_AS"},         {RLIMIT_CORE, "RLIMIT_CORE"},
                 {RLIMIT_CPU, "RLIMIT_CPU"},       {RLIMIT_DATA, "RLIMIT_DATA"},
                 {RLIMIT_FSIZE, "RLIMIT_FSIZE"},   {RLIMIT_MEMLOCK, "RLIMIT_MEMLOCK"},
                 {RLIMIT_NOFILE, "RLIMIT_NOFILE"}, {RLIMIT_STACK, "RLIMIT_STACK"}};

enum { num_resources = sizeof resources / sizeof *resources };

static struct settings {
    int directory; /* -1: it cannot be opened, and is not watched */
    struct stat about;
    char locale[512];
    mode_t mask;
    struct rlimit limits[num_resources];
    cpu_set_t processors; /* on which the thread may run */
} before = {.directory = -1};

/* Only a call that sets the umask returns it; the host's threads, which call frame(), take
 * turns. */
static mode_t mask_now(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    mode_t mask = umask(077);
    (void)umask(mask);
    pthread_mutex_unlock(&lock);
    return mask;
}

static void settings_end(void)
{
    if (before.directory >= 0) close(before.directory);
    before.directory = -1;
}

static void settings_begin(void)
{
    before = (struct settings){.directory = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC)};
    if (before.directory >= 0 && fstat(before.directory, &before.about)) settings_end();
    const char *locale = setlocale(LC_ALL, NULL);
    if (locale && strlen(locale) < sizeof before.locale)
        memcpy(before.locale, locale, strlen(locale) + 1);
    if (!is_full) return;
    before.mask = mask_now();
    for (int i = 0; i < num_resources; i++)
        (void)getrlimit(resources[i].number, &before.limits[i]);
    (void)sched_getaffinity(0, sizeof before.processors, &before.processors);
}

static void check_limits(const pfd_kit_call *call)
{
    for (int i = 0; i < num_resources; i++) {
        struct rlimit now;
        if (getrlimit(resources[i].number, &now)) continue;
        if (now.rlim_cur == before.limits[i].rlim_cur) continue;
        (void)setrlimit(resources[i].number, &before.limits[i]);
        pfd_kit_process_report(call, "limit %s", resources[i].name);
        before.limits[i].rlim_max = now.rlim_max; /* a lowered limit cannot be raised again */
    }
}

static void check_processors(const pfd_kit_call *call)
{
    cpu_set_t now;
    if (sched_getaffinity(0, sizeof now, &now) || CPU_EQUAL(&now, &before.processors)) return;
    (void)sched_setaffinity(0, sizeof before.processors, &before.processors);
    pfd_kit_report(call->run, "process-state",
                   "%s bound the thread that called it to other processors (sched_setaffinity()): "
                   "the program decides where its threads run; leave it as it is",
                   call->function);
}

static void check_directory(const pfd_kit_call *call)
{
    struct stat st;
    if (before.directory < 0) return;
    if (!stat(".", &st) && st.st_dev == before.about.st_dev && st.st_ino == before.about.st_ino)
        return;
    pfd_kit_process_report(call, "working directory");
    if (fchdir(before.directory)) settings_end();
}

static void settings_check(const pfd_kit_call *call)
{
    check_directory(call);
    const char *locale = setlocale(LC_ALL, NULL);
    if (before.locale[0] && locale && strcmp(locale, before.locale) != 0) {
        pfd_kit_process_report(call, "locale");
        (void)setlocale(LC_ALL, before.locale);
    }
    if (!is_full) return;
    mode_t mask = mask_now();
    if (mask != before.mask) {
        (void)umask(before.mask);
        pfd_kit_process_report(call, "umask (from %03o to %03o)", (unsigned)before.mask,
                               (unsigned)mask);
    }
    check_limits(call);
    check_processors(call);
}

/* Checks the locale of the thread. */
static void locale_check(const pfd_kit_call *call)
{
    if (uselocale((locale_t)0) == (locale_t)call->locale) return;
    (void)uselocale((locale_t)call->locale);
    pfd_kit_report(call->run, "process-state",
                   "%s left another locale in the thread that called it (uselocale()): restore it "
                   "before each return, also where the call fails",
                   call->function);
}

/* ---- All of them ----------------------------------------------------------------------------- */

/* A look takes longer than a call of frame(), of which there is one for each record.  It comes
 * after the first call of a function, after so many more, and before a call of another one. */
enum { calls_between_looks = 64 };
static const char *_Atomic last_function;
static _Atomic int32_t calls_since_look; /* the last calls, all of this function */

static void look(const pfd_kit_call *call)
{
    atomic_store(&calls_since_look, 0);
    signals_check(call);
    settings_check(call);
    environment_check(call);
    random_check(call);
}

static void look_at_others(const pfd_kit_call *call)
{
    const char *function = atomic_load(&last_function);
    if (atomic_load(&calls_since_look) > 0 && function != call->function)
        look(&(pfd_kit_call){.run = call->run, .function = function});
}

void pfd_kit_process_begin(pfd_kit_run_state *run)
{
    is_full = run->options->watch_state;
    last_function = NULL;
    calls_since_look = 0;
    signals_begin();
    settings_begin();
    environment_begin();
    random_begin();
    pfd_kit_locks_begin(run);
    if (!is_full) return;
    pfd_kit_calls_begin(run);
    pfd_kit_descriptors_begin(run);
}

void pfd_kit_process_end(pfd_kit_run_state *run)
{
    look_at_others(&(pfd_kit_call){.run = run});
    if (is_full) {
        pfd_kit_descriptors_end();
        pfd_kit_calls_end(run);
    }
    pfd_kit_locks_end();
    random_end();
    environment_end();
    settings_end();
    is_full = 0;
}

void pfd_kit_process_enter(pfd_kit_call *call)
{
    look_at_others(call);
    call->num_locks = pfd_kit_locks_held();
    call->locale = uselocale((locale_t)0);
    (void)pthread_sigmask(SIG_SETMASK, NULL, &call->mask);
    if (is_full) pfd_kit_descriptors_enter();
    call->arithmetic = arithmetic_now();
}

/* Undoes every change, so that later checks run as in a program. */
void pfd_kit_process_check(pfd_kit_call *call, pfd_status status)
{
    arithmetic_check(call); /* first, because the other checks compute too */
    pfd_kit_locks_check(call, status);
    mask_check(call);
    locale_check(call);
    if (call->run->options->num_threads > 1) return;
    look_at_others(call);
    int32_t is_again = atomic_exchange(&last_function, call->function) == call->function;
    if (is_again && !is_full && atomic_fetch_add(&calls_since_look, 1) + 1 < calls_between_looks)
        return;
    look(call);
    if (!is_full) return;
    pfd_kit_calls_check(call);
    pfd_kit_descriptors_check(call);
}
