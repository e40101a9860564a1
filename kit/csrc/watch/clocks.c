/* Lets the clocks of the plugin go wrong, so that what depends on the time of day shows.
 *
 * They go slow: a deadline that the plugin computes is in the past then, and no wait is longer. */
#include "watch/interposed.h"
#include "watch/process_watch.h"

#include <sys/time.h>
#include <time.h>

static _Atomic int64_t num_reads;
static int64_t seconds_slow;

static void set_back(clockid_t clock, struct timespec *now)
{
    atomic_fetch_add(&num_reads, 1);
    if (seconds_slow == 0) return;
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) {
        now->tv_sec -= seconds_slow;
        now->tv_nsec = (now->tv_nsec + seconds_slow % 1000 * 1000003) % 1000000000;
    } else {
        now->tv_sec /= 2; /* counts from the start of the machine, and must not go below 0 */
    }
}

static int asked_clock(clockid_t clock, struct timespec *out)
{
    int status = clock_gettime(clock, out);
    if (status == 0) set_back(clock, out);
    return status;
}

static time_t asked_time(time_t *out)
{
    struct timespec now = {0};
    (void)asked_clock(CLOCK_REALTIME, &now);
    if (out) *out = now.tv_sec;
    return now.tv_sec;
}

static int asked_time_of_day(struct timeval *out, void *zone)
{
    struct timespec now = {0};
    (void)zone;
    (void)asked_clock(CLOCK_REALTIME, &now);
    *out = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
    return 0;
}

static int asked_timespec(struct timespec *out, int base)
{
    return asked_clock(CLOCK_REALTIME, out) ? 0 : base;
}

static int64_t nanoseconds(clockid_t clock)
{
    struct timespec now = {0};
    (void)asked_clock(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* std::chrono::system_clock::now() and steady_clock::now() */
static int64_t asked_system_clock(void)
{
    return nanoseconds(CLOCK_REALTIME);
}

static int64_t asked_steady_clock(void)
{
    return nanoseconds(CLOCK_MONOTONIC);
}

static const pfd_interposed_function functions[] = {
    PFD_REDIRECT("clock_gettime", asked_clock),
    PFD_REDIRECT("time", asked_time),
    PFD_REDIRECT("gettimeofday", asked_time_of_day),
    PFD_REDIRECT("timespec_get", asked_timespec),
    PFD_REDIRECT("_ZNSt6chrono3_V212system_clock3nowEv", asked_system_clock),
    PFD_REDIRECT("_ZNSt6chrono3_V212steady_clock3nowEv", asked_steady_clock),
};
static pfd_interposition redirected;

void pfd_kit_clocks_begin(pfd_kit_run_state *run)
{
    seconds_slow = run->options->clock_delay_s;
    atomic_store(&num_reads, 0);
    (void)pfd_interposition_open(&redirected, functions, sizeof functions / sizeof *functions,
                                 pfd_kit_library_of(run));
}

void pfd_kit_clocks_end(pfd_kit_run_state *run)
{
    run->result->num_clock_reads = redirected.is_open ? atomic_load(&num_reads) : -1;
    pfd_interposition_close(&redirected);
}
