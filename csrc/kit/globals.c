/* Watches the global memory of a plugin: an op that keeps state there depends on what came before.
 *
 * All writable memory of the library is copied after a first round, in which tables may be made
 * once, and compared after each call. */
#include "kit/run_state.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
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

void pfd_kit_globals_open(pfd_kit_run_state *run)
{
    library = (watched){0};
    Dl_info found;
    if (!strcmp(run->node->op->origin, "built in")) return; /* this library, which has state */
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

/* ---- The name of what changed -----------------------------------------------------------------
 */
typedef struct mapped_file {
    const uint8_t *data;
    size_t size;
} mapped_file;

static int32_t is_inside(const mapped_file *file, uint64_t offset, uint64_t size)
{
    return offset <= file->size && size <= file->size - offset;
}

/* The object in this table of symbols that an address of the file lies in; NULL: none. */
static const char *search_table(const mapped_file *file, const ElfW(Shdr) * table,
                                const ElfW(Shdr) * names, uint64_t address)
{
    if (!is_inside(file, table->sh_offset, table->sh_size) ||
        !is_inside(file, names->sh_offset, names->sh_size) || names->sh_size == 0 ||
        file->data[names->sh_offset + names->sh_size - 1] != '\0')
        return NULL;
    const ElfW(Sym) *symbols = (const void *)(file->data + table->sh_offset);
    for (size_t i = 0; i < table->sh_size / sizeof *symbols; i++)
        if ((symbols[i].st_info & 0xf) == STT_OBJECT && symbols[i].st_name < names->sh_size &&
            address >= symbols[i].st_value && address - symbols[i].st_value < symbols[i].st_size)
            return (const char *)file->data + names->sh_offset + symbols[i].st_name;
    return NULL;
}

static const char *search(const mapped_file *file, uint64_t address)
{
    const ElfW(Ehdr) *header = (const void *)file->data;
    if (file->size < sizeof *header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_shentsize != sizeof(ElfW(Shdr)) ||
        !is_inside(file, header->e_shoff, (uint64_t)header->e_shnum * sizeof(ElfW(Shdr))))
        return NULL;
    const ElfW(Shdr) *sections = (const void *)(file->data + header->e_shoff);
    for (int i = 0; i < header->e_shnum; i++) {
        if (sections[i].sh_type != SHT_SYMTAB || sections[i].sh_link >= header->e_shnum) continue;
        const char *name =
            search_table(file, &sections[i], &sections[sections[i].sh_link], address);
        if (name) return name;
    }
    return NULL;
}

static void name_variable(uint64_t address, char *out, size_t capacity)
{
    out[0] = '\0';
    int fd = open(library.path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd < 0) return;
    if (fstat(fd, &st) == 0 && st.st_size > 0) {
        void *data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (data != MAP_FAILED) {
            const char *name = search(&(mapped_file){data, (size_t)st.st_size}, address);
            if (name) snprintf(out, capacity, " '%s'", name);
            munmap(data, (size_t)st.st_size);
        }
    }
    close(fd);
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
        name_variable((uint64_t)((uintptr_t)one->data + (uintptr_t)at - library.base), name,
                      sizeof name);
        pfd_kit_report(run, "global-state",
                       "%s changed the global or static variable%s: several threads are in the "
                       "function at once, and rows must not depend on those before; keep it on the "
                       "stack or in host->alloc() memory",
                       function, name);
        run->watch = 0;
    }
}
