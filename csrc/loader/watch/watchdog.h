/* loader/watch/watchdog.h -- says what a process hangs in when Python cannot say it.
 *
 * A thread of this library looks at the loaders whose stalls are watched.  It needs no lock of the
 * interpreter.  Python's own watch (insight/stalls.py) tells when it will next have that lock; if
 * it is late by the patience of a loader whose next() has not returned, the thread writes to stderr
 * what the loader's threads do and, by Python's faulthandler, where each thread of Python is.
 *
 * LOCKS   The watchdog's own is taken before the loader's.  It is not held while text is written.
 * FORKS   A child has no such thread; its first loader starts one.
 */
#ifndef PFD_LOADER_WATCH_WATCHDOG_H
#define PFD_LOADER_WATCH_WATCHDOG_H
#include "loader/watch/counters.h"

#include <pthread.h>

typedef struct pfd_watched pfd_watched;

/* What is watched of a loader; all of it stays until pfd_watchdog_remove(). */
typedef struct pfd_watched_loader {
    const pfd_plan *plan;
    pthread_mutex_t *lock; /* the loader's, for these: */
    const pfd_threads *threads;
    const pfd_steps *steps;
    const pfd_caller *caller; /* written by its thread at any time */
} pfd_watched_loader;

/* As pfd_loader_tell_thread(), with the lock of the loader held. */
void pfd_tell_thread(const pfd_plan *plan, const pfd_threads *threads, int32_t i,
                     const pfd_thread_now *now, const char *doing, const char *duration, char *out,
                     int64_t room);

/* patience_ns and doing are as in pfd_loader_watch(). */
pfd_status pfd_watchdog_add(const pfd_watched_loader *loader, int64_t patience_ns,
                            const char *const *doing, pfd_watched **out, pfd_error *err);
void pfd_watchdog_remove(pfd_watched *watched); /* and frees it; NULL is accepted */
#endif
