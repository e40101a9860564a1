/* Memory and descriptors in use by this process, to find leaks. */
#include "check/guard.h"
#include "check/run_state.h"

#include <dirent.h>
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The result of mallinfo2(), which only newer C libraries have; it is looked up when needed. */
struct heap_facts {
    size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};

static int64_t heap_in_use(void)
{
    struct heap_facts (*mallinfo_of_libc)(void) = NULL;
    void *symbol = dlsym(RTLD_DEFAULT, "mallinfo2");
    if (!symbol) return -1;
    memcpy(&mallinfo_of_libc, &symbol, sizeof symbol);
    struct heap_facts facts = mallinfo_of_libc();
    return (int64_t)(facts.uordblks + facts.hblkhd);
}

static int64_t address_space(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    long long pages = 0;
    if (!file) return 0;
    if (fscanf(file, "%lld", &pages) != 1) pages = 0;
    (void)fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

static int64_t open_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    if (!folder) return -1;
    int64_t n = 0;
    while (readdir(folder)) n++;
    (void)closedir(folder);
    return n;
}

static int64_t least(int64_t one, int64_t two)
{
    return one < two ? one : two;
}

void pfd_kit_usage_add(pfd_kit_usage *usage, int32_t is_first)
{
    pfd_kit_usage now = {heap_in_use(), address_space() - pfd_guard_mapped(), open_descriptors()};
    if (is_first) {
        *usage = now;
        return;
    }
    usage->heap = least(usage->heap, now.heap);
    usage->mapped = least(usage->mapped, now.mapped);
    usage->descriptors = least(usage->descriptors, now.descriptors);
}

/* Returns the growth per round if each part of the rounds grew by about the same; otherwise 0.
 * Caches, such as those of malloc(), grow and shrink irregularly. */
static int64_t growth(const int64_t *used, int32_t n, int64_t rounds)
{
    int64_t least = INT64_MAX, most = 0;
    for (int32_t i = 1; i < n; i++) {
        int64_t grown = used[i] - used[i - 1];
        if (used[i - 1] < 0 || grown < rounds) return 0; /* a byte a round */
        if (grown < least) least = grown;
        if (grown > most) most = grown;
    }
    return n > 3 && most > least + least / 2 ? 0 : least / rounds;
}

/* In which rounds it grew, and what to do: a call for a record failed, or anything else. */
typedef struct circumstances {
    char rounds[256];
    const char *to_close, *to_free, *to_unmap;
} circumstances;

static circumstances describe(const pfd_kit_result *result)
{
    circumstances at = {.to_close = "close them in close(), and where open() fails",
                        .to_free = "free all of it in close(), and where open() fails; use "
                                   "host->alloc() for what a call needs",
                        .to_unmap = "unmap it in close(), and where open() fails"};
    int32_t failed = result->status != PFD_OK;
    if (!failed || !strcmp(result->function, "open()")) {
        (void)snprintf(at.rounds, sizeof at.rounds, "of opening, reading and closing%s",
                       failed ? " that failed" : "");
        return at;
    }
    (void)snprintf(at.rounds, sizeof at.rounds, "in which %s failed (\"%.160s\")", result->function,
                   result->error.message);
    at.to_close = "close them before each return, also where the call fails";
    at.to_free = "free it before each return, also where the call fails, or take memory of "
                 "host->alloc(), which need not be freed";
    at.to_unmap = "unmap it before each return, also where the call fails";
    return at;
}

void pfd_kit_usage_compare(pfd_kit_run_state *run, const pfd_kit_usage *usages, int32_t n,
                           int64_t rounds)
{
    circumstances at = describe(run->result);
    int64_t in_heap[PFD_KIT_USAGES], in_map[PFD_KIT_USAGES], in_table[PFD_KIT_USAGES];
    for (int32_t i = 0; i < n; i++) {
        in_heap[i] = usages[i].heap;
        in_map[i] = usages[i].mapped;
        in_table[i] = usages[i].descriptors;
    }
    int64_t files = growth(in_table, n, rounds), heap = growth(in_heap, n, rounds);
    int64_t mapped = growth(in_map, n, rounds);
    if (files)
        pfd_kit_report(run, "leaks-descriptors",
                       "each round %s left %" PRId64 " descriptors open: %s", at.rounds, files,
                       at.to_close);
    if (heap)
        pfd_kit_report(run, "leaks-memory",
                       "each round %s left %" PRId64 " bytes of malloc() memory unfreed: %s",
                       at.rounds, heap, at.to_free);
    else if (mapped >= 4096)
        pfd_kit_report(run, "leaks-memory",
                       "each round %s left %" PRId64 " bytes of memory mapped: %s", at.rounds,
                       mapped, at.to_unmap);
}
