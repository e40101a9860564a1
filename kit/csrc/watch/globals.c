/* Watches the global memory of a plugin: an op that keeps state there depends on what came before.
 *
 * All writable memory of the library is copied after a first round, in which tables may be made
 * once, and compared after each call. */
#include "check/run_state.h"
#include "watch/symbols.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { most_segments = 8 };
static const int64_t MOST_BYTES = INT64_C(16) << 20; /* more would be slow */

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
        if (!strcmp(function, "open()")) { /* on one thread: a count of sources, for example */
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
