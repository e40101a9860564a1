/* Counts allocations by redirecting the calls of all loaded libraries to its own counters. */
#include "bench/malloc_count.h"

#include "watch/interposed.h"

#include <pthread.h>
#include <stdlib.h>

void *memalign(size_t alignment, size_t size); /* in no standard header */

/* The functions themselves; looked up before any pointer is replaced. */
static void *(*real_malloc)(size_t);
static void *(*real_calloc)(size_t, size_t);
static void *(*real_realloc)(void *, size_t);
static void *(*real_aligned_alloc)(size_t, size_t);
static int (*real_posix_memalign)(void **, size_t, size_t);
static void *(*real_memalign)(size_t, size_t);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_t counting; /* the thread; set before any pointer is replaced */
static pfd_malloc_count count;

static void add(size_t bytes)
{
    if (!pthread_equal(pthread_self(), counting)) return;
    count.calls++;
    count.bytes += (int64_t)bytes;
}

static void *counted_malloc(size_t size)
{
    add(size);
    return real_malloc(size);
}

static void *counted_calloc(size_t n, size_t size)
{
    add(n * size);
    return real_calloc(n, size);
}

static void *counted_realloc(void *memory, size_t size)
{
    add(size);
    return real_realloc(memory, size);
}

static void *counted_aligned_alloc(size_t alignment, size_t size)
{
    add(size);
    return real_aligned_alloc(alignment, size);
}

static int counted_posix_memalign(void **out, size_t alignment, size_t size)
{
    add(size);
    return real_posix_memalign(out, alignment, size);
}

static void *counted_memalign(size_t alignment, size_t size)
{
    add(size);
    return real_memalign(alignment, size);
}

static const pfd_interposed_function counters[] = {
    PFD_REDIRECT("malloc", counted_malloc),
    PFD_REDIRECT("calloc", counted_calloc),
    PFD_REDIRECT("realloc", counted_realloc),
    PFD_REDIRECT("aligned_alloc", counted_aligned_alloc),
    PFD_REDIRECT("posix_memalign", counted_posix_memalign),
    PFD_REDIRECT("memalign", counted_memalign),
};
static pfd_interposition redirected;

int32_t pfd_malloc_count_begin(void)
{
    pthread_mutex_lock(&lock);
    real_malloc = malloc;
    real_calloc = calloc;
    real_realloc = realloc;
    real_aligned_alloc = aligned_alloc;
    real_posix_memalign = posix_memalign;
    real_memalign = memalign;
    counting = pthread_self();
    int32_t can =
        pfd_interposition_open_all(&redirected, counters, sizeof counters / sizeof *counters, 0);
    count = (pfd_malloc_count){0};
    if (!can) pthread_mutex_unlock(&lock);
    return can;
}

pfd_malloc_count pfd_malloc_count_now(void)
{
    return count;
}

void pfd_malloc_count_end(void)
{
    pfd_interposition_close(&redirected);
    pthread_mutex_unlock(&lock);
}
