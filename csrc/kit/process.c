/* Watches the state of the whole process: an op that changes it changes the user's program. */
#include "kit/run_state.h"

#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Without the signals of crash.c, whose handlers the kit itself sets. */
static const struct {
    int number;
    const char *name;
} signals[] = {{SIGINT, "SIGINT"},   {SIGTERM, "SIGTERM"}, {SIGHUP, "SIGHUP"},
               {SIGQUIT, "SIGQUIT"}, {SIGPIPE, "SIGPIPE"}, {SIGCHLD, "SIGCHLD"},
               {SIGALRM, "SIGALRM"}, {SIGUSR1, "SIGUSR1"}, {SIGUSR2, "SIGUSR2"}};
enum { num_signals = sizeof signals / sizeof *signals };

static struct settings {
    struct sigaction handlers[num_signals];
    int directory; /* -1: it cannot be opened, and is not watched */
    struct stat about;
    char locale[512];
} before;

void pfd_kit_process_begin(void)
{
    before = (struct settings){.directory = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC)};
    for (int i = 0; i < num_signals; i++)
        (void)sigaction(signals[i].number, NULL, &before.handlers[i]);
    if (before.directory >= 0 && fstat(before.directory, &before.about)) pfd_kit_process_end();
    const char *locale = setlocale(LC_ALL, NULL);
    if (locale && strlen(locale) < sizeof before.locale)
        memcpy(before.locale, locale, strlen(locale) + 1);
}

void pfd_kit_process_end(void)
{
    if (before.directory >= 0) close(before.directory);
    before.directory = -1;
}

static void report(pfd_kit_run_state *run, const char *function, const char *what)
{
    pfd_kit_report(run, "process-state",
                   "%s changed the %s of the whole process, which is the program's: leave it as "
                   "it is",
                   function, what);
}

static void check_signals(pfd_kit_run_state *run, const char *function)
{
    for (int i = 0; i < num_signals; i++) {
        struct sigaction now;
        char what[64];
        if (sigaction(signals[i].number, NULL, &now)) continue;
        if (now.sa_handler == before.handlers[i].sa_handler) continue;
        (void)sigaction(signals[i].number, &before.handlers[i], NULL);
        (void)snprintf(what, sizeof what, "handler of the signal %s", signals[i].name);
        report(run, function, what);
    }
}

/* Restores whatever has changed, so that later checks run as in a program. */
void pfd_kit_process_check(pfd_kit_run_state *run, const char *function)
{
    struct stat st;
    check_signals(run, function);
    if (before.directory >= 0 &&
        (stat(".", &st) || st.st_dev != before.about.st_dev || st.st_ino != before.about.st_ino)) {
        report(run, function, "working directory");
        if (fchdir(before.directory)) pfd_kit_process_end();
    }
    const char *locale = setlocale(LC_ALL, NULL);
    if (before.locale[0] && locale && strcmp(locale, before.locale) != 0) {
        report(run, function, "locale");
        (void)setlocale(LC_ALL, before.locale);
    }
}
