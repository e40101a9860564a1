/* What this process may use of the machine: instructions, CPUs, memory, clocks; and its forks. */
#include "core/cpu.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- What an x86-64 processor has ------------------------------------------------------------ */

#if defined(__x86_64__)
#include <cpuid.h>

/* Bits of leaf 1, ecx. */
enum {
    pclmul = 1 << 1, fma = 1 << 12, sse42 = 1 << 20, popcnt = 1 << 23, osxsave = 1 << 27,
    avx = 1 << 28, f16c = 1 << 29
};

/* Bits of leaf 7: of ebx, and the last two of ecx. */
#define BMI (1u << 3)
#define AVX2 (1u << 5)
#define BMI2 (1u << 8)
#define AVX512F (1u << 16)
#define AVX512DQ (1u << 17)
#define AVX512CD (1u << 28)
#define AVX512BW (1u << 30)
#define AVX512VL (1u << 31)
#define AVX512VBMI (1u << 1)
#define AVX512VBMI2 (1u << 6)

/* Bits of XCR0: the registers that the system saves. */
enum { saves_ymm = 0x6, saves_zmm = 0xe6 };

static int32_t has(uint32_t found, uint32_t wanted)
{
    return (found & wanted) == wanted;
}

static uint32_t saved_registers(void)
{
    uint32_t low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

static int32_t ask(void)
{
    uint32_t eax, ebx, ecx, edx;
    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx)) return 0;
    uint32_t first = ecx;
    int32_t features = has(first, sse42 | pclmul) ? PFD_X86_CRC32C : 0;
    uint32_t saved = has(first, osxsave | avx) ? saved_registers() : 0;
    if (!has(saved, saves_ymm)) return features;
    if (has(first, f16c)) features |= PFD_X86_F16C;
    if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) return features;
    if (!has(first, fma | popcnt) || !has(ebx, AVX2 | BMI | BMI2)) return features;
    features |= PFD_X86_AVX2;
    if (has(saved, saves_zmm) && has(ebx, AVX512F | AVX512DQ | AVX512CD | AVX512BW | AVX512VL) &&
        has(ecx, AVX512VBMI | AVX512VBMI2))
        features |= PFD_X86_AVX512;
    return features;
}

/* Asks the processor once: a virtual machine takes many microseconds to answer. */
int32_t pfd_x86_features(void)
{
    static _Atomic int32_t known = -1; /* threads that race find the same */
    int32_t features = atomic_load_explicit(&known, memory_order_relaxed);
    if (features < 0) {
        features = ask();
        atomic_store_explicit(&known, features, memory_order_relaxed);
    }
    return features;
}
#else
int32_t pfd_x86_features(void)
{
    return 0;
}
#endif

/* ---- Which vector instructions to use -------------------------------------------------------- */

int32_t pfd_simd_of_cpu(void)
{
#if defined(__x86_64__)
    int32_t has = pfd_x86_features();
    return has & PFD_X86_AVX512 ? PFD_SIMD_AVX512
           : has & PFD_X86_AVX2 ? PFD_SIMD_AVX2
                                : PFD_SIMD_PLAIN;
#else
    return PFD_SIMD_MOST;
#endif
}

#if defined(__AARCH64EL__)
static const char *const names[] = {"plain", "neon"};
#else
static const char *const names[] = {"plain", "avx2", "avx512"};
#endif

static int32_t choose_level(void)
{
    const char *wanted = getenv("PYFLOWDATA_SIMD");
    int32_t best = pfd_simd_of_cpu();
    for (int32_t i = 0; wanted && i < best; i++)
        if (!strcmp(wanted, names[i])) return i;
    return best;
}

int32_t pfd_simd_level(void)
{
    static _Atomic int32_t chosen = -1; /* threads that race choose the same level */
    int32_t level = atomic_load_explicit(&chosen, memory_order_relaxed);
    if (level < 0) {
        level = choose_level();
        atomic_store_explicit(&chosen, level, memory_order_relaxed);
    }
    return level;
}

const char *pfd_simd_name(void)
{
    return names[pfd_simd_level()];
}

int32_t pfd_simd_is_plain(void)
{
    static _Atomic int32_t chosen = -1;
    int32_t plain = atomic_load_explicit(&chosen, memory_order_relaxed);
    if (plain < 0) {
        const char *wanted = getenv("PYFLOWDATA_SIMD");
        plain = wanted && !strcmp(wanted, "plain");
        atomic_store_explicit(&chosen, plain, memory_order_relaxed);
    }
    return plain;
}

/* ---- Limits of control groups ---------------------------------------------------------------- */

enum { MOST_CONTENT = 512 }; /* bytes of a file that holds a limit */

/* The limit in one group's folder; INT64_MAX: none. */
typedef int64_t (*read_limit_fn)(const char *folder);

/* Reads folder/name as a string; "" when it cannot be read. */
static void read_small_file(const char *folder, const char *name, char content[MOST_CONTENT])
{
    char path[PATH_MAX];
    content[0] = '\0';
    int size = snprintf(path, sizeof path, "%s/%s", folder, name);
    if (size < 0 || (size_t)size >= sizeof path) return;
    FILE *file = fopen(path, "re");
    if (!file) return;
    size_t got = fread(content, 1, MOST_CONTENT - 1, file);
    content[got] = '\0';
    fclose(file);
}

/* Text that is a positive number, or `otherwise`. */
static int64_t number_or(int64_t otherwise, const char *text)
{
    int64_t value;
    return sscanf(text, "%" SCNd64, &value) == 1 && value > 0 ? value : otherwise;
}

/* INT64_MAX for "max", for version 1's -1 and for text that is not a number. */
static int64_t number_or_none(const char *text)
{
    return number_or(INT64_MAX, text);
}

static int64_t whole_cpus(int64_t quota, int64_t period)
{
    if (quota == INT64_MAX || period == INT64_MAX) return INT64_MAX;
    return quota / period + (quota % period != 0);
}

static int64_t read_cpus(const char *folder)
{
    char content[MOST_CONTENT]; /* version 2: "max 100000" or "150000 100000" */
    read_small_file(folder, "cpu.max", content);
    const char *blank = strchr(content, ' ');
    if (blank) return whole_cpus(number_or_none(content), number_or_none(blank));

    char period[MOST_CONTENT];
    read_small_file(folder, "cpu.cfs_quota_us", content);
    read_small_file(folder, "cpu.cfs_period_us", period);
    return whole_cpus(number_or_none(content), number_or_none(period));
}

static int64_t read_memory(const char *folder)
{
    char content[MOST_CONTENT];
    read_small_file(folder, "memory.max", content);
    if (!content[0]) read_small_file(folder, "memory.limit_in_bytes", content);
    return number_or_none(content);
}

/* The throttled time as a limit: negative, so that the longest time is the smallest limit. */
static int64_t read_throttled(const char *folder)
{
    char content[MOST_CONTENT]; /* lines "name value"; version 2 counts microseconds */
    read_small_file(folder, "cpu.stat", content);
    const char *micro = strstr(content, "throttled_usec ");
    const char *nano = strstr(content, "throttled_time ");
    if (micro) return -1000 * number_or(0, strchr(micro, ' '));
    return nano ? -number_or(0, strchr(nano, ' ')) : 0;
}

/* The smallest limit of a group and its parents. Inside a container the group's path is often the
 * host's and does not exist; the mount's root, which is always read, is then the container's
 * group. */
static int64_t smallest_upwards(const char *root, const char *mount, const char *group,
                                read_limit_fn read_limit)
{
    char folder[PATH_MAX];
    int mount_size = snprintf(folder, sizeof folder, "%s%s", root, mount);
    if (mount_size < 0 || (size_t)mount_size >= sizeof folder) return INT64_MAX;
    size_t left = sizeof folder - (size_t)mount_size;
    int size = snprintf(folder + mount_size, left, "%s", group);
    if (size < 0 || (size_t)size >= left) folder[mount_size] = '\0';

    int64_t smallest = INT64_MAX;
    for (;;) {
        int64_t limit = read_limit(folder);
        if (limit < smallest) smallest = limit;
        char *slash = strrchr(folder + mount_size, '/');
        if (!slash) return smallest;
        *slash = '\0';
    }
}

/* Whether "cpu,cpuacct" names "cpu". */
static int names_controller(const char *list, const char *controller)
{
    size_t size = strlen(controller);
    for (const char *item = list; item; item = strchr(item, ',')) {
        item += *item == ',';
        if (!strncmp(item, controller, size) && (!item[size] || item[size] == ',')) return 1;
    }
    return 0;
}

/* /proc/self/cgroup has lines "id:controllers:/path"; version 2 is "0::/path". */
static int64_t smallest_limit(const char *root, const char *controller, read_limit_fn read_limit)
{
    char line[PATH_MAX + 256];
    char mount[64];
    int64_t smallest = INT64_MAX;
    (void)snprintf(line, sizeof line, "%s/proc/self/cgroup", root);
    FILE *file = fopen(line, "re");
    if (!file) return INT64_MAX;
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':');
        char *group = controllers ? strchr(++controllers, ':') : NULL;
        if (!group) continue;
        *group++ = '\0';
        int64_t limit = INT64_MAX;
        if (!controllers[0]) { /* version 2, alone or beside version 1 */
            limit = smallest_upwards(root, "/sys/fs/cgroup", group, read_limit);
            if (limit < smallest) smallest = limit;
            limit = smallest_upwards(root, "/sys/fs/cgroup/unified", group, read_limit);
        } else if (names_controller(controllers, controller)) {
            (void)snprintf(mount, sizeof mount, "/sys/fs/cgroup/%s", controller);
            limit = smallest_upwards(root, mount, group, read_limit);
        }
        if (limit < smallest) smallest = limit;
    }
    fclose(file);
    return smallest;
}

int64_t pfd_cgroup_cpus(const char *root)
{
    return smallest_limit(root, "cpu", read_cpus);
}

int64_t pfd_cgroup_memory(const char *root)
{
    return smallest_limit(root, "memory", read_memory);
}

int64_t pfd_cgroup_throttled_ns(const char *root)
{
    int64_t smallest = smallest_limit(root, "cpu", read_throttled);
    return smallest < 0 ? -smallest : 0;
}

/* ---- CPUs, memory, clocks, forks ------------------------------------------------------------- */

/* Counts the CPUs in the affinity mask; 0 when the kernel does not say. */
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

/* Read once: they come from dozens of small files, and every reader needs them when it opens. */
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

/* proc(5), /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal, in ticks. */
static int64_t busy_ticks(const char *line)
{
    int64_t t[8] = {0};
    (void)sscanf(line, "cpu%*d %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64
                 " %" SCNd64 " %" SCNd64, &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6], &t[7]);
    return t[0] + t[1] + t[2] + t[5] + t[6] + t[7];
}

/* Whether a processor is in the CPU affinity; of those above 1023, all are taken to be. */
static int32_t may_use(const cpu_set_t *set, int32_t cpu)
{
    return cpu >= CPU_SETSIZE || CPU_ISSET((size_t)cpu, set);
}

int64_t pfd_machine_cpu_ns(void)
{
    char line[512];
    int64_t ticks = 0;
    int32_t cpu;
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0) memset(&set, 0xff, sizeof set);
    FILE *file = fopen("/proc/stat", "re");
    if (!file) return 0;
    while (fgets(line, sizeof line, file) && strncmp(line, "cpu", 3) == 0)
        if (line[3] != ' ' && sscanf(line, "cpu%d", &cpu) == 1 && may_use(&set, cpu))
            ticks += busy_ticks(line); /* "cpu " has the sums of all processors */
    fclose(file);
    return ticks * (1000000000 / sysconf(_SC_CLK_TCK));
}

int64_t pfd_cpu_pressure_ns(void)
{
    char content[MOST_CONTENT]; /* "some avg10=0.00 avg60=0.00 avg300=0.00 total=123456" */
    read_small_file("/proc/pressure", "cpu", content);
    const char *total = strstr(content, "total=");
    return total ? 1000 * number_or(0, total + strlen("total=")) : 0;
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

int64_t pfd_coarse_unix_ms(void)
{
    return ns_of(CLOCK_REALTIME_COARSE) / 1000000;
}

int64_t pfd_thread_cpu_ns(void)
{
    return ns_of(CLOCK_THREAD_CPUTIME_ID);
}

int64_t pfd_process_cpu_ns(void)
{
    return ns_of(CLOCK_PROCESS_CPUTIME_ID);
}

struct timespec pfd_timespec_of(int64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / 1000000000),
                             .tv_nsec = (long)(ns % 1000000000)};
}

void pfd_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t monotonic;
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(cond, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
}

int32_t pfd_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t until_ns)
{
    const struct timespec until = pfd_timespec_of(until_ns);
    return pthread_cond_timedwait(cond, lock, &until) != ETIMEDOUT;
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

/* At load time, before any fork, so that pfd_fork_generation() is one load. */
__attribute__((constructor)) static void watch_forks(void)
{
    (void)pthread_atfork(NULL, NULL, count_fork); /* can fail for lack of memory only */
}

int32_t pfd_fork_generation(void)
{
    return atomic_load_explicit(&fork_generation, memory_order_relaxed);
}
