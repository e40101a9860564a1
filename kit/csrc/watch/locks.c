/* Watches the locks that the plugin takes. A lock that a call keeps is reported and released, since
 * the next call would wait for ever.
 *
 * The plugin's calls of the lock functions are redirected; each thread counts its locks. */
#include "watch/interposed.h"
#include "watch/process_watch.h"
#include "watch/symbols.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { most_held = 32 };
enum { MUTEX, READ_WRITE, SPIN };

typedef struct held_lock {
    void *lock;
    int32_t kind;
    int32_t extra; /* how often the thread would have waited for itself */
    const void *caller;
} held_lock;

static _Thread_local held_lock held[most_held];
static _Thread_local int32_t num_held, is_waiting;

static void add(void *lock, int32_t kind, const void *caller)
{
    if (num_held < most_held)
        held[num_held++] = (held_lock){.lock = lock, .kind = kind, .caller = caller};
}

static held_lock *find(const void *lock)
{
    for (int32_t i = num_held; i-- > 0;)
        if (held[i].lock == lock) return &held[i];
    return NULL;
}

/* Returns 1 where the lock is to stay as it is. */
static int32_t take_away(const void *lock)
{
    held_lock *entry = find(lock);
    if (!entry) return 0;
    if (entry->extra > 0) {
        entry->extra--;
        return 1;
    }
    memmove(entry, entry + 1, (size_t)(&held[num_held] - entry - 1) * sizeof *entry);
    num_held--;
    return 0;
}

/* "the mutex 'cache_lock'" */
static void describe(const held_lock *entry, char *out, size_t size)
{
    static const char *const kinds[] = {"mutex", "read-write lock", "spin lock"};
    Dl_info found;
    char name[128];
    pfd_symbol_at(entry->lock, 0, name, sizeof name);
    int32_t is_static = dladdr(entry->lock, &found) != 0;
    (void)snprintf(out, size, "the %s%s", kinds[entry->kind],
                   name[0] ? name : is_static ? "" : " of the source or of other memory");
}

static void report_second(const held_lock *entry)
{
    char what[200], function[128];
    if (!pfd_kit_active || !pfd_kit_active->function) return;
    describe(entry, what, sizeof what);
    pfd_symbol_at(entry->caller, 1, function, sizeof function);
    pfd_kit_report(pfd_kit_active->run, "locks-twice",
                   "%s locks %s, which it has locked before%s%s: it waits for itself, for ever; "
                   "unlock it first, also on the paths of failures",
                   pfd_kit_active->function, what, function[0] ? " in" : "", function);
}

/* ---- What the plugin calls ------------------------------------------------------------------- */
static int lock_mutex(pthread_mutex_t *lock, const void *caller)
{
    const struct timespec past = {0};
    held_lock *entry = find(lock);
    int status = pthread_mutex_trylock(lock);
    if (status == EBUSY && entry && entry->kind == MUTEX) {
        status = pthread_mutex_timedlock(lock, &past); /* returns what a lock with checks returns */
        if (status != ETIMEDOUT) return status;
        entry->extra++;
        report_second(entry);
        return 0;
    }
    if (status == EBUSY) {
        is_waiting = 1;
        status = pthread_mutex_lock(lock);
        is_waiting = 0;
    }
    if (status == 0) add(lock, MUTEX, caller);
    return status;
}

static int mutex_lock(pthread_mutex_t *lock)
{
    return lock_mutex(lock, __builtin_return_address(0));
}

static int noted(int status, void *lock, int32_t kind, const void *caller)
{
    if (status == 0) add(lock, kind, caller);
    return status;
}

static int mutex_trylock(pthread_mutex_t *lock)
{
    return noted(pthread_mutex_trylock(lock), lock, MUTEX, __builtin_return_address(0));
}

static int mutex_timedlock(pthread_mutex_t *lock, const struct timespec *until)
{
    return noted(pthread_mutex_timedlock(lock, until), lock, MUTEX, __builtin_return_address(0));
}

static int mutex_unlock(pthread_mutex_t *lock)
{
    return take_away(lock) ? 0 : pthread_mutex_unlock(lock);
}

/* mtx_t is pthread_mutex_t in the C libraries of Linux; 0, 1 and 2 are success, busy and error. */
static int c_lock(void *lock)
{
    return lock_mutex(lock, __builtin_return_address(0)) ? 2 : 0;
}

static int c_trylock(void *lock)
{
    int status = noted(pthread_mutex_trylock(lock), lock, MUTEX, __builtin_return_address(0));
    return status == EBUSY ? 1 : status ? 2 : 0;
}

static int c_unlock(void *lock)
{
    return mutex_unlock(lock) ? 2 : 0;
}

static int waited_for(int (*lock)(pthread_rwlock_t *), pthread_rwlock_t *of, const void *caller)
{
    is_waiting = 1;
    int status = noted(lock(of), of, READ_WRITE, caller);
    is_waiting = 0;
    return status;
}

static int rwlock_rdlock(pthread_rwlock_t *lock)
{
    return waited_for(pthread_rwlock_rdlock, lock, __builtin_return_address(0));
}

static int rwlock_wrlock(pthread_rwlock_t *lock)
{
    return waited_for(pthread_rwlock_wrlock, lock, __builtin_return_address(0));
}

static int rwlock_tryrdlock(pthread_rwlock_t *lock)
{
    return noted(pthread_rwlock_tryrdlock(lock), lock, READ_WRITE, __builtin_return_address(0));
}

static int rwlock_trywrlock(pthread_rwlock_t *lock)
{
    return noted(pthread_rwlock_trywrlock(lock), lock, READ_WRITE, __builtin_return_address(0));
}

static int rwlock_unlock(pthread_rwlock_t *lock)
{
    return take_away(lock) ? 0 : pthread_rwlock_unlock(lock);
}

static int spin_lock(pthread_spinlock_t *lock)
{
    is_waiting = 1;
    int status = pthread_spin_lock(lock);
    is_waiting = 0;
    return noted(status, (void *)(uintptr_t)lock, SPIN, __builtin_return_address(0));
}

static int spin_trylock(pthread_spinlock_t *lock)
{
    return noted(pthread_spin_trylock(lock), (void *)(uintptr_t)lock, SPIN,
                 __builtin_return_address(0));
}

static int spin_unlock(pthread_spinlock_t *lock)
{
    return take_away((const void *)(uintptr_t)lock) ? 0 : pthread_spin_unlock(lock);
}

static const pfd_interposed_function functions[] = {
    PFD_REDIRECT("pthread_mutex_lock", mutex_lock),
    PFD_REDIRECT("pthread_mutex_trylock", mutex_trylock),
    PFD_REDIRECT("pthread_mutex_timedlock", mutex_timedlock),
    PFD_REDIRECT("pthread_mutex_unlock", mutex_unlock),
    PFD_REDIRECT("mtx_lock", c_lock),
    PFD_REDIRECT("mtx_trylock", c_trylock),
    PFD_REDIRECT("mtx_unlock", c_unlock),
    PFD_REDIRECT("pthread_rwlock_rdlock", rwlock_rdlock),
    PFD_REDIRECT("pthread_rwlock_wrlock", rwlock_wrlock),
    PFD_REDIRECT("pthread_rwlock_tryrdlock", rwlock_tryrdlock),
    PFD_REDIRECT("pthread_rwlock_trywrlock", rwlock_trywrlock),
    PFD_REDIRECT("pthread_rwlock_unlock", rwlock_unlock),
    PFD_REDIRECT("pthread_spin_lock", spin_lock),
    PFD_REDIRECT("pthread_spin_trylock", spin_trylock),
    PFD_REDIRECT("pthread_spin_unlock", spin_unlock),
};

/* ---- The watch ------------------------------------------------------------------------------- */
static pfd_interposition redirected;

void pfd_kit_locks_begin(pfd_kit_run_state *run)
{
    /* ThreadSanitizer itself learns more about the order of locks. */
    const char *library = dlsym(RTLD_DEFAULT, "__tsan_init") ? NULL : pfd_kit_library_of(run);
    (void)pfd_interposition_open(&redirected, functions, sizeof functions / sizeof *functions,
                                 library);
    num_held = 0;
}

void pfd_kit_locks_end(void)
{
    pfd_interposition_close(&redirected);
}

int32_t pfd_kit_locks_held(void)
{
    return num_held;
}

int32_t pfd_kit_locks_wait(void)
{
    return is_waiting;
}

static void release(const held_lock *entry)
{
    if (entry->kind == MUTEX)
        (void)pthread_mutex_unlock(entry->lock);
    else if (entry->kind == READ_WRITE)
        (void)pthread_rwlock_unlock(entry->lock);
    else
        (void)pthread_spin_unlock((pthread_spinlock_t *)(uintptr_t)entry->lock);
}

void pfd_kit_locks_check(pfd_kit_call *call, pfd_status status)
{
    while (num_held > call->num_locks) {
        const held_lock entry = held[--num_held];
        char what[200], function[128];
        describe(&entry, what, sizeof what);
        pfd_symbol_at(entry.caller, 1, function, sizeof function);
        pfd_kit_report(call->run, "keeps-lock",
                       "%s %s and kept %s locked%s%s: the next call that needs it waits for ever; "
                       "unlock it before each return%s",
                       call->function, status < 0 ? "failed" : "returned", what,
                       function[0] ? ", which it locked in" : "", function,
                       status < 0 ? ", also where the call fails" : "");
        release(&entry);
    }
}
