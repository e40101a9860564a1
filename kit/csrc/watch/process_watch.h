/* watch/process_watch.h -- what an op could change of the whole process: the parts that
 * process_watch.c calls.
 *
 * Each part has a begin and an end around a run, and a check after each call, which reports what
 * has changed and puts it back.  Those with _FULL in their comment cost some microseconds a call,
 * and are called only where the options say watch_state.
 *
 * THREADS  One run at a time.  What belongs to a thread is compared with what it was at the
 *          beginning of the call; the rest only in runs of one thread.
 */
#ifndef PFD_KIT_PROCESS_WATCH_H
#define PFD_KIT_PROCESS_WATCH_H
#include "watch/run_state.h"

/* watch_descriptors.c, _FULL: descriptors of others that are closed, and bytes written to 1 and 2,
 * which are kept from there; what others wrote is handed on. */
void pfd_kit_descriptors_begin(pfd_kit_run_state *run);
void pfd_kit_descriptors_enter(void); /* those that the program itself has closed since then */
void pfd_kit_descriptors_check(const pfd_kit_call *call);
void pfd_kit_descriptors_end(void);
void pfd_kit_output_hand_on(void);

/* locks.c: locks of the plugin that a call took and did not give back. */
void pfd_kit_locks_begin(pfd_kit_run_state *run);
int32_t pfd_kit_locks_held(void); /* by this thread */
void pfd_kit_locks_check(pfd_kit_call *call, pfd_status status);
void pfd_kit_locks_end(void);
int32_t pfd_kit_locks_wait(void); /* 1: this thread waits for one */

/* watch_calls.c, _FULL: what the plugin calls of the C library: files that it writes or keeps
 * locked, settings that it sets, also to what they are, and variables that it asks for.  Its clocks
 * go wrong by as much as the options say. */
void pfd_kit_calls_begin(pfd_kit_run_state *run);
void pfd_kit_calls_check(const pfd_kit_call *call);
void pfd_kit_calls_end(pfd_kit_run_state *run);

/* leftovers.c, _FULL: threads that are left after close(). */
typedef struct pfd_kit_threads {
    int32_t ids[64], num_ids;
} pfd_kit_threads;
pfd_kit_threads pfd_kit_threads_now(void);
void pfd_kit_threads_check(pfd_kit_run_state *run, const pfd_kit_threads *before);
#endif
