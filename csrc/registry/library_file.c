/* Says why a file cannot be loaded as a shared library. */
#include "registry/library_file.h"

#include "core/error.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The ELF header of this library itself: a plugin must be compiled for the same machine. */
extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

static const struct {
    int32_t number;
    const char *name;
} MACHINES[] = {
    {EM_386, "x86 (32 bits)"}, {EM_X86_64, "x86-64"}, {EM_ARM, "ARM (32 bits)"},
    {EM_AARCH64, "aarch64"},   {EM_PPC64, "ppc64"},   {EM_S390, "s390"},
    {EM_RISCV, "RISC-V"},
};

static const char *machine_name(int32_t number, char *out, size_t capacity)
{
    for (size_t i = 0; i < sizeof MACHINES / sizeof MACHINES[0]; i++)
        if (MACHINES[i].number == number) return MACHINES[i].name;
    snprintf(out, capacity, "processor number %d", number);
    return out;
}

static pfd_status fail_machine(int32_t found, pfd_error *err)
{
    char theirs[32], ours[32];
    return pfd_fail(err, PFD_UNSUPPORTED,
                    "the library was compiled for %s, this process runs on %s: compile it for "
                    "this machine",
                    machine_name(found, theirs, sizeof theirs),
                    machine_name(__ehdr_start.e_machine, ours, sizeof ours));
}

static pfd_status fail_cut_off(int64_t size, pfd_error *err)
{
    return pfd_fail(err, PFD_INVALID_ARGUMENT,
                    "the shared library is cut off after %" PRId64 " bytes: "
                    "compile it again",
                    size);
}

static pfd_status check_header(const ElfW(Ehdr) * header, int64_t size, pfd_error *err)
{
    if (size < SELFMAG || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
        return pfd_fail(err, PFD_INVALID_ARGUMENT,
                        "the file is not a shared library: compile a source file first, for "
                        "example with pyflowdata.compile(); commands take a .c file, too");
    if (size < (int64_t)sizeof *header) return fail_cut_off(size, err);
    /* In another byte order e_machine cannot be read. */
    if (header->e_ident[EI_DATA] != __ehdr_start.e_ident[EI_DATA])
        return pfd_fail(err, PFD_UNSUPPORTED,
                        "the library was compiled for another byte order: compile it for this "
                        "machine");
    if (header->e_machine != __ehdr_start.e_machine) return fail_machine(header->e_machine, err);
    if (header->e_ident[EI_CLASS] != __ehdr_start.e_ident[EI_CLASS])
        return pfd_fail(err, PFD_UNSUPPORTED,
                        "the library was compiled for another size of pointers: compile it for "
                        "this machine");
    if (header->e_type == ET_REL)
        return pfd_fail(err, PFD_INVALID_ARGUMENT,
                        "the file is an object file: link it with cc -shared");
    return PFD_OK;
}

/* Checks that the file has all of its segments: the system maps these without a check, and the
 * process would crash if the file ends before. */
static pfd_status check_segments(int file, const ElfW(Ehdr) * header, int64_t size, pfd_error *err)
{
    ElfW(Phdr) segment;
    if (header->e_phentsize != sizeof segment)
        return pfd_fail(err, PFD_INVALID_ARGUMENT, "the shared library is damaged: e_phentsize");
    for (int i = 0; i < header->e_phnum; i++) {
        off_t place = (off_t)header->e_phoff + (off_t)i * (off_t)sizeof segment;
        if (place < 0 || pread(file, &segment, sizeof segment, place) != (ssize_t)sizeof segment)
            return fail_cut_off(size, err);
        if (segment.p_type != PT_LOAD) continue;
        if (segment.p_offset > (uint64_t)size ||
            segment.p_filesz > (uint64_t)size - segment.p_offset)
            return fail_cut_off(size, err);
    }
    return PFD_OK;
}

static pfd_status check_file(int file, pfd_error *err)
{
    struct stat about;
    if (fstat(file, &about) != 0 || !S_ISREG(about.st_mode))
        return pfd_fail(err, PFD_INVALID_ARGUMENT, "this is not a file, but a folder or a device");
    ElfW(Ehdr) header;
    memset(&header, 0, sizeof header);
    if (pread(file, &header, sizeof header, 0) < 0)
        return pfd_fail(err, PFD_IO, "cannot be read: %s", strerror(errno));
    PFD_TRY(check_header(&header, about.st_size, err));
    return check_segments(file, &header, about.st_size, err);
}

pfd_status pfd_library_file_check(const char *path, pfd_error *err)
{
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) return pfd_fail(err, PFD_IO, "cannot be opened: %s", strerror(errno));
    pfd_status status = check_file(file, err);
    (void)close(file);
    return status;
}

pfd_status pfd_library_file_fail(const char *said, pfd_error *err)
{
    const char *hint = "";
    if (!said) said = "the system does not say why";
    if (strstr(said, "undefined symbol"))
        hint = ": link the library that defines it to the plugin (-l...); functions of pyflowdata "
               "are called through args->host";
    else if (strstr(said, "cannot open shared object file"))
        hint = ": a library that the plugin was linked with is missing, `ldd` lists them";
    else if (strstr(said, "GLIBC"))
        hint = ": it was compiled on a newer system, compile it on this one";
    return pfd_fail(err, PFD_IO, "the plugin cannot be loaded: %s%s", said, hint);
}
