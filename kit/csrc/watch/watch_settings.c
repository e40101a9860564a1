/* Settings of the process: working directory, locale, umask, limits, processors. */
#include "watch/process_watch.h"

#include <fcntl.h>
#include <locale.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* glibc has a type of its own for these numbers. */
#ifdef __GLIBC__
typedef __rlimit_resource_t resource_number;
#else
typedef int resource_number;
#endif

static const struct {
    resource_number number;
    const char *name;
} resources[] = {{RLIMIT_AS, "RLIMIT_AS"},         {RLIMIT_CORE, "RLIMIT_CORE"},
                 {RLIMIT_CPU, "RLIMIT_CPU"},       {RLIMIT_DATA, "RLIMIT_DATA"},
                 {RLIMIT_FSIZE, "RLIMIT_FSIZE"},   {RLIMIT_MEMLOCK, "RLIMIT_MEMLOCK"},
                 {RLIMIT_NOFILE, "RLIMIT_NOFILE"}, {RLIMIT_STACK, "RLIMIT_STACK"}};
enum { num_resources = sizeof resources / sizeof *resources };

static struct settings {
    int directory; /* -1: it cannot be opened, and is not watched */
    struct stat about;
    char locale[512];
    int32_t is_full;
    mode_t mask;
    struct rlimit limits[num_resources];
    cpu_set_t processors; /* that the thread may run on */
} before = {.directory = -1};

/* It can only be asked by setting it: threads of the host, which call frame(), take turns. */
static mode_t mask_now(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    mode_t mask = umask(077);
    (void)umask(mask);
    pthread_mutex_unlock(&lock);
    return mask;
}

void pfd_kit_settings_begin(int32_t is_full)
{
    before = (struct settings){.directory = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC),
                               .is_full = is_full};
    if (before.directory >= 0 && fstat(before.directory, &before.about)) pfd_kit_settings_end();
    const char *locale = setlocale(LC_ALL, NULL);
    if (locale && strlen(locale) < sizeof before.locale)
        memcpy(before.locale, locale, strlen(locale) + 1);
    if (!is_full) return;
    before.mask = mask_now();
    for (int i = 0; i < num_resources; i++) (void)getrlimit(resources[i].number, &before.limits[i]);
    (void)sched_getaffinity(0, sizeof before.processors, &before.processors);
}

void pfd_kit_settings_end(void)
{
    if (before.directory >= 0) close(before.directory);
    before.directory = -1;
}

static void check_limits(const pfd_kit_call *call)
{
    for (int i = 0; i < num_resources; i++) {
        struct rlimit now;
        if (getrlimit(resources[i].number, &now)) continue;
        if (now.rlim_cur == before.limits[i].rlim_cur) continue;
        (void)setrlimit(resources[i].number, &before.limits[i]);
        pfd_kit_process_report(call, "limit %s", resources[i].name);
        before.limits[i].rlim_max = now.rlim_max; /* a lower one cannot be put back */
    }
}

static void check_processors(const pfd_kit_call *call)
{
    cpu_set_t now;
    if (sched_getaffinity(0, sizeof now, &now) || CPU_EQUAL(&now, &before.processors)) return;
    (void)sched_setaffinity(0, sizeof before.processors, &before.processors);
    pfd_kit_report(call->run, "process-state",
                   "%s bound the thread that called it to other processors (sched_setaffinity()): "
                   "the program decides where its threads run; leave it as it is",
                   call->function);
}

static void check_directory(const pfd_kit_call *call)
{
    struct stat st;
    if (before.directory < 0) return;
    if (!stat(".", &st) && st.st_dev == before.about.st_dev && st.st_ino == before.about.st_ino)
        return;
    pfd_kit_process_report(call, "working directory");
    if (fchdir(before.directory)) pfd_kit_settings_end();
}

void pfd_kit_settings_check(const pfd_kit_call *call)
{
    check_directory(call);
    const char *locale = setlocale(LC_ALL, NULL);
    if (before.locale[0] && locale && strcmp(locale, before.locale) != 0) {
        pfd_kit_process_report(call, "locale");
        (void)setlocale(LC_ALL, before.locale);
    }
    if (!before.is_full) return;
    mode_t mask = mask_now();
    if (mask != before.mask) {
        (void)umask(before.mask);
        pfd_kit_process_report(call, "umask (from %03o to %03o)", (unsigned)before.mask,
                               (unsigned)mask);
    }
    check_limits(call);
    check_processors(call);
}

void pfd_kit_locale_check(const pfd_kit_call *call)
{
    if (uselocale((locale_t)0) == (locale_t)call->locale) return;
    (void)uselocale((locale_t)call->locale);
    pfd_kit_report(call->run, "process-state",
                   "%s left another locale in the thread that called it (uselocale()): put it back "
                   "before each return, also where the call fails",
                   call->function);
}
