/* Counts allocations by redirecting the calls of all loaded libraries to its own counters.
 *
 * A library calls malloc() through a pointer in its global offset table, which the dynamic linker
 * has filled in.  Each such pointer is replaced, and put back at the end. */
#include "kit/malloc_count.h"

#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Sanitizers replace the same pointers. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CAN_COUNT 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CAN_COUNT 0
#endif
#endif
#ifndef CAN_COUNT
#if defined(__x86_64__)
#define CAN_COUNT 1
#define IS_POINTER_TO_FUNCTION(type) ((type) == R_X86_64_JUMP_SLOT || (type) == R_X86_64_GLOB_DAT)
#elif defined(__aarch64__)
#define CAN_COUNT 1
#define IS_POINTER_TO_FUNCTION(type) ((type) == R_AARCH64_JUMP_SLOT || (type) == R_AARCH64_GLOB_DAT)
#else
#define CAN_COUNT 0
#endif
#endif

#if CAN_COUNT
void *memalign(size_t alignment, size_t size); /* in no standard header */

/* The functions themselves; looked up before any pointer is replaced. */
static void *(*real_malloc)(size_t);
static void *(*real_calloc)(size_t, size_t);
static void *(*real_realloc)(void *, size_t);
static void *(*real_aligned_alloc)(size_t, size_t);
static int (*real_posix_memalign)(void **, size_t, size_t);
static void *(*real_memalign)(size_t, size_t);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_t counting; /* the thread; set before any pointer is replaced */
static pfd_malloc_count count;

static void add(size_t bytes)
{
    if (!pthread_equal(pthread_self(), counting)) return;
    count.calls++;
    count.bytes += (int64_t)bytes;
}

static void *counted_malloc(size_t size)
{
    add(size);
    return real_malloc(size);
}

static void *counted_calloc(size_t n, size_t size)
{
    add(n * size);
    return real_calloc(n, size);
}

static void *counted_realloc(void *memory, size_t size)
{
    add(size);
    return real_realloc(memory, size);
}

static void *counted_aligned_alloc(size_t alignment, size_t size)
{
    add(size);
    return real_aligned_alloc(alignment, size);
}

static int counted_posix_memalign(void **out, size_t alignment, size_t size)
{
    add(size);
    return real_posix_memalign(out, alignment, size);
}

static void *counted_memalign(size_t alignment, size_t size)
{
    add(size);
    return real_memalign(alignment, size);
}

static uintptr_t counter_of(const char *function)
{
    if (!strcmp(function, "malloc")) return (uintptr_t)counted_malloc;
    if (!strcmp(function, "calloc")) return (uintptr_t)counted_calloc;
    if (!strcmp(function, "realloc")) return (uintptr_t)counted_realloc;
    if (!strcmp(function, "aligned_alloc")) return (uintptr_t)counted_aligned_alloc;
    if (!strcmp(function, "posix_memalign")) return (uintptr_t)counted_posix_memalign;
    if (!strcmp(function, "memalign")) return (uintptr_t)counted_memalign;
    return 0;
}

/* ---- Replacing pointers ---------------------------------------------------------------------- */
typedef struct replaced {
    uintptr_t slot, before;
    int32_t read_only; /* its page was */
} replaced;

static replaced *slots;
static int64_t num_slots, slots_capacity;

static int32_t set_protection(uintptr_t slot, int protection)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    return mprotect((void *)(slot / page * page), page, protection) == 0;
}

static int32_t write_slot(const replaced *entry, uintptr_t value)
{
    if (entry->read_only && !set_protection(entry->slot, PROT_READ | PROT_WRITE)) return 0;
    __atomic_store_n((uintptr_t *)entry->slot, value, __ATOMIC_RELEASE);
    return !entry->read_only || set_protection(entry->slot, PROT_READ);
}

static int32_t remember(const replaced *entry)
{
    if (num_slots == slots_capacity) {
        int64_t capacity = slots_capacity ? 2 * slots_capacity : 1024;
        replaced *grown = real_realloc(slots, (size_t)capacity * sizeof *grown);
        if (!grown) return 0;
        slots = grown;
        slots_capacity = capacity;
    }
    slots[num_slots++] = *entry;
    return 1;
}

/* The parts of a library's dynamic section that are needed. */
typedef struct dynamic {
    const ElfW(Rela) * relocations[2]; /* of data, of calls */
    size_t bytes[2];
    const ElfW(Sym) * symbols;
    const char *names;
} dynamic;

/* Addresses there are relocated already, except in objects that the linker may not write to. */
static const void *address(const struct dl_phdr_info *info, ElfW(Addr) found)
{
    return (const void *)(found < info->dlpi_addr ? info->dlpi_addr + found : found);
}

static dynamic read_dynamic(const struct dl_phdr_info *info, const ElfW(Dyn) * entry)
{
    dynamic found = {0};
    for (; entry->d_tag != DT_NULL; entry++) {
        const void *at = address(info, entry->d_un.d_ptr);
        switch (entry->d_tag) {
        case DT_RELA:
            found.relocations[0] = at;
            break;
        case DT_RELASZ:
            found.bytes[0] = entry->d_un.d_val;
            break;
        case DT_JMPREL:
            found.relocations[1] = at;
            break;
        case DT_PLTRELSZ:
            found.bytes[1] = entry->d_un.d_val;
            break;
        case DT_SYMTAB:
            found.symbols = at;
            break;
        case DT_STRTAB:
            found.names = at;
            break;
        default:
            break;
        }
    }
    return found;
}

static int32_t is_read_only(const struct dl_phdr_info *info, uintptr_t slot)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type == PT_GNU_RELRO && slot >= begin && slot < begin + segment->p_memsz)
            return 1;
    }
    return 0;
}

static int32_t replace_slot(const struct dl_phdr_info *info, const dynamic *from,
                            const ElfW(Rela) * relocation)
{
    if (!IS_POINTER_TO_FUNCTION(ELF64_R_TYPE(relocation->r_info))) return 1;
    const ElfW(Sym) *symbol = &from->symbols[ELF64_R_SYM(relocation->r_info)];
    uintptr_t counter = counter_of(from->names + symbol->st_name);
    if (!counter) return 1;
    replaced entry = {.slot = info->dlpi_addr + relocation->r_offset};
    entry.before = *(const uintptr_t *)entry.slot;
    entry.read_only = is_read_only(info, entry.slot);
    return remember(&entry) && write_slot(&entry, counter);
}

static int replace_in(struct dl_phdr_info *info, size_t size, void *failed)
{
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
        const void *section = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
        dynamic found = read_dynamic(info, section);
        if (!found.symbols || !found.names) return 0;
        for (int kind = 0; kind < 2; kind++)
            for (size_t at = 0; at < found.bytes[kind] / sizeof(ElfW(Rela)); at++)
                if (!replace_slot(info, &found, &found.relocations[kind][at])) {
                    *(int32_t *)failed = 1;
                    return 1;
                }
    }
    return 0;
}

/* Only in what is still loaded. */
static int put_back_in(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_W)) continue;
        for (int64_t k = 0; k < num_slots; k++)
            if (slots[k].slot >= begin && slots[k].slot < begin + segment->p_memsz)
                (void)write_slot(&slots[k], slots[k].before);
    }
    return 0;
}

int32_t pfd_malloc_count_begin(void)
{
    pthread_mutex_lock(&lock);
    real_malloc = malloc;
    real_calloc = calloc;
    real_realloc = realloc;
    real_aligned_alloc = aligned_alloc;
    real_posix_memalign = posix_memalign;
    real_memalign = memalign;
    counting = pthread_self();
    count = (pfd_malloc_count){0};
    int32_t failed = 0;
    dl_iterate_phdr(replace_in, &failed);
    if (failed) {
        pfd_malloc_count_end();
        return 0;
    }
    count = (pfd_malloc_count){0};
    return 1;
}

pfd_malloc_count pfd_malloc_count_now(void)
{
    return count;
}

void pfd_malloc_count_end(void)
{
    dl_iterate_phdr(put_back_in, NULL);
    num_slots = slots_capacity = 0;
    free(slots);
    slots = NULL;
    pthread_mutex_unlock(&lock);
}

#else
int32_t pfd_malloc_count_begin(void)
{
    return 0;
}

pfd_malloc_count pfd_malloc_count_now(void)
{
    return (pfd_malloc_count){0};
}

void pfd_malloc_count_end(void)
{
}
#endif
