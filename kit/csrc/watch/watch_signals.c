/* Handlers of signals, the signals that a thread blocks, and timers that send them. */
#include "watch/process_watch.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

/* Those that programs use; all others are looked at only in a full watch. */
static const int usual[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGPIPE,
                            SIGCHLD, SIGALRM, SIGUSR1, SIGUSR2};
/* The kit and the host have handlers of these. */
static const int own[] = {SIGSEGV, SIGFPE, SIGILL, SIGABRT, SIGPROF, SIGBUS, SIGKILL, SIGSTOP};
enum { num_usual = sizeof usual / sizeof *usual, num_own = sizeof own / sizeof *own };

static int watched[64];
static struct sigaction before[64];
static int num_watched;
static struct itimerval timer_before;
static int32_t watches_timers;

static int32_t is_one_of(const int *list, int n, int number)
{
    for (int i = 0; i < n; i++)
        if (list[i] == number) return 1;
    return 0;
}

static void watch(int number)
{
    if (sigaction(number, NULL, &before[num_watched])) return; /* the C library keeps it */
    watched[num_watched++] = number;
}

void pfd_kit_signals_begin(int32_t is_full)
{
    num_watched = 0;
    for (int i = 0; i < num_usual; i++) watch(usual[i]);
    for (int number = 1; is_full && number < 64 && num_watched < 64; number++)
        if (!is_one_of(usual, num_usual, number) && !is_one_of(own, num_own, number)) watch(number);
    watches_timers = is_full && !getitimer(ITIMER_REAL, &timer_before);
}

static const char *name_of(int number, char *out, size_t size)
{
    static const struct {
        int number;
        const char *name;
    } names[] = {{SIGINT, "SIGINT"},   {SIGTERM, "SIGTERM"}, {SIGHUP, "SIGHUP"},
                 {SIGQUIT, "SIGQUIT"}, {SIGPIPE, "SIGPIPE"}, {SIGCHLD, "SIGCHLD"},
                 {SIGALRM, "SIGALRM"}, {SIGUSR1, "SIGUSR1"}, {SIGUSR2, "SIGUSR2"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].number == number) return names[i].name;
    (void)snprintf(out, size, "%d (%s)", number, strsignal(number));
    return out;
}

static void check_timer(const pfd_kit_call *call)
{
    struct itimerval now;
    int32_t was = timer_before.it_value.tv_sec || timer_before.it_value.tv_usec;
    if (getitimer(ITIMER_REAL, &now)) return;
    if (was || (now.it_value.tv_sec == 0 && now.it_value.tv_usec == 0)) return;
    (void)setitimer(ITIMER_REAL, &timer_before, NULL);
    pfd_kit_process_report(call, "timer (alarm() or setitimer()) that sends SIGALRM");
}

void pfd_kit_signals_check(const pfd_kit_call *call)
{
    char name[64];
    for (int i = 0; i < num_watched; i++) {
        struct sigaction now;
        if (sigaction(watched[i], NULL, &now) || now.sa_handler == before[i].sa_handler) continue;
        (void)sigaction(watched[i], &before[i], NULL);
        pfd_kit_process_report(call, "handler of the signal %s",
                               name_of(watched[i], name, sizeof name));
    }
    if (watches_timers) check_timer(call);
}

void pfd_kit_mask_check(const pfd_kit_call *call)
{
    sigset_t now;
    char name[64];
    if (pthread_sigmask(SIG_SETMASK, NULL, &now)) return;
    for (int number = 1; number < 64; number++) {
        int is_blocked = sigismember(&now, number) == 1;
        if (is_blocked == (sigismember(&call->mask, number) == 1)) continue;
        (void)pthread_sigmask(SIG_SETMASK, &call->mask, NULL);
        pfd_kit_report(call->run, "process-state",
                       "%s left the signal %s %s in the thread that called it: put the mask back "
                       "before each return, also where the call fails",
                       call->function, name_of(number, name, sizeof name),
                       is_blocked ? "blocked" : "unblocked");
        return;
    }
}
