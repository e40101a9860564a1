/* Threads that an op leaves running after close(). */
#include "watch/process_watch.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

pfd_kit_threads pfd_kit_threads_now(void)
{
    pfd_kit_threads now = {.num_ids = 0};
    const int32_t most = sizeof now.ids / sizeof *now.ids;
    DIR *folder = opendir("/proc/self/task");
    if (!folder) return now;
    for (const struct dirent *entry = readdir(folder); entry && now.num_ids < most;
         entry = readdir(folder))
        if (entry->d_name[0] != '.')
            now.ids[now.num_ids++] = (int32_t)strtol(entry->d_name, NULL, 10);
    (void)closedir(folder);
    return now;
}

/* One that there was not before; 0: none. */
static int32_t added(const pfd_kit_threads *before)
{
    pfd_kit_threads now = pfd_kit_threads_now();
    for (int32_t i = 0; i < now.num_ids; i++) {
        int32_t k = 0;
        while (k < before->num_ids && before->ids[k] != now.ids[i]) k++;
        if (k == before->num_ids) return now.ids[i];
    }
    return 0;
}

static void name_of(int32_t id, char *out, int size)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/self/task/%d/comm", id);
    FILE *file = fopen(path, "r");
    out[0] = '\0';
    if (!file) return;
    if (!fgets(out, size, file)) out[0] = '\0';
    out[strcspn(out, "\n")] = '\0';
    (void)fclose(file);
}

void pfd_kit_threads_check(pfd_kit_run_state *run, const pfd_kit_threads *before)
{
    const struct timespec moment = {.tv_nsec = 1000000};
    static int32_t is_told; /* it takes time to be sure */
    char name[32];
    int32_t id = is_told ? 0 : added(before);
    /* One that has ended is listed for a moment. */
    for (int i = 0; id && i < 200; i++) {
        (void)nanosleep(&moment, NULL);
        id = added(before);
    }
    if (!id) return;
    is_told = 1;
    name_of(id, name, sizeof name);
    pfd_kit_report(run, "leaves-thread",
                   "a thread (\"%s\") that the op started is running after close(): it may use "
                   "what close() has freed, and each epoch leaves one more; end and join it in "
                   "close(), and where open() fails",
                   name);
}
