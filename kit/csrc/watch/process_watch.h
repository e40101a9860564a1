/* watch/process_watch.h -- the parts that process_watch.c calls: what an op could change in the
 * process.
 *
 * Each part has a begin and an end around a run, and a check after each call, which reports each
 * change and undoes it. The parts with _FULL in their comment cost some microseconds per call, and
 * run only where the options say watch_state.
 *
 * THREADS  One run at a time.  The state of a thread is compared with its state before the call;
 *          the state of the process, only in runs of one thread.
 */
#ifndef PFD_KIT_WATCH_PROCESS_WATCH_H
#define PFD_KIT_WATCH_PROCESS_WATCH_H
#include "watch/run_state.h"

/* watch_descriptors.c, _FULL: finds descriptors that the op closes though the program opened them,
 * and bytes that the op writes to 1 and 2. It withholds these, and hands on what the program
 * wrote. */
void pfd_kit_descriptors_begin(pfd_kit_run_state *run);
void pfd_kit_descriptors_enter(void); /* notes those that the program itself has closed */
void pfd_kit_descriptors_check(const pfd_kit_call *call);
void pfd_kit_descriptors_end(void);
void pfd_kit_output_hand_on(void);

/* locks.c: finds locks of the plugin that a call took and did not release. */
void pfd_kit_locks_begin(pfd_kit_run_state *run);
int32_t pfd_kit_locks_held(void); /* number of this thread's locks */
void pfd_kit_locks_check(pfd_kit_call *call, pfd_status status);
void pfd_kit_locks_end(void);
int32_t pfd_kit_locks_wait(void); /* 1: this thread waits for a lock */

/* watch_calls.c, _FULL: watches the plugin's calls of the C library: files that it writes or keeps
 * locked, settings that it sets, even to the same value, and variables that it asks for. The
 * plugin's clocks run wrong by as much as the options say. */
void pfd_kit_calls_begin(pfd_kit_run_state *run);
void pfd_kit_calls_check(const pfd_kit_call *call);
void pfd_kit_calls_end(pfd_kit_run_state *run);

/* leftovers.c, _FULL: finds threads that are left after close(). */
typedef struct pfd_kit_threads {
    int32_t ids[64], num_ids;
} pfd_kit_threads;
pfd_kit_threads pfd_kit_threads_now(void);
void pfd_kit_threads_check(pfd_kit_run_state *run, const pfd_kit_threads *before);
#endif
