/* core/cpu.h -- what this process may use of the machine.
 *
 * The limits of control groups are those of the first call in this process.
 * THREADS  Everything here may be called from any thread.
 */
#ifndef PFD_CORE_CPU_H
#define PFD_CORE_CPU_H
#include <stdint.h>

int32_t pfd_cpu_count(void);      /* >= 1: CPU affinity, cut by the cgroup's quota (v1 and v2) */
int64_t pfd_memory_limit(void);   /* bytes: physical memory, cut by the cgroup's limit */
int64_t pfd_clock_ns(void);       /* monotonic */
int64_t pfd_unix_ns(void);        /* since 1970, which may be set to another time */
int64_t pfd_thread_cpu_ns(void);  /* that the calling thread has used */
int64_t pfd_process_cpu_ns(void); /* that all threads of this process have used */
int64_t pfd_throttled_ns(void);   /* as pfd_cgroup_throttled_ns(); 0: there is no quota */

/* Counts forks of this process: an object keeps the value from its creation. */
int32_t pfd_fork_generation(void);
#endif
