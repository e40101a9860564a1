/* What an op writes to descriptors 1 and 2, which are the program's.
 *
 * During a run both lead to files; what the op did not write there is handed on. */
#include "watch/process_watch.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct stream {
    FILE *file; /* NULL: not watched */
    int before; /* where the descriptor led to */
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
    if (ftruncate(fd, 0) == 0) (void)lseek(fd, 0, SEEK_SET); /* dup2() shares the place */
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

void pfd_kit_output_begin(void)
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

void pfd_kit_output_end(void)
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

/* The first line of it, without what a message cannot hold. */
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

void pfd_kit_output_check(const pfd_kit_call *call)
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
