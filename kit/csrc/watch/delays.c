/* Makes threads meet where they could disturb each other, so that a rare race happens nearly every
 * time.
 *
 * Where an op calls the host or the C library, its thread waits until another thread comes to such
 * a place, or for a short while: after a seek in a file, whose position others may move before the
 * read, and after a copy or an allocation, whose result others may change before it is used.  If an
 * op holds a lock, nobody comes: after a few waits in vain the waits end. */
#include "watch/interposed.h"
#include "watch/run_state.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    most_in_vain = 64,      /* waits of a kind in which nobody came */
    yields_of_copy = 100,   /* most yields of one wait */
    yields_of_seek = 2000,
    most_files = 64,        /* files whose positions are watched */
};

static _Atomic int32_t is_on;
static _Atomic int32_t num_joined; /* threads that visit records */
static _Atomic int64_t num_met;    /* arrivals of threads at such places */
static _Atomic int32_t in_vain[2]; /* waits for copies, for seeks */
static _Atomic int64_t seeks[most_files]; /* how often each descriptor was moved */
static pfd_kit_run_state *watched_run;

/* ---- Waiting --------------------------------------------------------------------------------- */
static int32_t is_in_op(void)
{
    const pfd_kit_call *call = pfd_kit_active;
    return atomic_load(&is_on) && call && call->function && atomic_load(&num_joined) > 1;
}

static void meet(int32_t is_seek)
{
    if (atomic_load(&in_vain[is_seek]) >= most_in_vain) return;
    int64_t mine = 1 + atomic_fetch_add(&num_met, 1);
    int32_t yields = is_seek ? yields_of_seek : yields_of_copy;
    while (yields-- > 0 && atomic_load(&num_joined) > 1) {
        if (atomic_load(&num_met) > mine) return;
        (void)sched_yield();
    }
    (void)atomic_fetch_add(&in_vain[is_seek], 1);
}

void pfd_kit_delay(void)
{
    if (is_in_op()) meet(0);
}

void pfd_kit_delays_join(int32_t num_threads)
{
    if (!atomic_load(&is_on)) return;
    (void)atomic_fetch_add(&num_joined, 1);
    for (int32_t i = 0; i < yields_of_seek && atomic_load(&num_joined) < num_threads; i++)
        (void)sched_yield();
}

void pfd_kit_delays_part(void)
{
    if (atomic_load(&is_on)) (void)atomic_fetch_sub(&num_joined, 1);
}

/* ---- Positions ------------------------------------------------------------------------------- */
static void note_shared(int fd)
{
    char link[64], path[200] = "";
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t bytes = readlink(link, path, sizeof path - 1);
    if (bytes < 0) bytes = 0;
    path[bytes] = '\0';
    char *out = watched_run->result->shared_position;
    if (!out[0])
        (void)snprintf(out, sizeof watched_run->result->shared_position, "descriptor %d, %s", fd,
                       path);
}

/* Waits after a seek, before the read, for another thread that moves the position. */
static void after_seek(int fd)
{
    if (fd < 0 || !is_in_op()) return;
    _Atomic int64_t *count = &seeks[fd % most_files];
    int64_t mine = 1 + atomic_fetch_add(count, 1);
    meet(1);
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    if (atomic_load(count) == mine) return;
    pthread_mutex_lock(&lock);
    note_shared(fd);
    pthread_mutex_unlock(&lock);
}

static off_t delayed_lseek(int fd, off_t offset, int whence)
{
    off_t result = lseek(fd, offset, whence);
    after_seek(fd);
    return result;
}

static int delayed_fseek(FILE *file, long offset, int whence)
{
    int result = fseek(file, offset, whence);
    after_seek(fileno(file));
    return result;
}

static int delayed_fseeko(FILE *file, off_t offset, int whence)
{
    int result = fseeko(file, offset, whence);
    after_seek(fileno(file));
    return result;
}

static int delayed_fsetpos(FILE *file, const fpos_t *position)
{
    int result = fsetpos(file, position);
    after_seek(fileno(file));
    return result;
}

static void delayed_rewind(FILE *file)
{
    rewind(file);
    after_seek(fileno(file));
}

/* ---- Copies and allocations ------------------------------------------------------------------ */
static void *delayed_memcpy(void *to, const void *from, size_t bytes)
{
    (void)memcpy(to, from, bytes);
    pfd_kit_delay();
    return to;
}

static void *delayed_memmove(void *to, const void *from, size_t bytes)
{
    (void)memmove(to, from, bytes);
    pfd_kit_delay();
    return to;
}

static void *delayed_memset(void *to, int byte, size_t bytes)
{
    (void)memset(to, byte, bytes);
    pfd_kit_delay();
    return to;
}

static void *delayed_malloc(size_t bytes)
{
    pfd_kit_delay();
    return malloc(bytes);
}

static void *delayed_calloc(size_t n, size_t bytes)
{
    pfd_kit_delay();
    return calloc(n, bytes);
}

static void *delayed_realloc(void *memory, size_t bytes)
{
    pfd_kit_delay();
    return realloc(memory, bytes);
}

/* Redirected in all libraries: a stream of C++ seeks in libstdc++.so. */
static const pfd_interposed_function positions[] = {
    PFD_REDIRECT("lseek", delayed_lseek),       PFD_REDIRECT("lseek64", delayed_lseek),
    PFD_REDIRECT("fseek", delayed_fseek),       PFD_REDIRECT("fseeko", delayed_fseeko),
    PFD_REDIRECT("fseeko64", delayed_fseeko),   PFD_REDIRECT("fsetpos", delayed_fsetpos),
    PFD_REDIRECT("fsetpos64", delayed_fsetpos), PFD_REDIRECT("rewind", delayed_rewind),
};

/* Redirected in the plugin alone. */
static const pfd_interposed_function copies[] = {
    PFD_REDIRECT("memcpy", delayed_memcpy), PFD_REDIRECT("memmove", delayed_memmove),
    PFD_REDIRECT("memset", delayed_memset), PFD_REDIRECT("malloc", delayed_malloc),
    PFD_REDIRECT("calloc", delayed_calloc), PFD_REDIRECT("realloc", delayed_realloc),
};

static pfd_interposition of_positions, of_copies;

void pfd_kit_delays_begin(pfd_kit_run_state *run)
{
    if (!run->options->delays || run->options->num_threads < 2) return;
    watched_run = run;
    for (int i = 0; i < most_files; i++) atomic_store(&seeks[i], 0);
    for (int i = 0; i < 2; i++) atomic_store(&in_vain[i], 0);
    atomic_store(&num_joined, 0);
    (void)pfd_interposition_open_all(&of_positions, positions,
                                     sizeof positions / sizeof *positions, 1);
    (void)pfd_interposition_open(&of_copies, copies, sizeof copies / sizeof *copies,
                                 pfd_kit_library_of(run));
    atomic_store(&is_on, 1);
}

void pfd_kit_delays_end(void)
{
    atomic_store(&is_on, 0);
    pfd_interposition_close(&of_copies);
    pfd_interposition_close(&of_positions);
}
