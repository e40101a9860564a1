/* A thread that notices when the interpreter's lock is not free, and what loaders then do; and the
 * end of a process by a signal: a thread waits for the signal, and tells Python. */
#include "loader/watch/watchdog.h"

#include "core/cpu.h"
#include "core/error.h"

#include <errno.h>
#include <inttypes.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const double second_ns = 1e9;

/* ---- Text for stderr ------------------------------------------------------------------------- */

typedef struct text {
    size_t size;
    char bytes[4096];
} text;

/* What does not fit is cut. */
__attribute__((format(printf, 2, 3))) static void add(text *t, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    int n = vsnprintf(t->bytes + t->size, sizeof t->bytes - t->size, format, values);
    va_end(values);
    if (n > 0) t->size += (size_t)n;
    if (t->size >= sizeof t->bytes) t->size = sizeof t->bytes - 1;
}

static void write_out(const text *t)
{
    for (size_t done = 0; done < t->size;) {
        ssize_t n = write(STDERR_FILENO, t->bytes + done, t->size - done);
        if (n < 0 && errno != EINTR) return;
        if (n > 0) done += (size_t)n;
    }
}

/* ---- One thread ------------------------------------------------------------------------------ */

static void add_rows(text *t, const pfd_plan *plan, const pfd_thread_now *now)
{
    int64_t first = now->first_ordinal, last = now->last_ordinal, count = now->num_rows;
    if (count == 1)
        add(t, ", on a row");
    else
        add(t, ", on %" PRId64 " rows", count);
    if (now->file < 0) return;
    if (count == 1)
        add(t, ", record %" PRId64, first);
    else if (last - first == count - 1)
        add(t, ", records %" PRId64 " to %" PRId64, first, last);
    else
        add(t, ", of which the first is record %" PRId64, first);
    const char *file = pfd_record_file(&plan->readers[now->reader], now->file);
    if (file && *file) add(t, " of %s", file);
}

/* The files of a stream, which does not tell which file it reads now. */
static void add_files(text *t, const pfd_data_reader *reader)
{
    const char *first = pfd_record_file(reader, 0);
    if (!first || !*first) return;
    add(t, ", of %s", first);
    if (reader->num_files > 1)
        add(t, " or one of %" PRId64 " other files", (int64_t)reader->num_files - 1);
}

static void add_thread(text *t, const pfd_plan *plan, const pfd_threads *threads, int32_t i,
                       const pfd_thread_now *now, const char *doing, const char *duration)
{
    pfd_work_stats work = pfd_counters_work(plan, threads, now->work);
    if (now->system_id)
        add(t, "thread %" PRId32 " of %" PRId32, i, threads->num_workers);
    else
        add(t, "the thread in next()");
    add(t, " has been %s for %s", doing, duration);
    if (work.kind == PFD_WORK_READ)
        add_files(t, &plan->readers[work.reader]);
    else
        add_rows(t, plan, now);
}

void pfd_tell_thread(const pfd_plan *plan, const pfd_threads *threads, int32_t i,
                     const pfd_thread_now *now, const char *doing, const char *duration, char *out,
                     int64_t room)
{
    text t = {.size = 0};
    add_thread(&t, plan, threads, i, now, doing, duration);
    (void)snprintf(out, (size_t)room, "%.*s", (int)t.size, t.bytes);
}

/* ---- One loader ------------------------------------------------------------------------------ */

/* The work of a thread, and when the watchdog first saw it. */
typedef struct seen {
    int64_t count, since_ns;
    int32_t work;
} seen;

struct pfd_watched {
    pfd_watched *next;
    pfd_watched_loader loader;
    int64_t patience_ns;
    int32_t is_told;
    char **doing; /* for each item of work */
    seen *threads; /* for each that may work, and the caller's */
};

static void free_watched(pfd_watched *w)
{
    if (!w) return;
    for (int32_t i = 0; w->doing && i < pfd_work_num_items(w->loader.plan); i++) free(w->doing[i]);
    free(w->doing);
    free(w->threads);
    free(w);
}

static pfd_watched *make_watched(const pfd_watched_loader *loader, int64_t patience_ns,
                                 const char *const *doing)
{
    int32_t num_items = pfd_work_num_items(loader->plan), is_complete = 1;
    pfd_watched *w = calloc(1, sizeof *w);
    if (!w) return NULL;
    w->loader = *loader;
    w->patience_ns = patience_ns;
    w->doing = calloc((size_t)num_items, sizeof *w->doing);
    w->threads = calloc((size_t)loader->threads->most_threads + 1, sizeof *w->threads);
    for (int32_t i = 0; w->doing && i < num_items; i++)
        is_complete &= (w->doing[i] = strdup(doing[i])) != NULL;
    if (w->doing && w->threads && is_complete) return w;
    free_watched(w);
    return NULL;
}

/* With the loader's lock held. */
static seen *look_at_thread(pfd_watched *w, int32_t i, int64_t now_ns, pfd_thread_now *now)
{
    const pfd_threads *threads = w->loader.threads;
    seen *before = &w->threads[i < threads->num_workers ? i : threads->most_threads];
    *now = pfd_counters_thread(threads, i);
    if (before->count != now->count || before->work != now->work)
        *before = (seen){.count = now->count, .work = now->work, .since_ns = now_ns};
    return before;
}

/* How a wait of the program started, at *since_ns, in words; NULL: no epoch runs, and the program
 * need not ask for batches.  With the loader's lock held. */
static const char *wait_of(const pfd_watched *w, int64_t *since_ns)
{
    const pfd_steps *steps = w->loader.steps;
    const volatile int64_t *made_ns = &w->loader.caller->made_ns;
    int32_t is_in_next = *made_ns < steps->asked_ns;
    if (!steps->asked_ns || steps->gave == PFD_GAVE_END) return NULL;
    *since_ns = is_in_next ? steps->asked_ns : *made_ns;
    return is_in_next ? "next() has not returned" : "next() has not been called";
}

static void add_work(text *t, pfd_watched *w, int32_t i, int64_t now_ns)
{
    pfd_thread_now now;
    char duration[32];
    const seen *since = look_at_thread(w, i, now_ns, &now);
    if (now.work < 0) return;
    (void)snprintf(duration, sizeof duration, "%.1f s",
                   (double)(now_ns - since->since_ns) / second_ns);
    add(t, "  step %" PRId64 " of epoch %" PRId64 ": ", now.step, now.epoch);
    add_thread(t, w->loader.plan, w->loader.threads, i, &now, w->doing[now.work], duration);
    add(t, "\n");
}

/* late_ns: how long the interpreter's lock has not been free. */
static void look(pfd_watched *w, int64_t now_ns, int64_t late_ns, text *t)
{
    int64_t since_ns;
    pfd_thread_now now;
    pthread_mutex_lock(w->loader.lock);
    int32_t num_workers = w->loader.threads->num_workers;
    for (int32_t i = 0; i <= num_workers; i++) (void)look_at_thread(w, i, now_ns, &now);
    const char *waits = wait_of(w, &since_ns);
    if (late_ns < w->patience_ns) {
        w->is_told = 0;
    } else if (waits && !w->is_told) {
        w->is_told = 1;
        add(t, "pyflowdata: %s for %.1f s, and the interpreter's lock has not been free for "
               "%.1f s: a call holds it, and all other Python code waits\n",
            waits, (double)(now_ns - since_ns) / second_ns, (double)late_ns / second_ns);
        for (int32_t i = 0; i <= num_workers; i++) add_work(t, w, i, now_ns);
    }
    pthread_mutex_unlock(w->loader.lock);
}

/* ---- All loaders, and the thread that looks at them ------------------------------------------ */

enum {
    LOOKS = 8, /* before a wait is too long */
    LONGEST_PAUSE_NS = 1000 * 1000 * 1000,
    SHORTEST_PAUSE_NS = 10 * 1000 * 1000,
    LEAST_PATIENCE_NS = 1000 * 1000 * 1000, /* a busy machine may be as late */
};

static struct {
    pthread_mutex_t lock; /* guards all others, but due_ns */
    pthread_cond_t changed;
    pfd_watched *first;
    int32_t is_running;
    _Atomic int64_t due_ns; /* when Python's watch wants the interpreter's lock; 0: it does not */
} watchdog = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Atomic int32_t stack_signal; /* makes faulthandler write all stacks; 0: none */

static int32_t has_stacks(void)
{
    int number = atomic_load(&stack_signal);
    struct sigaction now;
    return number && sigaction(number, NULL, &now) == 0 && now.sa_handler != SIG_DFL;
}

static int64_t pause_ns(void)
{
    int64_t pause = INT64_MAX;
    for (const pfd_watched *w = watchdog.first; w; w = w->next)
        if (w->patience_ns / LOOKS < pause) pause = w->patience_ns / LOOKS;
    if (pause == INT64_MAX) return 0;
    if (pause > LONGEST_PAUSE_NS) return LONGEST_PAUSE_NS;
    return pause < SHORTEST_PAUSE_NS ? SHORTEST_PAUSE_NS : pause;
}

static void sleep_for(int64_t ns)
{
    if (ns)
        (void)pfd_cond_wait_until(&watchdog.changed, &watchdog.lock, pfd_clock_ns() + ns);
    else
        (void)pthread_cond_wait(&watchdog.changed, &watchdog.lock);
}

/* How long Python's watch has been late, of which *late_ns is known.  Time in which this thread did
 * not run either, as in a stopped process, does not count. */
static void count_late(int64_t before_ns, int64_t now_ns, int64_t pause, int64_t *late_ns)
{
    int64_t due_ns = atomic_load(&watchdog.due_ns);
    if (!due_ns || now_ns < due_ns) {
        *late_ns = 0;
        return;
    }
    int64_t since_ns = due_ns > before_ns ? due_ns : before_ns;
    if (due_ns > before_ns) *late_ns = 0; /* it had the lock in between */
    *late_ns += now_ns - since_ns < 2 * pause ? now_ns - since_ns : 2 * pause;
}

static void *run(void *unused)
{
    static text said; /* there is one such thread */
    int64_t late_ns = 0, before_ns = pfd_clock_ns();
    (void)unused;
    pthread_mutex_lock(&watchdog.lock);
    for (;;) {
        int64_t pause = pause_ns(), now_ns;
        sleep_for(pause);
        now_ns = pfd_clock_ns();
        count_late(before_ns, now_ns, pause, &late_ns);
        before_ns = now_ns;
        said.size = 0;
        for (pfd_watched *w = watchdog.first; w; w = w->next) look(w, now_ns, late_ns, &said);
        if (!said.size) continue;
        pthread_mutex_unlock(&watchdog.lock);
        if (has_stacks()) add(&said, "Python's threads, one of which holds it:\n");
        write_out(&said);
        if (has_stacks()) (void)pthread_kill(pthread_self(), atomic_load(&stack_signal));
        pthread_mutex_lock(&watchdog.lock);
    }
    return NULL;
}

/* A thread without signals: those of the process are for the program's threads. */
static int32_t start_thread(void *(*fn)(void *))
{
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    if (atomic_load(&stack_signal)) sigdelset(&all, atomic_load(&stack_signal));
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failure = pthread_create(&thread, NULL, fn, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failure == 0) (void)pthread_detach(thread);
    return failure == 0;
}

/* In a forked child, where the parent's thread may have held the lock. */
static void forget_all(void)
{
    pthread_mutex_init(&watchdog.lock, NULL);
    watchdog.first = NULL; /* the memory stays with the loaders of the parent */
    watchdog.is_running = 0;
    atomic_store(&watchdog.due_ns, 0);
}

/* A real-time signal that nobody handles; 0: there is none. */
static int32_t find_signal(void)
{
    struct sigaction now;
    for (int number = SIGRTMAX - 1; number > SIGRTMIN; number--)
        if (sigaction(number, NULL, &now) == 0 && now.sa_handler == SIG_DFL) return number;
    return 0;
}

/* With the watchdog's lock held. */
static pfd_status begin(pfd_error *err)
{
    static int32_t has_begun; /* in this process, or the one that it was forked from */
    if (watchdog.is_running) return PFD_OK;
    if (!has_begun) {
        (void)pthread_atfork(NULL, NULL, forget_all); /* can fail for lack of memory only */
        atomic_store(&stack_signal, find_signal());
    }
    has_begun = 1;
    pfd_cond_init(&watchdog.changed);
    watchdog.is_running = start_thread(run);
    if (watchdog.is_running) return PFD_OK;
    return pfd_fail(err, PFD_OUT_OF_MEMORY, "the system starts no thread to watch a loader");
}

pfd_status pfd_watchdog_add(const pfd_watched_loader *loader, int64_t patience_ns,
                            const char *const *doing, pfd_watched **out, pfd_error *err)
{
    pfd_watched *w = make_watched(loader, patience_ns, doing);
    if (!w) return pfd_fail_memory(err, sizeof *w, "the watch of a loader");
    if (w->patience_ns < LEAST_PATIENCE_NS) w->patience_ns = LEAST_PATIENCE_NS;
    pthread_mutex_lock(&watchdog.lock);
    pfd_status status = begin(err);
    if (status == PFD_OK) {
        w->next = watchdog.first;
        watchdog.first = w;
        pthread_cond_signal(&watchdog.changed);
    }
    pthread_mutex_unlock(&watchdog.lock);
    if (status == PFD_OK)
        *out = w;
    else
        free_watched(w);
    return status;
}

void pfd_watchdog_remove(pfd_watched *watched)
{
    if (!watched) return;
    pthread_mutex_lock(&watchdog.lock);
    pfd_watched **at = &watchdog.first;
    while (*at && *at != watched) at = &(*at)->next;
    if (*at) *at = watched->next;
    pthread_mutex_unlock(&watchdog.lock);
    free_watched(watched);
}

void pfd_watch_expect(int64_t ns)
{
    atomic_store(&watchdog.due_ns, ns < 0 ? 0 : pfd_clock_ns() + ns);
}

int32_t pfd_watch_signal(void)
{
    return atomic_load(&stack_signal);
}

/* ---- The end by a signal --------------------------------------------------------------------- */

static const int ends[] = {SIGTERM, SIGHUP};
enum { NUM_ENDS = 2, MOST_SECONDS_TO_END = 5 };

static struct {
    sem_t came;
    _Atomic int32_t number;  /* of the signal that came; 0: none */
    _Atomic int32_t process; /* whose reports are to be written */
} ending;

/* In a handler: when it returns. */
static void die(int number)
{
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

/* A second signal ends the process at once, and so does one to a forked child. */
static void on_end(int number)
{
    int before = errno;
    int32_t none = 0;
    if (getpid() == atomic_load(&ending.process) &&
        atomic_compare_exchange_strong(&ending.number, &none, number))
        (void)sem_post(&ending.came);
    else
        die(number);
    errno = before;
}

/* Whatever Python does: a process that is told to end must end. */
static void *end_late(void *unused)
{
    struct timespec left = {.tv_sec = MOST_SECONDS_TO_END};
    text said = {.size = 0};
    (void)unused;
    while (nanosleep(&left, &left) != 0) {}
    add(&said, "pyflowdata: no report: it was not written in %d s after signal %" PRId32 "\n",
        MOST_SECONDS_TO_END, atomic_load(&ending.number));
    write_out(&said);
    pfd_ending_end();
    return NULL;
}

int32_t pfd_ending_wait(void)
{
    struct sigaction now, ours = {.sa_handler = on_end, .sa_flags = SA_RESTART};
    int32_t num_handled = 0;
    (void)sem_init(&ending.came, 0, 0);
    atomic_store(&ending.number, 0);
    atomic_store(&ending.process, (int32_t)getpid());
    sigemptyset(&ours.sa_mask);
    for (int32_t i = 0; i < NUM_ENDS; i++) {
        if (sigaction(ends[i], NULL, &now) != 0) continue;
        int32_t is_free = now.sa_handler == SIG_DFL || now.sa_handler == on_end;
        num_handled += is_free && sigaction(ends[i], &ours, NULL) == 0;
    }
    if (!num_handled) return 0;
    while (sem_wait(&ending.came) != 0) {}
    (void)start_thread(end_late);
    return atomic_load(&ending.number);
}

void pfd_ending_end(void)
{
    int number = atomic_load(&ending.number);
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, number);
    (void)signal(number, SIG_DFL);
    (void)pthread_sigmask(SIG_UNBLOCK, &one, NULL);
    (void)raise(number);
}
