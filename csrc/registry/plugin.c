/* Loads plugins: shared libraries with ops.
 *
 * A plugin stays loaded until the process ends, because nodes and batches point into it. */
#include "core/error.h"
#include "core/system_calls.h"
#include "registry/registry.h"
#include "registry/version.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Is the file a library for this machine? ------------------------------------------------- */

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
                    "the shared library is cut off after %" PRId64 " bytes: compile it again",
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
        int reason;
        if (place < 0 || pfd_sys_read(NULL, file, place, sizeof segment, (uint8_t *)&segment,
                                      &reason) != sizeof segment)
            return fail_cut_off(size, err);
        if (segment.p_type != PT_LOAD) continue;
        if (segment.p_offset > (uint64_t)size ||
            segment.p_filesz > (uint64_t)size - segment.p_offset)
            return fail_cut_off(size, err);
    }
    return PFD_OK;
}

static pfd_status fail_call(const char *what, int reason, pfd_error *err)
{
    (void)pfd_fail(err, PFD_IO, "cannot be %s: %s", what, strerror(reason));
    return pfd_error_set_errno(err, reason);
}

static pfd_status check_file(int file, pfd_error *err)
{
    struct stat about;
    if (fstat(file, &about) != 0 || !S_ISREG(about.st_mode))
        return pfd_fail(err, PFD_INVALID_ARGUMENT, "this is not a file, but a folder or a device");
    ElfW(Ehdr) header;
    memset(&header, 0, sizeof header);
    int reason;
    (void)pfd_sys_read(NULL, file, 0, sizeof header, (uint8_t *)&header, &reason);
    if (reason) return fail_call("read", reason, err);
    PFD_TRY(check_header(&header, about.st_size, err));
    return check_segments(file, &header, about.st_size, err);
}

/* PFD_OK: by its first bytes the file is a shared library for this machine.  PFD_INVALID_ARGUMENT,
 * PFD_UNSUPPORTED or PFD_IO says what else it is.  Call it before dlopen(), which reports a library
 * for another processor as a missing file. */
static pfd_status check_library(const char *path, pfd_error *err)
{
    int file = pfd_sys_open(NULL, AT_FDCWD, path, O_NONBLOCK);
    if (file < 0) return fail_call("opened", errno, err);
    pfd_status status = check_file(file, err);
    (void)close(file);
    return status;
}

/* Fails with PFD_IO, the text of dlerror(), and a hint if the cause is known. */
static pfd_status fail_load(const char *said, pfd_error *err)
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

/* ---- Loading --------------------------------------------------------------------------------- */

#define ENTRY_OF(major) ENTRY_OF_NUMBER(major)
#define ENTRY_OF_NUMBER(major) "pfd_plugin_v" #major

enum { most_bytes = 4096 }; /* a larger struct_size is memory that was never set */

typedef const pfd_plugin *(*plugin_entry)(void);

/* Returns another major version for which the library has an entry; -1: none. */
static int32_t other_major(void *library)
{
    char symbol[32];
    for (int32_t major = 0; major < 100; major++) {
        snprintf(symbol, sizeof symbol, "pfd_plugin_v%d", major);
        if (major != PFD_ABI_MAJOR && dlsym(library, symbol)) return major;
    }
    return -1;
}

static pfd_status fail_major(int32_t major, pfd_error *err)
{
    return pfd_fail(err, PFD_UNSUPPORTED,
                    "the plugin was made for version %d of the plugin interface, this pyflowdata "
                    "(%s) has version %d: %s",
                    major, PFD_VERSION, PFD_ABI_MAJOR,
                    major < PFD_ABI_MAJOR ? "compile the plugin with the headers of this pyflowdata"
                                          : "use a newer pyflowdata");
}

static pfd_status fail_entry(void *library, pfd_error *err)
{
    int32_t major = other_major(library);
    if (major >= 0) return fail_major(major, err);
    return pfd_fail(err, PFD_INVALID_ARGUMENT,
                    "the library is not a plugin, it exports no function %s: end one of its C "
                    "files with PFD_PLUGIN(\"name\", \"1.0\", &pfd_op_...)",
                    ENTRY_OF(PFD_ABI_MAJOR));
}

static pfd_status fault(const char *found, pfd_error *err)
{
    return pfd_fail(err, PFD_INTERNAL, "the pfd_plugin that %s() returned: %s; use PFD_PLUGIN()",
                    ENTRY_OF(PFD_ABI_MAJOR), found);
}

static pfd_status check_plugin(const pfd_plugin *plugin, pfd_error *err)
{
    if (!plugin) return fault("it is NULL", err);
    if (plugin->struct_size < offsetof(pfd_plugin, version) || plugin->struct_size > most_bytes)
        return fault("struct_size is not sizeof(pfd_plugin)", err);
    if (plugin->abi_major != PFD_ABI_MAJOR) return fail_major(plugin->abi_major, err);
    if (plugin->abi_minor > PFD_ABI_MINOR)
        return pfd_fail(err, PFD_UNSUPPORTED,
                        "the plugin needs version %d.%d of the plugin interface, this pyflowdata "
                        "(%s) has %d.%d: use a newer pyflowdata, or compile the plugin with the "
                        "headers of this one, or with -DPFD_ABI_MINOR_NEEDED=%d if it uses "
                        "nothing newer",
                        plugin->abi_major, plugin->abi_minor, PFD_VERSION, PFD_ABI_MAJOR,
                        PFD_ABI_MINOR, PFD_ABI_MINOR);
    if (plugin->abi_minor < 0) return fault("abi_minor is negative", err);
    if (!plugin->ops) return fault("ops is NULL", err);
    if (plugin->num_ops == 0) return fault("num_ops is 0", err);
    if (plugin->num_ops > most_bytes) return fault("num_ops is above 4096", err);
    for (uint32_t i = 0; i < plugin->num_ops; i++)
        if (!plugin->ops[i])
            return pfd_fail(err, PFD_INTERNAL,
                            "the pfd_plugin that %s() returned: ops[%" PRIu32 "] is NULL",
                            ENTRY_OF(PFD_ABI_MAJOR), i);
    return PFD_OK;
}

/* Checks the formats, which headers have since 1.1. */
static pfd_status check_formats(const pfd_plugin *plugin, pfd_error *err)
{
    const size_t needed = offsetof(pfd_plugin, formats) + sizeof plugin->formats;
    if (plugin->struct_size < needed || plugin->num_formats == 0) return PFD_OK;
    if (plugin->num_formats > most_bytes) return fault("num_formats is above 4096", err);
    if (!plugin->formats) return fault("formats is NULL", err);
    for (uint32_t i = 0; i < plugin->num_formats; i++)
        if (!plugin->formats[i]) return fault("formats has an entry that is NULL", err);
    return PFD_OK;
}

/* Opens the library, and restores the floating-point mode: a library that is linked with
 * -ffast-math makes the thread that loads it flush small numbers to zero. */
static void *open_library(const char *path)
{
    fenv_t environment;
    (void)fegetenv(&environment);
    /* NOW: a missing symbol is found here.  LOCAL: plugins do not see each other. */
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    (void)fesetenv(&environment);
    return library;
}

static pfd_status load(const char *path, int32_t replace, const pfd_plugin **out, pfd_error *err)
{
    PFD_TRY(check_library(path, err));
    void *library = open_library(path);
    if (!library) return fail_load(dlerror(), err);
    plugin_entry entry = NULL;
    void *symbol = dlsym(library, ENTRY_OF(PFD_ABI_MAJOR));
    memcpy(&entry, &symbol, sizeof entry); /* ISO C has no cast from data to function */
    if (!entry) return fail_entry(library, err);
    const pfd_plugin *plugin = entry();
    PFD_TRY(check_plugin(plugin, err));
    PFD_TRY(check_formats(plugin, err));
    return pfd_registry_add(plugin, path, replace, out, err);
}

pfd_status pfd_library_load(const char *path, int32_t replace, const pfd_plugin **out,
                            pfd_error *err)
{
    PFD_TRY(pfd_registry_check(err));
    pfd_error_clear(err);
    /* Without a slash the system's folders would be searched. */
    char *file = realpath(path, NULL);
    if (!file)
        return pfd_fail_file(err, path, "the library to load is missing: %s", strerror(errno));
    pfd_status status = load(file, replace, out, err);
    free(file);
    if (status != PFD_OK) pfd_error_set_file(err, path);
    return status;
}

pfd_status pfd_plugin_add(const pfd_plugin *plugin, const char *origin, int32_t replace,
                          pfd_error *err)
{
    PFD_TRY(pfd_registry_check(err));
    pfd_error_clear(err);
    PFD_TRY(check_plugin(plugin, err));
    PFD_TRY(check_formats(plugin, err));
    return pfd_registry_add(plugin, origin, replace, NULL, err);
}
