/* Redirects calls of the C library's functions, by the pointers in global offset tables. */
#include "watch/interposed.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Sanitizers replace the same pointers. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CAN_INTERPOSE 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CAN_INTERPOSE 0
#endif
#endif
#ifndef CAN_INTERPOSE
#if defined(__x86_64__)
#define CAN_INTERPOSE 1
#define IS_POINTER_TO_FUNCTION(type) ((type) == R_X86_64_JUMP_SLOT || (type) == R_X86_64_GLOB_DAT)
#elif defined(__aarch64__)
#define CAN_INTERPOSE 1
#define IS_POINTER_TO_FUNCTION(type) ((type) == R_AARCH64_JUMP_SLOT || (type) == R_AARCH64_GLOB_DAT)
#else
#define CAN_INTERPOSE 0
#endif
#endif

#if CAN_INTERPOSE
static int32_t set_protection(uintptr_t slot, int protection)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    return mprotect((void *)(slot / page * page), page, protection) == 0;
}

static int32_t write_slot(const pfd_interposed_slot *entry, uintptr_t value)
{
    if (entry->read_only && !set_protection(entry->slot, PROT_READ | PROT_WRITE)) return 0;
    __atomic_store_n((uintptr_t *)entry->slot, value, __ATOMIC_RELEASE);
    return !entry->read_only || set_protection(entry->slot, PROT_READ);
}

static int32_t remember(pfd_interposition *self, const pfd_interposed_slot *entry)
{
    if (self->num_slots == self->capacity) {
        int64_t capacity = self->capacity ? 2 * self->capacity : 256;
        pfd_interposed_slot *grown = realloc(self->slots, (size_t)capacity * sizeof *grown);
        if (!grown) return 0;
        self->slots = grown;
        self->capacity = capacity;
    }
    self->slots[self->num_slots++] = *entry;
    return 1;
}

static uintptr_t replacement_of(const pfd_interposition *self, const char *function)
{
    for (size_t i = 0; i < self->num_functions; i++)
        if (!strcmp(function, self->functions[i].name))
            return (uintptr_t)self->functions[i].replacement;
    return 0;
}

/* The parts that are needed of a library's dynamic section. */
typedef struct dynamic {
    const ElfW(Rela) * relocations[2]; /* of data, and of calls */
    size_t bytes[2];
    const ElfW(Sym) * symbols;
    const char *names;
} dynamic;

/* The linker has relocated the addresses in the section, except in objects that it may not write
 * to. */
static const void *address(const struct dl_phdr_info *info, ElfW(Addr) found)
{
    return (const void *)(found < info->dlpi_addr ? info->dlpi_addr + found : found);
}

static dynamic read_dynamic(const struct dl_phdr_info *info, const ElfW(Dyn) * entry)
{
    dynamic found = {0};
    for (; entry->d_tag != DT_NULL; entry++) {
        const void *at = address(info, entry->d_un.d_ptr);
        if (entry->d_tag == DT_RELA) found.relocations[0] = at;
        if (entry->d_tag == DT_RELASZ) found.bytes[0] = entry->d_un.d_val;
        if (entry->d_tag == DT_JMPREL) found.relocations[1] = at;
        if (entry->d_tag == DT_PLTRELSZ) found.bytes[1] = entry->d_un.d_val;
        if (entry->d_tag == DT_SYMTAB) found.symbols = at;
        if (entry->d_tag == DT_STRTAB) found.names = at;
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

static int32_t find_slot(pfd_interposition *self, const struct dl_phdr_info *info,
                         const dynamic *from, const ElfW(Rela) * relocation)
{
    if (!IS_POINTER_TO_FUNCTION(ELF64_R_TYPE(relocation->r_info))) return 1;
    const ElfW(Sym) *symbol = &from->symbols[ELF64_R_SYM(relocation->r_info)];
    uintptr_t replacement = replacement_of(self, from->names + symbol->st_name);
    if (!replacement) return 1;
    pfd_interposed_slot entry = {.slot = info->dlpi_addr + relocation->r_offset};
    entry.before = *(const uintptr_t *)entry.slot;
    entry.read_only = is_read_only(info, entry.slot);
    entry.replacement = replacement;
    return remember(self, &entry);
}

static int32_t is_own(const struct dl_phdr_info *info)
{
    static const char own_byte;
    Dl_info own;
    return dladdr(&own_byte, &own) && (ElfW(Addr))own.dli_fbase == info->dlpi_addr;
}

static int find_in(struct dl_phdr_info *info, size_t size, void *ctx)
{
    (void)size;
    pfd_interposition *self = ctx;
    if (self->library && strcmp(info->dlpi_name, self->library) != 0) return 0;
    if (self->but_own && is_own(info)) return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
        const void *section = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
        dynamic found = read_dynamic(info, section);
        if (!found.symbols || !found.names) return 0;
        for (int kind = 0; kind < 2; kind++)
            for (size_t at = 0; at < found.bytes[kind] / sizeof(ElfW(Rela)); at++)
                if (!find_slot(self, info, &found, &found.relocations[kind][at])) {
                    self->failed = 1;
                    return 1;
                }
    }
    return 0;
}

/* Restores pointers only in libraries that are still loaded. */
static int put_back_in(struct dl_phdr_info *info, size_t size, void *ctx)
{
    (void)size;
    const pfd_interposition *self = ctx;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_W)) continue;
        for (int64_t k = 0; k < self->num_slots; k++)
            if (self->slots[k].slot >= begin && self->slots[k].slot < begin + segment->p_memsz)
                (void)write_slot(&self->slots[k], self->slots[k].before);
    }
    return 0;
}

static void put_back(pfd_interposition *self)
{
    dl_iterate_phdr(put_back_in, self);
    free(self->slots);
    self->slots = NULL;
    self->num_slots = self->capacity = 0;
}

static int32_t redirect(pfd_interposition *self)
{
    dl_iterate_phdr(find_in, self);
    for (int64_t i = 0; i < self->num_slots && !self->failed; i++)
        self->failed = !write_slot(&self->slots[i], self->slots[i].replacement);
    if (!self->failed) return 1;
    put_back(self);
    return 0;
}

#else
static void put_back(pfd_interposition *self)
{
    (void)self;
}

static int32_t redirect(pfd_interposition *self)
{
    (void)self;
    return 0;
}
#endif

int32_t pfd_interposition_open(pfd_interposition *self, const pfd_interposed_function *functions,
                               size_t n, const char *library)
{
    *self = (pfd_interposition){.functions = functions, .num_functions = n, .library = library};
    return self->is_open = library && redirect(self);
}

int32_t pfd_interposition_open_all(pfd_interposition *self,
                                   const pfd_interposed_function *functions, size_t n,
                                   int32_t but_own)
{
    *self = (pfd_interposition){.functions = functions, .num_functions = n, .but_own = but_own};
    return self->is_open = redirect(self);
}

void pfd_interposition_close(pfd_interposition *self)
{
    if (self->is_open) put_back(self);
    self->is_open = 0;
}
