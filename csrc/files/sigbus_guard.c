/* The handler of SIGBUS and its list of guarded regions.
 *
 * The handler may run at any instruction of any thread, so it takes no lock and allocates nothing.
 * Regions live in blocks that are never freed; each is read under a version number that is odd
 * while the region changes. */
#include "files/sigbus_guard.h"

#include "core/error.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

struct pfd_guarded_region {
    _Atomic uint64_t version;
    _Atomic uintptr_t begin, end; /* equal: free */
    _Atomic(_Atomic int64_t *) mark;
    _Atomic int64_t value;
    pfd_guarded_region *next_free;
};

typedef struct region_block {
    struct region_block *next; /* an older one */
    pfd_guarded_region regions[128];
} region_block;

/* A handler that was there before ours. */
typedef struct other_handler {
    struct other_handler *older; /* keeps them reachable: the signal handler may still read one */
    struct sigaction action;
} other_handler;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* for all that changes these: */
static _Atomic(region_block *) blocks;
static pfd_guarded_region *free_regions;
static _Atomic(other_handler *) others; /* the latest; the last of the list is the oldest */
static _Atomic int64_t page_size;

/* The thread that is in another handler called by ours, to detect when that handler calls ours. */
static _Atomic long chaining_thread;

/* ---- In the handler -------------------------------------------------------------------------- */

/* Puts zero pages from the page of `address` to the region's end.  0: the address is outside. */
static int repair_region(pfd_guarded_region *region, uintptr_t address)
{
    uint64_t version = atomic_load(&region->version);
    uintptr_t begin = atomic_load(&region->begin);
    uintptr_t end = atomic_load(&region->end);
    _Atomic int64_t *mark = atomic_load(&region->mark);
    int64_t value = atomic_load(&region->value);
    if (version % 2 != 0 || atomic_load(&region->version) != version) return 0;
    if (address < begin || address >= end) return 0;
    uintptr_t page = address - address % (uintptr_t)atomic_load(&page_size);
    void *zeros = mmap((void *)page, end - page, PROT_READ,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
    if (zeros == MAP_FAILED) return 0;
    atomic_store(mark, value);
    return 1;
}

static int repair(uintptr_t address)
{
    for (region_block *block = atomic_load(&blocks); block; block = block->next)
        for (size_t i = 0; i < PFD_COUNT(block->regions); i++)
            if (repair_region(&block->regions[i], address)) return 1;
    return 0;
}

/* Ends the process by the signal, as if there had never been a handler. */
static void use_default(int number, const siginfo_t *info)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = SIG_DFL;
    sigaction(number, &action, NULL);
    if (info->si_code <= 0) raise(number); /* a sent signal; a fault repeats by itself */
}

static void call(const struct sigaction *action, int number, siginfo_t *info, void *context)
{
    if (action->sa_flags & SA_SIGINFO) {
        action->sa_sigaction(number, info, context);
    } else if (action->sa_handler == SIG_DFL) {
        use_default(number, info);
    } else if (action->sa_handler == SIG_IGN) {
        if (info->si_code > 0) use_default(number, info); /* a fault cannot be ignored */
    } else {
        action->sa_handler(number);
    }
}

/* Calls the handler that was there before. A handler that was set after our first one and forwards
 * the signal (as Python's faulthandler does) calls us again: the oldest handler then ends the
 * loop. */
static void chain(int number, siginfo_t *info, void *context)
{
    other_handler *other = atomic_load(&others);
    long self = syscall(SYS_gettid);
    if (!other) {
        use_default(number, info);
        return;
    }
    if (atomic_load(&chaining_thread) == self) {
        while (other->older) other = other->older;
        call(&other->action, number, info, context);
        return;
    }
    sigset_t bus; /* a signal raised by the other handler must reach us before it returns */
    sigemptyset(&bus);
    sigaddset(&bus, SIGBUS);
    pthread_sigmask(SIG_UNBLOCK, &bus, NULL);
    long nobody = 0;
    int marked = atomic_compare_exchange_strong(&chaining_thread, &nobody, self);
    call(&other->action, number, info, context);
    if (marked) atomic_store(&chaining_thread, 0);
}

static void handle(int number, siginfo_t *info, void *context)
{
    int saved = errno;
    int is_fault = info->si_code > 0;
    if (!is_fault || !repair((uintptr_t)info->si_addr)) chain(number, info, context);
    errno = saved;
}

/* ---- Outside of the handler ------------------------------------------------------------------ */

static pfd_status install_locked(pfd_error *err)
{
    struct sigaction now;
    if (sigaction(SIGBUS, NULL, &now) != 0)
        return pfd_fail(err, PFD_IO, "the handler of SIGBUS cannot be read: %s", strerror(errno));
    if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == handle) return PFD_OK;
    other_handler *other = malloc(sizeof *other);
    if (!other) return pfd_fail_memory(err, (int64_t)sizeof *other, "a signal handler");
    other->action = now;
    other->older = atomic_load(&others);
    atomic_store(&others, other);
    struct sigaction ours;
    memset(&ours, 0, sizeof ours);
    ours.sa_sigaction = handle;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&ours.sa_mask);
    if (sigaction(SIGBUS, &ours, NULL) != 0) {
        atomic_store(&others, other->older);
        free(other);
        return pfd_fail(err, PFD_IO, "the handler of SIGBUS cannot be set: %s", strerror(errno));
    }
    return PFD_OK;
}

/* A fork while another thread holds the lock would leave it locked in the child for ever. */
static void lock_before_fork(void)
{
    pthread_mutex_lock(&lock);
}

static void unlock_after_fork(void)
{
    pthread_mutex_unlock(&lock);
}

static void watch_forks(void)
{
    (void)pthread_atfork(lock_before_fork, unlock_after_fork, unlock_after_fork);
}

pfd_status pfd_sigbus_guard_install(pfd_error *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    pthread_mutex_lock(&lock);
    atomic_store(&page_size, (int64_t)sysconf(_SC_PAGESIZE));
    pfd_status status = install_locked(err);
    pthread_mutex_unlock(&lock);
    return status;
}

static pfd_guarded_region *take_free_region(void)
{
    if (!free_regions) {
        region_block *block = calloc(1, sizeof *block);
        if (!block) return NULL;
        for (size_t i = 0; i < PFD_COUNT(block->regions); i++) {
            block->regions[i].next_free = free_regions;
            free_regions = &block->regions[i];
        }
        block->next = atomic_load(&blocks);
        atomic_store(&blocks, block);
    }
    pfd_guarded_region *region = free_regions;
    free_regions = region->next_free;
    return region;
}

static void set_region(pfd_guarded_region *region, uintptr_t begin, uintptr_t end,
                       _Atomic int64_t *mark, int64_t value)
{
    atomic_fetch_add(&region->version, 1);
    atomic_store(&region->begin, begin);
    atomic_store(&region->end, end);
    atomic_store(&region->mark, mark);
    atomic_store(&region->value, value);
    atomic_fetch_add(&region->version, 1);
}

pfd_guarded_region *pfd_sigbus_guard_add(const void *data, int64_t size, _Atomic int64_t *mark,
                                         int64_t value)
{
    pthread_mutex_lock(&lock);
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = (uintptr_t)data;
    pfd_guarded_region *region = take_free_region();
    if (region) {
        uintptr_t end = begin + ((uintptr_t)size + page - 1) / page * page;
        set_region(region, begin, end, mark, value);
    }
    pthread_mutex_unlock(&lock);
    return region;
}

void pfd_sigbus_guard_remove(pfd_guarded_region *region)
{
    if (!region) return;
    pthread_mutex_lock(&lock);
    set_region(region, 0, 0, NULL, 0);
    region->next_free = free_regions;
    free_regions = region;
    pthread_mutex_unlock(&lock);
}
