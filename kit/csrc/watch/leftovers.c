/* Watches what outlives a call or a run: global memory of the plugin, memory, descriptors,
 * threads. */
#include "watch/process_watch.h"
#include "watch/symbols.h"

#include <dirent.h>
#include <dlfcn.h>
#include <elf.h>
#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- Global memory of the plugin ------------------------------------------------------------- */

/* Watches the global memory of a plugin: an op that keeps state there depends on what came before.
 *
 * The first round may make tables once. Then all writable memory of the library is copied, and
 * compared after each call. */

enum { most_segments = 8 };

static const int64_t MOST_BYTES = INT64_C(16) << 20; /* comparing more would be slow */

typedef struct segment {
    uint8_t *data;
    int64_t bytes;
    uint8_t *copy;
} segment;

typedef struct watched {
    uintptr_t base; /* where the library is loaded */
    const char *path;
    segment segments[most_segments];
    int32_t num_segments;
    uintptr_t read_only, read_only_end; /* relocated once, then protected */
} watched;

static watched library;

static void add_segment(const ElfW(Phdr) * header)
{
    uintptr_t begin = library.base + header->p_vaddr, end = begin + header->p_memsz;
    if (begin < library.read_only_end && end > library.read_only) {
        const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
        begin = library.read_only_end / page * page;
    }
    if (begin >= end || library.num_segments == most_segments) return;
    segment *added = &library.segments[library.num_segments++];
    *added = (segment){.data = (uint8_t *)begin, .bytes = (int64_t)(end - begin)};
}

static int find_segments(struct dl_phdr_info *info, size_t size, void *ctx)
{
    (void)size, (void)ctx;
    if (info->dlpi_addr != library.base) return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type != PT_GNU_RELRO) continue;
        library.read_only = library.base + header->p_vaddr;
        library.read_only_end = library.read_only + header->p_memsz;
    }
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && (info->dlpi_phdr[i].p_flags & PF_W))
            add_segment(&info->dlpi_phdr[i]);
    return 1;
}

const char *pfd_kit_library_of(const pfd_kit_run_state *run)
{
    Dl_info found;
    if (!strcmp(run->node->op->origin, "built in")) return NULL; /* it shares the host's library */
    return dladdr((const void *)run->node->op->author, &found) ? found.dli_fname : NULL;
}

void pfd_kit_globals_open(pfd_kit_run_state *run)
{
    library = (watched){0};
    Dl_info found;
    if (!pfd_kit_library_of(run)) return;
    if (!dladdr((const void *)run->node->op->author, &found) || !found.dli_fbase) return;
    library.base = (uintptr_t)found.dli_fbase;
    library.path = run->node->op->origin;
    (void)dl_iterate_phdr(find_segments, NULL);
    for (int32_t i = 0; i < library.num_segments; i++) {
        segment *one = &library.segments[i];
        one->copy = one->bytes <= MOST_BYTES ? malloc((size_t)one->bytes) : NULL;
        if (one->copy) memcpy(one->copy, one->data, (size_t)one->bytes);
    }
    run->watch = 1;
}

void pfd_kit_globals_close(void)
{
    for (int32_t i = 0; i < library.num_segments; i++) free(library.segments[i].copy);
    library = (watched){0};
}

void pfd_kit_globals_check(pfd_kit_run_state *run, const char *function)
{
    for (int32_t i = 0; run->watch && i < library.num_segments; i++) {
        segment *one = &library.segments[i];
        if (!one->copy || !memcmp(one->copy, one->data, (size_t)one->bytes)) continue;
        if (!strcmp(function, "open()")) { /* on one thread; may count sources, for example */
            memcpy(one->copy, one->data, (size_t)one->bytes);
            continue;
        }
        int64_t at = 0;
        while (one->copy[at] == one->data[at]) at++;
        char name[128];
        pfd_symbol_in_file(library.path,
                           (uint64_t)((uintptr_t)one->data + (uintptr_t)at - library.base), 0, name,
                           sizeof name);
        pfd_kit_report(run, "global-state",
                       "%s changed the global or static variable%s: several threads are in the "
                       "function at once, and rows must not depend on those before; keep it on the "
                       "stack or in host->alloc() memory",
                       function, name);
        run->watch = 0;
    }
}

/* ---- Memory and descriptors in use, to find leaks -------------------------------------------- */

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

void pfd_kit_usage_add(pfd_kit_usage *usage, int64_t own_bytes, int32_t is_first)
{
    pfd_kit_usage now = {heap_in_use(), address_space() - own_bytes, open_descriptors()};
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

/* The rounds in which something grew, and the remedies: a call for a record failed, or not. */
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
    (void)snprintf(at.rounds, sizeof at.rounds, "in which %s failed (\"%.160s\")",
                   result->function, result->error.message);
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

/* ---- Threads that are left after close() ----------------------------------------------------- */
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

/* Returns a thread that did not exist before; 0: none. */
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
    static int32_t is_told; /* reported; to be sure takes time */
    char name[32];
    int32_t id = is_told ? 0 : added(before);
    /* A thread that has ended is listed for a moment. */
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
