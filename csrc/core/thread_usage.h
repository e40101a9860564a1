/* core/thread_usage.h -- what the kernel counted for a thread of this process, from /proc.
 *
 * THREADS  Any thread may ask about any other that runs.
 */
#ifndef PFD_CORE_THREAD_USAGE_H
#define PFD_CORE_THREAD_USAGE_H
#include <stdint.h>

typedef struct pfd_thread_usage {
    int64_t cpu_ns;       /* computed */
    int64_t runnable_ns;  /* could have computed, and waited for a processor */
    int64_t major_faults; /* pages of files that were waited for */
} pfd_thread_usage;

int32_t pfd_thread_system_id(void); /* of the calling thread */

/* Adds the numbers of a thread to *usage; those that the kernel does not tell stay as they are. */
void pfd_thread_usage_add(int32_t system_id, pfd_thread_usage *usage);
void pfd_thread_usage_add_times(int32_t system_id, pfd_thread_usage *usage); /* without faults */
#endif
