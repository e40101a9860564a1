/* Calls of the C library by which an op changes files or the process, or depends on variables.
 *
 * They are redirected in the plugin alone, and count where the op's function is called by the kit:
 * on a thread of the op's own they do not. */
#include "kit/watch/interposed.h"
#include "kit/watch/process_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Files that are written -------------------------------------------------------------------
 */
enum { most_files = 8 };
static _Thread_local struct {
    char path[256];
    int32_t had_before; /* the file was there */
} written[most_files];
static _Thread_local int32_t num_written;

static int32_t is_in_op(void)
{
    return pfd_kit_active && pfd_kit_active->function;
}

/* Before a call that opens a file for writing.  Devices are no files. */
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
        if (access(written[i].path, F_OK)) continue; /* unlinked, as a file of one's own may be */
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

/* ---- Locks of files ---------------------------------------------------------------------------
 */
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
    void *given = va_arg(args, void *); /* or a number */
    va_end(args);
    int status = fcntl(fd, command, given);
    if (!status && sets_lock(command))
        note_lock(fd, ((const struct flock *)given)->l_type == F_WRLCK);
    return status;
}

static void check_file_locks(const pfd_kit_call *call)
{
    for (int32_t i = 0; i < num_locked; i++) {
        if (fcntl(locked[i], F_GETFD) < 0) continue; /* close() has ended it */
        pfd_kit_report(call->run, "keeps-file-lock",
                       "%s returned and kept a file locked (descriptor %d): a second loader over "
                       "the same files, as of another process, waits for ever; data is only read, "
                       "so leave out the lock, or end it before each return",
                       call->function, locked[i]);
        (void)flock(locked[i], LOCK_UN);
    }
    num_locked = 0;
}

/* ---- Settings of the process ------------------------------------------------------------------
 */
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
    return nice(0 * by); /* for a user the priority cannot be put back */
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
    if (pthread_equal(thread, pthread_self()))
        report_setting("pthread_setname_np()", "name of the program's thread");
    return is_in_op() ? 0 : pthread_setname_np(thread, name);
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

/* ---- Variables of the environment -------------------------------------------------------------
 */
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

/* ---- The watch --------------------------------------------------------------------------------
 */
#define REDIRECTED(name, replacement) {name, (void (*)(void))(replacement)}
static const pfd_interposed_function functions[] = {
    REDIRECTED("open", watched_open),
    REDIRECTED("open64", watched_open),
    REDIRECTED("openat", watched_openat),
    REDIRECTED("openat64", watched_openat),
    REDIRECTED("creat", watched_creat),
    REDIRECTED("creat64", watched_creat),
    REDIRECTED("fopen", watched_fopen),
    REDIRECTED("fopen64", watched_fopen),
    REDIRECTED("mkstemp", watched_mkstemp),
    REDIRECTED("mkstemp64", watched_mkstemp),
    REDIRECTED("mkostemp", watched_mkostemp),
    REDIRECTED("mkostemp64", watched_mkostemp),
    REDIRECTED("flock", watched_flock),
    REDIRECTED("lockf", watched_lockf),
    REDIRECTED("lockf64", watched_lockf),
    REDIRECTED("fcntl", watched_fcntl),
    REDIRECTED("fcntl64", watched_fcntl),
    REDIRECTED("setlocale", watched_setlocale),
    REDIRECTED("nice", watched_nice),
    REDIRECTED("setpriority", watched_setpriority),
    REDIRECTED("mallopt", watched_mallopt),
    REDIRECTED("pthread_setname_np", watched_setname),
    REDIRECTED("prctl", watched_prctl),
    REDIRECTED("getenv", watched_getenv),
    REDIRECTED("secure_getenv", watched_getenv),
};
static pfd_interposition redirected;
static int32_t is_redirected;

void pfd_kit_calls_begin(pfd_kit_run_state *run)
{
    running = run;
    redirected = (pfd_interposition){.functions = functions,
                                     .num_functions = sizeof functions / sizeof *functions,
                                     .library = pfd_kit_library_of(run)};
    is_redirected = redirected.library && pfd_interposition_begin(&redirected);
}

void pfd_kit_calls_check(const pfd_kit_call *call)
{
    check_files(call);
    check_file_locks(call);
}

void pfd_kit_calls_end(void)
{
    if (is_redirected) pfd_interposition_end(&redirected);
    is_redirected = 0;
}
