/* CPUs, memory, clock and forks of this process. */
#include "core/cpu.h"
#include "core/cgroup.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

/* CPUs in the affinity mask; 0 when the kernel does not say. */
static int64_t affinity_count(void)
{
    /* The kernel refuses a mask smaller than its own, whose size it does not tell. */
    for (int cpus = 1024; cpus <= 1 << 20; cpus *= 2) {
        cpu_set_t *set = CPU_ALLOC((size_t)cpus);
        if (!set) return 0;
        size_t bytes = CPU_ALLOC_SIZE((size_t)cpus);
        CPU_ZERO_S(bytes, set);
        int failed = sched_getaffinity(0, bytes, set);
        int reason = errno;
        int count = failed ? 0 : CPU_COUNT_S(bytes, set);
        CPU_FREE(set);
        if (!failed || reason != EINVAL) return count;
    }
    return 0;
}

/* Read once: they come from dozens of small files, and every reader asks when it opens. */
static int64_t cgroup_cpus, cgroup_memory;

static void read_cgroups(void)
{
    cgroup_cpus = pfd_cgroup_cpus("");
    cgroup_memory = pfd_cgroup_memory("");
}

static void know_cgroups(void)
{
    static pthread_once_t read = PTHREAD_ONCE_INIT;
    (void)pthread_once(&read, read_cgroups);
}

int32_t pfd_cpu_count(void)
{
    int64_t count = affinity_count();
    if (count < 1) count = sysconf(_SC_NPROCESSORS_ONLN);
    know_cgroups();
    if (cgroup_cpus < count) count = cgroup_cpus;
    return count < 1 ? 1 : (int32_t)count;
}

int64_t pfd_memory_limit(void)
{
    int64_t pages = sysconf(_SC_PHYS_PAGES);
    int64_t page_bytes = sysconf(_SC_PAGESIZE);
    int64_t bytes = pages > 0 && page_bytes > 0 ? pages * page_bytes : INT64_MAX;
    know_cgroups();
    return cgroup_memory < bytes ? cgroup_memory : bytes;
}

static int64_t ns_of(clockid_t clock)
{
    struct timespec now;
    (void)clock_gettime(clock, &now); /* cannot fail with the clocks below */
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t pfd_clock_ns(void)
{
    return ns_of(CLOCK_MONOTONIC);
}

int64_t pfd_unix_ns(void)
{
    return ns_of(CLOCK_REALTIME);
}

int64_t pfd_thread_cpu_ns(void)
{
    return ns_of(CLOCK_THREAD_CPUTIME_ID);
}

int64_t pfd_process_cpu_ns(void)
{
    return ns_of(CLOCK_PROCESS_CPUTIME_ID);
}

int64_t pfd_throttled_ns(void)
{
    know_cgroups();
    return cgroup_cpus == INT64_MAX ? 0 : pfd_cgroup_throttled_ns("");
}

static _Atomic int32_t fork_generation;

static void count_fork(void)
{
    atomic_fetch_add_explicit(&fork_generation, 1, memory_order_relaxed);
}

/* At load time, so that asking costs one load and no fork can come before. */
__attribute__((constructor)) static void watch_forks(void)
{
    (void)pthread_atfork(NULL, NULL, count_fork); /* can fail for lack of memory only */
}

int32_t pfd_fork_generation(void)
{
    return atomic_load_explicit(&fork_generation, memory_order_relaxed);
}
