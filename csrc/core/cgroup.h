/* core/cgroup.h -- what the control groups of this process allow it.
 *
 * `root` is put before every path: "" for the machine, a folder for a test.
 * ERRORS   A limit that cannot be read counts as absent.
 * THREADS  Everything here may be called from any thread.
 */
#ifndef PFD_CORE_CGROUP_H
#define PFD_CORE_CGROUP_H
#include <stdint.h>

/* CPUs' worth of time, rounded up; INT64_MAX: no limit. */
int64_t pfd_cgroup_cpus(const char *root);

/* Bytes; INT64_MAX: no limit. */
int64_t pfd_cgroup_memory(const char *root);

/* How long in its life a group was kept from running, with its quota of CPU time used up; the
 * longest of the groups. */
int64_t pfd_cgroup_throttled_ns(const char *root);
#endif
