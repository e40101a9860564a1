/* Runs the kit over an op without Python, so that sanitizers see only the op.
 *
 *   samples JOB FOLDER...   the reader reads its files in each of the folders in turn
 *
 * A line "case<tab>FOLDER" on stdout comes before the findings in a folder.  A folder after which
 * AddressSanitizer finds a leak is the last one. */
#include "job.h"

#include <stdio.h>
#include <stdlib.h>

extern size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));
extern void __tsan_acquire(void *address) __attribute__((weak)); /* NULL without ThreadSanitizer */
extern int __lsan_do_recoverable_leak_check(void) __attribute__((weak));

static const pfd_kit_options runs[] = {
    {.order = PFD_KIT_FORWARD, .range = 16, .num_threads = 1},
    {.order = PFD_KIT_SHUFFLED, .range = 3, .num_threads = 1},
    {.order = PFD_KIT_STREAM, .range = 5, .num_threads = 1},
    {.order = PFD_KIT_FORWARD, .range = 2, .num_threads = 4},
};

/* Threads meet by chance, so ThreadSanitizer needs many passes: over the first folder, which has
 * the intact sample, or the only wanted case. */
static int threaded_passes(int is_first)
{
    const int has_tsan = __tsan_acquire != NULL;
    return has_tsan && is_first ? 64 : 1;
}

/* The search takes a while, so it is for folders that left some memory. */
static size_t bytes_in_use(void)
{
    const int can_search = __lsan_do_recoverable_leak_check != NULL;
    return can_search ? __sanitizer_get_current_allocated_bytes() : 0;
}

static void run_in(const char *folder, int is_first)
{
    pfd_kit_result result;
    size_t before = bytes_in_use();
    printf("case\t%s\n", folder);
    fflush(stdout);
    pfd_node *node = job_make(folder);
    for (size_t k = 0; k < sizeof runs / sizeof *runs; k++) {
        int passes = runs[k].num_threads > 1 ? threaded_passes(is_first) : 1;
        while (passes-- > 0) (void)job_run(node, runs[k], &result);
    }
    job_release();
    if (bytes_in_use() > before && __lsan_do_recoverable_leak_check()) _Exit(1);
}

int main(int argc, char **argv)
{
    if (argc < 3) job_fail("usage", "samples JOB FOLDER...");
    job_read(argv[1]);
    for (int i = 2; i < argc; i++) run_in(argv[i], i == 2);
    return 0;
}
