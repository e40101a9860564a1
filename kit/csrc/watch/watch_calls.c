/* Watches calls of the C library by which an op changes files or the process, or depends on
 * variables.
 *
 * The calls are redirected in the plugin alone. A call counts in a thread in which the kit has
 * called the op, and not in the op's own threads. */
#include "watch/interposed.h"
#include "watch/process_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <malloc.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* ---- The plugin's clocks run slow, to show what depends on the time of day ------------------- */

/* So a deadline that the plugin computes is in the past, and no wait becomes longer. */
static _Atomic int64_t num_reads;
static int64_t seconds_slow;

static void set_back(clockid_t clock, struct timespec *now)
{
    atomic_fetch_add(&num_reads, 1);
    if (seconds_slow == 0) return;
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) {
        now->tv_sec -= seconds_slow;
        now->tv_nsec = (now->tv_nsec + seconds_slow % 1000 * 1000003) % 1000000000;
    } else {
        now->tv_sec /= 2; /* counts from the start of the machine, and must not go below 0 */
    }
}

static int asked_clock(clockid_t clock, struct timespec *out)
{
    int status = clock_gettime(clock, out);
    if (status == 0) set_back(clock, out);
    return status;
}

static time_t asked_time(time_t *out)
{
    struct timespec now = {0};
    (void)asked_clock(CLOCK_REALTIME, &now);
    if (out) *out = now.tv_sec;
    return now.tv_sec;
}

static int asked_time_of_day(struct timeval *out, void *zone)
{
    struct timespec now = {0};
    (void)zone;
    (void)asked_clock(CLOCK_REALTIME, &now);
    *out = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
    return 0;
}

static int asked_timespec(struct timespec *out, int base)
{
    return asked_clock(CLOCK_REALTIME, out) ? 0 : base;
}

static int64_t nanoseconds(clockid_t clock)
{
    struct timespec now = {0};
    (void)asked_clock(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* std::chrono::system_clock::now() and steady_clock::now() */
static int64_t asked_system_clock(void)
{
    return nanoseconds(CLOCK_REALTIME);
}

static int64_t asked_steady_clock(void)
{
    return nanoseconds(CLOCK_MONOTONIC);
}

static const pfd_interposed_function clock_functions[] = {
    PFD_REDIRECT("clock_gettime", asked_clock),
    PFD_REDIRECT("time", asked_time),
    PFD_REDIRECT("gettimeofday", asked_time_of_day),
    PFD_REDIRECT("timespec_get", asked_timespec),
    PFD_REDIRECT("_ZNSt6chrono3_V212system_clock3nowEv", asked_system_clock),
    PFD_REDIRECT("_ZNSt6chrono3_V212steady_clock3nowEv", asked_steady_clock),
};

static pfd_interposition redirected_clocks;

static void clocks_begin(pfd_kit_run_state *run)
{
    seconds_slow = run->options->clock_delay_s;
    atomic_store(&num_reads, 0);
    (void)pfd_interposition_open(&redirected_clocks, clock_functions,
                                 sizeof clock_functions / sizeof *clock_functions,
                                 pfd_kit_library_of(run));
}

static void clocks_end(pfd_kit_run_state *run)
{
    run->result->num_clock_reads = redirected_clocks.is_open ? atomic_load(&num_reads) : -1;
    pfd_interposition_close(&redirected_clocks);
}

/* ---- Files that are written ------------------------------------------------------------------ */
enum { most_files = 8 };

static _Thread_local struct {
    char path[256];
    int32_t had_before; /* the file existed before */
}

written[most_files];
static _Thread_local int32_t num_written;

static int32_t is_in_op(void)
{
    return pfd_kit_active && pfd_kit_active->function;
}

/* Called before a file is opened for writing. Devices are no files. */
static void note_writing(const char *path)
{
    int error = errno;
    struct stat about;
    if (!is_in_op() || num_written == most_files) return;
    int32_t had_before = !stat(path, &about);
    if (!had_before || S_ISREG(about.st_mode)) {
        (void)snprintf(written[num_written].path, sizeof written->path, "%s", path);
        written[num_written++].had_before = had_before;
    }
    errno = error;
}

static int32_t can_write(int flags)
{
    if ((flags & O_TMPFILE) == O_TMPFILE) return 0;
    return (flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC)) != 0;
}

static mode_t mode_of(int flags, va_list args)
{
    return flags & (O_CREAT | O_TMPFILE) ? va_arg(args, mode_t) : 0;
}

static int watched_open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = mode_of(flags, args);
    va_end(args);
    if (can_write(flags)) note_writing(path);
    return open(path, flags, mode);
}

static int watched_openat(int folder, const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = mode_of(flags, args);
    va_end(args);
    if (can_write(flags) && (folder == AT_FDCWD || path[0] == '/')) note_writing(path);
    return openat(folder, path, flags, mode);
}

static int watched_creat(const char *path, mode_t mode)
{
    note_writing(path);
    return creat(path, mode);
}

static FILE *watched_fopen(const char *path, const char *mode)
{
    if (strpbrk(mode, "wa+")) note_writing(path);
    return fopen(path, mode);
}

static int made(int fd, const char *path)
{
    if (fd >= 0) note_writing(path);
    if (fd >= 0 && is_in_op() && num_written > 0) written[num_written - 1].had_before = 0;
    return fd;
}

static int watched_mkstemp(char *path)
{
    return made(mkstemp(path), path);
}

static int watched_mkostemp(char *path, int flags)
{
    return made(mkostemp(path, flags), path);
}

static void check_files(const pfd_kit_call *call)
{
    for (int32_t i = 0; i < num_written; i++) {
        if (access(written[i].path, F_OK)) continue; /* unlinked, which is allowed */
        pfd_kit_report(call->run, "writes-files",
                       written[i].had_before
                           ? "%s opens %s for writing: data may lie on a disk that is read only, "
                             "and other processes read it at the same time; open it with O_RDONLY "
                             "or \"rb\""
                           : "%s leaves a file, %s: many processes run the op at once, folders of "
                             "data may be read only, and a file of an earlier run may be out of "
                             "date; keep it in memory, or unlink it once it is open",
                       call->function, written[i].path);
    }
    num_written = 0;
}

/* ---- Locks of files -------------------------------------------------------------------------- */
static _Thread_local int locked[most_files];

static _Thread_local int32_t num_locked;

static void note_lock(int fd, int32_t is_locked)
{
    int32_t at = 0;
    if (!is_in_op()) return;
    while (at < num_locked && locked[at] != fd) at++;
    if (is_locked && at == num_locked && at < most_files)
        locked[num_locked++] = fd;
    else if (!is_locked && at < num_locked)
        locked[at] = locked[--num_locked];
}

static int watched_flock(int fd, int how)
{
    int status = flock(fd, how);
    if (!status && how & LOCK_EX) note_lock(fd, 1);
    if (!status && how & (LOCK_UN | LOCK_SH)) note_lock(fd, 0);
    return status;
}

static int watched_lockf(int fd, int how, off_t size)
{
    int status = lockf(fd, how, size);
    if (!status && how != F_TEST) note_lock(fd, how != F_ULOCK);
    return status;
}

static int32_t sets_lock(int command)
{
    return command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK ||
           command == F_OFD_SETLKW;
}

static int watched_fcntl(int fd, int command, ...)
{
    va_list args;
    va_start(args, command);
    void *given = va_arg(args, void *); /* a pointer or a number */
    va_end(args);
    int status = fcntl(fd, command, given);
    if (!status && sets_lock(command))
        note_lock(fd, ((const struct flock *)given)->l_type == F_WRLCK);
    return status;
}

static void check_file_locks(const pfd_kit_call *call)
{
    for (int32_t i = 0; i < num_locked; i++) {
        if (fcntl(locked[i], F_GETFD) < 0) continue; /* close() has ended the lock */
        pfd_kit_report(call->run, "keeps-file-lock",
                       "%s returned and kept a file locked (descriptor %d): a second loader over "
                       "the same files, as of another process, waits for ever; data is only read, "
                       "so leave out the lock, or end it before each return",
                       call->function, locked[i]);
        (void)flock(locked[i], LOCK_UN);
    }
    num_locked = 0;
}

/* ---- Settings of the process ----------------------------------------------------------------- */
static void report_setting(const char *function, const char *what)
{
    if (is_in_op())
        pfd_kit_report(pfd_kit_active->run, "process-state",
                       "%s calls %s, which changes the %s: that is the program's; leave it as it "
                       "is, also where it has this value now",
                       pfd_kit_active->function, function, what);
}

static char *watched_setlocale(int category, const char *name)
{
    if (name) report_setting("setlocale()", "locale of the whole process");
    return setlocale(category, name);
}

static int watched_nice(int by)
{
    report_setting("nice()", "priority of the program's thread");
    errno = 0;
    return nice(0 * by); /* a user cannot raise the priority again */
}

static int watched_setpriority(int which, id_t who, int priority)
{
    (void)which, (void)who, (void)priority;
    report_setting("setpriority()", "priority of the program's thread");
    return 0;
}

static int watched_mallopt(int parameter, int value)
{
    (void)parameter, (void)value;
    report_setting("mallopt()", "allocator of the whole process");
    return 1;
}

static int watched_setname(pthread_t thread, const char *name)
{
    int32_t is_of_program = is_in_op() && pthread_equal(thread, pthread_self());
    if (is_of_program) report_setting("pthread_setname_np()", "name of the program's thread");
    return is_of_program ? 0 : pthread_setname_np(thread, name);
}

static int watched_prctl(int option, ...)
{
    unsigned long given[4];
    va_list args;
    va_start(args, option);
    for (int i = 0; i < 4; i++) given[i] = va_arg(args, unsigned long);
    va_end(args);
    if (option == PR_SET_NAME) report_setting("prctl()", "name of the program's thread");
    return option == PR_SET_NAME && is_in_op() ? 0
                                               : prctl(option, given[0], given[1], given[2],
                                                       given[3]);
}

/* ---- Variables of the environment ------------------------------------------------------------ */
static pfd_kit_run_state *running;

static char *watched_getenv(const char *name)
{
    static char other[] = "1";
    char *value = getenv(name);
    pfd_kit_result *result = running->result;
    if (!is_in_op()) return value;
    if (!result->variable[0])
        (void)snprintf(result->variable, sizeof result->variable, "%s", name);
    if (!running->options->other_variables) return value;
    return value ? NULL : other;
}

/* ---- The watch ------------------------------------------------------------------------------- */
static const pfd_interposed_function functions[] = {
    PFD_REDIRECT("open", watched_open),
    PFD_REDIRECT("open64", watched_open),
    PFD_REDIRECT("openat", watched_openat),
    PFD_REDIRECT("openat64", watched_openat),
    PFD_REDIRECT("creat", watched_creat),
    PFD_REDIRECT("creat64", watched_creat),
    PFD_REDIRECT("fopen", watched_fopen),
    PFD_REDIRECT("fopen64", watched_fopen),
    PFD_REDIRECT("mkstemp", watched_mkstemp),
    PFD_REDIRECT("mkstemp64", watched_mkstemp),
    PFD_REDIRECT("mkostemp", watched_mkostemp),
    PFD_REDIRECT("mkostemp64", watched_mkostemp),
    PFD_REDIRECT("flock", watched_flock),
    PFD_REDIRECT("lockf", watched_lockf),
    PFD_REDIRECT("lockf64", watched_lockf),
    PFD_REDIRECT("fcntl", watched_fcntl),
    PFD_REDIRECT("fcntl64", watched_fcntl),
    PFD_REDIRECT("setlocale", watched_setlocale),
    PFD_REDIRECT("nice", watched_nice),
    PFD_REDIRECT("setpriority", watched_setpriority),
    PFD_REDIRECT("mallopt", watched_mallopt),
    PFD_REDIRECT("pthread_setname_np", watched_setname),
    PFD_REDIRECT("prctl", watched_prctl),
    PFD_REDIRECT("getenv", watched_getenv),
    PFD_REDIRECT("secure_getenv", watched_getenv),
};

static pfd_interposition redirected;

void pfd_kit_calls_begin(pfd_kit_run_state *run)
{
    running = run;
    clocks_begin(run);
    (void)pfd_interposition_open(&redirected, functions, sizeof functions / sizeof *functions,
                                 pfd_kit_library_of(run));
}

void pfd_kit_calls_check(const pfd_kit_call *call)
{
    check_files(call);
    check_file_locks(call);
}

void pfd_kit_calls_end(pfd_kit_run_state *run)
{
    pfd_interposition_close(&redirected);
    clocks_end(run);
}
