/* Watches descriptors of the program, which an op must not close, and what an op writes to 1 and
 * 2. */
#include "watch/interposed.h"
#include "watch/process_watch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- What an op writes to 1 and 2: during a run both lead to files --------------------------- */
static struct stream {
    FILE *file; /* NULL: not watched */
    int before; /* the real descriptor */
    struct stat about;
} streams[2];

static int64_t bytes_in(const struct stream *one)
{
    struct stat now;
    return one->file && !fstat(fileno(one->file), &now) ? now.st_size : 0;
}

static void make_empty(const struct stream *one)
{
    int fd = fileno(one->file);
    if (ftruncate(fd, 0) == 0) (void)lseek(fd, 0, SEEK_SET); /* dup2() shares the position */
}

static void lead_to_file(struct stream *one, int number)
{
    one->before = dup(number);
    one->file = one->before >= 0 ? tmpfile() : NULL;
    if (one->file && !fstat(fileno(one->file), &one->about) &&
        dup2(fileno(one->file), number) == number)
        return;
    if (one->file) (void)fclose(one->file);
    if (one->before >= 0) (void)close(one->before);
    *one = (struct stream){.before = -1};
}

static void output_begin(void)
{
    (void)fflush(stdout);
    for (int i = 0; i < 2; i++) lead_to_file(&streams[i], i + 1);
}

static void hand_on(const struct stream *one)
{
    char text[4096];
    ssize_t n;
    (void)lseek(fileno(one->file), 0, SEEK_SET);
    while ((n = read(fileno(one->file), text, sizeof text)) > 0)
        if (write(one->before, text, (size_t)n) != n) break;
    make_empty(one);
}

void pfd_kit_output_hand_on(void)
{
    for (int i = 0; i < 2; i++)
        if (bytes_in(&streams[i]) > 0) hand_on(&streams[i]);
}

static void output_end(void)
{
    (void)fflush(stdout);
    pfd_kit_output_hand_on();
    for (int i = 0; i < 2; i++) {
        if (!streams[i].file) continue;
        (void)dup2(streams[i].before, i + 1);
        (void)close(streams[i].before);
        (void)fclose(streams[i].file);
        streams[i] = (struct stream){.before = -1};
    }
}

/* Copies the first line of the output, without characters that a message cannot hold. */
static void first_line(const struct stream *one, char *out, size_t size)
{
    ssize_t n = pread(fileno(one->file), out, size - 1, 0);
    out[n > 0 ? n : 0] = '\0';
    out[strcspn(out, "\n")] = '\0';
    for (char *at = out; *at; at++)
        if ((unsigned char)*at < ' ' || (unsigned char)*at > '~') *at = '?';
}

static void report_text(const pfd_kit_call *call, const struct stream *one, int number)
{
    char line[120];
    first_line(one, line, sizeof line);
    make_empty(one);
    pfd_kit_report(call->run, "prints",
                   "%s wrote \"%s\" to %s: that is the program's, whose output may be data, and "
                   "seven threads would write at once; report a failure with host->fail() and the "
                   "others, and leave out anything else",
                   call->function, line, number == 1 ? "standard output" : "standard error");
}

static void output_check(const pfd_kit_call *call)
{
    (void)fflush(stdout);
    for (int i = 0; i < 2; i++) {
        struct stream *one = &streams[i];
        struct stat now;
        if (!one->file) continue;
        if (bytes_in(one) > 0) report_text(call, one, i + 1);
        if (!fstat(i + 1, &now) && now.st_dev == one->about.st_dev &&
            now.st_ino == one->about.st_ino)
            continue;
        (void)dup2(fileno(one->file), i + 1);
        pfd_kit_report(call->run, "closes-descriptor",
                       "%s closed or replaced descriptor %d (standard %s), which is the program's: "
                       "close only what the op has opened itself",
                       call->function, i + 1, i == 0 ? "output" : "error");
    }
}

/* ---- Descriptors that an op closes ----------------------------------------------------------- */
enum { most_kept = 64, first_copy = 400 };

/* The descriptors that were open before the run, and copies that can replace them. */
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
    output_begin();
}

void pfd_kit_descriptors_end(void)
{
    output_end();
    for (int i = 0; i < num_kept; i++) (void)close(kept[i].copy);
    num_kept = 0;
    pfd_interposition_close(&redirected);
}

void pfd_kit_descriptors_enter(void)
{
    int left = 0;
    pfd_kit_output_hand_on();
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
    output_check(call);
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
