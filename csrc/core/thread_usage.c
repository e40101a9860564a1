/* Reads /proc/self/task/<thread>/schedstat and stat. */
#include "core/thread_usage.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int32_t pfd_thread_system_id(void)
{
    return (int32_t)syscall(SYS_gettid);
}

/* A file of a thread as text, cut to what there is room for; "" where it cannot be read. */
static void read_text(int32_t system_id, const char *name, char *text, size_t room)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%" PRId32 "/%s", system_id, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, room - 1);
    text[n > 0 ? n : 0] = 0;
    if (fd >= 0) (void)close(fd);
}

/* The kernel's Documentation/scheduler/sched-stats.rst: time on a processor, time waiting for one,
 * in ns, and a count. */
void pfd_thread_usage_add_times(int32_t system_id, pfd_thread_usage *usage)
{
    char text[128];
    int64_t cpu_ns, runnable_ns;
    read_text(system_id, "schedstat", text, sizeof text);
    if (sscanf(text, "%" SCNd64 " %" SCNd64, &cpu_ns, &runnable_ns) != 2) return;
    usage->cpu_ns += cpu_ns;
    usage->runnable_ns += runnable_ns;
}

/* proc(5): after the name, which is in parentheses and may have any characters, majflt is the tenth
 * field. */
static void add_faults(int32_t system_id, pfd_thread_usage *usage)
{
    char text[512];
    int64_t faults;
    read_text(system_id, "stat", text, sizeof text);
    const char *after = strrchr(text, ')');
    if (after && sscanf(after, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %" SCNd64, &faults) == 1)
        usage->major_faults += faults;
}

void pfd_thread_usage_add(int32_t system_id, pfd_thread_usage *usage)
{
    pfd_thread_usage_add_times(system_id, usage);
    add_faults(system_id, usage);
}
