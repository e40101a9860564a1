/* Finds the names of variables and functions, also of static ones, in the files of libraries. */
#include "watch/symbols.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct mapped_file {
    const uint8_t *data;
    size_t size;
} mapped_file;

static int32_t is_inside(const mapped_file *file, uint64_t offset, uint64_t size)
{
    return offset <= file->size && size <= file->size - offset;
}

/* Finds the variable or function of this table that has an address of the file; NULL: none. */
static const char *search_table(const mapped_file *file, const ElfW(Shdr) * table,
                                const ElfW(Shdr) * names, int type, uint64_t address)
{
    if (!is_inside(file, table->sh_offset, table->sh_size) ||
        !is_inside(file, names->sh_offset, names->sh_size) || names->sh_size == 0 ||
        file->data[names->sh_offset + names->sh_size - 1] != '\0')
        return NULL;
    const ElfW(Sym) *symbols = (const void *)(file->data + table->sh_offset);
    for (size_t i = 0; i < table->sh_size / sizeof *symbols; i++)
        if ((symbols[i].st_info & 0xf) == type && symbols[i].st_name < names->sh_size &&
            address >= symbols[i].st_value && address - symbols[i].st_value < symbols[i].st_size)
            return (const char *)file->data + names->sh_offset + symbols[i].st_name;
    return NULL;
}

static const char *search(const mapped_file *file, int type, uint64_t address)
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
            search_table(file, &sections[i], &sections[sections[i].sh_link], type, address);
        if (name) return name;
    }
    return NULL;
}

void pfd_symbol_in_file(const char *path, uint64_t address, int32_t is_function, char *out,
                        size_t size)
{
    out[0] = '\0';
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd < 0) return;
    if (fstat(fd, &st) == 0 && st.st_size > 0) {
        void *data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (data != MAP_FAILED) {
            const char *name = search(&(mapped_file){data, (size_t)st.st_size},
                                      is_function ? STT_FUNC : STT_OBJECT, address);
            if (name) (void)snprintf(out, size, " '%s'", name);
            munmap(data, (size_t)st.st_size);
        }
    }
    close(fd);
}

void pfd_symbol_at(const void *address, int32_t is_function, char *out, size_t size)
{
    Dl_info found;
    out[0] = '\0';
    if (dladdr(address, &found) && found.dli_fname)
        pfd_symbol_in_file(found.dli_fname,
                           (uint64_t)((uintptr_t)address - (uintptr_t)found.dli_fbase), is_function,
                           out, size);
}
