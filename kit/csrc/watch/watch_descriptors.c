/* Descriptors of the program, which an op must not close. */
#include "watch/interposed.h"
#include "watch/process_watch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { most_kept = 64, first_copy = 400 };

/* Those that were open before the run, and copies of them to put back. */
static struct kept {
    int number, copy;
    struct stat about;
} kept[most_kept];
static int num_kept;

static int32_t is_as_before(const struct kept *one)
{
    struct stat now;
    return !fstat(one->number, &now) && now.st_dev == one->about.st_dev &&
           now.st_ino == one->about.st_ino;
}

static void keep(int number)
{
    struct kept *one = &kept[num_kept];
    if (num_kept == most_kept || fstat(number, &one->about)) return;
    one->copy = fcntl(number, F_DUPFD_CLOEXEC, first_copy);
    one->number = number;
    if (one->copy >= 0) num_kept++;
}

static void keep_all(void)
{
    DIR *folder = opendir("/proc/self/fd");
    int numbers[most_kept], n = 0;
    if (!folder) return;
    for (const struct dirent *entry = readdir(folder); entry && n < most_kept;
         entry = readdir(folder)) {
        int number = (int)strtol(entry->d_name, NULL, 10);
        if (entry->d_name[0] != '.' && number != dirfd(folder)) numbers[n++] = number;
    }
    (void)closedir(folder);
    for (int i = 0; i < n; i++) keep(numbers[i]);
}

/* ---- close() of a number that is not open ---------------------------------------------------- */
static int watched_close(int number)
{
    int status = close(number), error = errno;
    const pfd_kit_call *call = pfd_kit_active;
    if (status && error == EBADF && number >= 0 && call && call->function)
        pfd_kit_report(call->run, "closes-descriptor",
                       "%s closed descriptor %d, which was not open: it was closed before, and in "
                       "a program another thread may have opened a file under the same number "
                       "since then; set the field to -1 after close()",
                       call->function, number);
    errno = error;
    return status;
}

static const pfd_interposed_function functions[] = {PFD_REDIRECT("close", watched_close)};
static pfd_interposition redirected;

void pfd_kit_descriptors_begin(pfd_kit_run_state *run)
{
    (void)pfd_interposition_open(&redirected, functions, 1, pfd_kit_library_of(run));
    keep_all();
}

void pfd_kit_descriptors_end(void)
{
    for (int i = 0; i < num_kept; i++) (void)close(kept[i].copy);
    num_kept = 0;
    pfd_interposition_close(&redirected);
}

void pfd_kit_descriptors_forget(void)
{
    int left = 0;
    for (int i = 0; i < num_kept; i++) {
        const struct kept one = kept[i];
        if (one.number == 1 || one.number == 2 || is_as_before(&one))
            kept[left++] = one;
        else
            (void)close(one.copy);
    }
    num_kept = left;
}

void pfd_kit_descriptors_check(const pfd_kit_call *call)
{
    for (int i = 0; i < num_kept; i++) {
        const struct kept *one = &kept[i];
        if (one->number == 1 || one->number == 2 || is_as_before(one)) continue;
        (void)dup2(one->copy, one->number);
        pfd_kit_report(call->run, "closes-descriptor",
                       "%s closed descriptor %d%s, which the program had open before: close only "
                       "what the op has opened itself, and begin with -1 where a field may stay "
                       "unset, since 0 is a descriptor too",
                       call->function, one->number, one->number == 0 ? " (standard input)" : "");
    }
}
