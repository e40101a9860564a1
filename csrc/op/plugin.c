/* Loads plugins: shared libraries with ops of their own.
 *
 * A plugin stays loaded as long as the process, since nodes and batches point into it. */
#include "core/error.h"
#include "op/registry.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef const pfd_plugin *(*plugin_entry)(void);

/* The entry of another major version that the library has; 0: none. */
static int32_t other_major(void *library)
{
    char symbol[32];
    for (int32_t major = 0; major < 100; major++) {
        snprintf(symbol, sizeof symbol, "pfd_plugin_v%d", major);
        if (major != PFD_ABI_MAJOR && dlsym(library, symbol)) return major;
    }
    return -1;
}

static pfd_status fail_entry(void *library, pfd_error *err)
{
    int32_t major = other_major(library);
    if (major >= 0)
        return pfd_fail(err, PFD_UNSUPPORTED,
                        "the plugin was made for version %d of the plugin interface, this library "
                        "has version %d: %s",
                        major, PFD_ABI_MAJOR,
                        major < PFD_ABI_MAJOR ? "compile it anew with the headers of this version"
                                              : "use a newer pyflowdata");
    return pfd_fail(err, PFD_INVALID_ARGUMENT,
                    "the library has no function pfd_plugin_v%d: end one of its C files with "
                    "PFD_PLUGIN(\"name\", \"1.0\", &pfd_op_...)",
                    PFD_ABI_MAJOR);
}

static pfd_status check_plugin(const pfd_plugin *plugin, pfd_error *err)
{
    if (!plugin || plugin->struct_size < offsetof(pfd_plugin, name) || !plugin->ops)
        return pfd_fail(err, PFD_INTERNAL,
                        "pfd_plugin_v%d() returned no whole pfd_plugin; use PFD_PLUGIN()",
                        PFD_ABI_MAJOR);
    if (plugin->abi_major != PFD_ABI_MAJOR)
        return pfd_fail(err, PFD_UNSUPPORTED,
                        "the plugin needs version %d of the plugin interface, this library has %d",
                        plugin->abi_major, PFD_ABI_MAJOR);
    if (plugin->abi_minor > PFD_ABI_MINOR)
        return pfd_fail(err, PFD_UNSUPPORTED,
                        "the plugin needs version %d.%d of the plugin interface, this library has "
                        "%d.%d: use a newer pyflowdata, or compile the plugin with its headers, or "
                        "with -DPFD_ABI_MINOR_NEEDED=%d if it uses nothing newer",
                        plugin->abi_major, plugin->abi_minor, PFD_ABI_MAJOR, PFD_ABI_MINOR,
                        PFD_ABI_MINOR);
    if (plugin->num_ops == 0 || plugin->num_ops > 4096)
        return pfd_fail(err, PFD_INTERNAL, "the plugin says that it has %" PRIu32 " ops",
                        plugin->num_ops);
    for (uint32_t i = 0; i < plugin->num_ops; i++)
        if (!plugin->ops[i])
            return pfd_fail(err, PFD_INTERNAL, "the plugin's op number %" PRIu32 " is NULL", i);
    return PFD_OK;
}

static pfd_status load(const char *path, pfd_error *err)
{
    /* NOW: a missing symbol is found here.  LOCAL: plugins do not see each other. */
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library) return pfd_fail(err, PFD_IO, "the plugin cannot be loaded: %s", dlerror());
    plugin_entry entry = NULL;
    void *symbol = dlsym(library, "pfd_plugin_v1");
    memcpy(&entry, &symbol, sizeof entry); /* ISO C has no cast from data to function */
    if (!entry) return fail_entry(library, err);
    const pfd_plugin *plugin = entry();
    PFD_TRY(check_plugin(plugin, err));
    return pfd_registry_add(plugin, path, err);
}

pfd_status pfd_library_load(const char *path, pfd_error *err)
{
    PFD_TRY(pfd_registry_check(err));
    pfd_error_init(err);
    /* Without a slash the system's folders would be searched. */
    char *file = realpath(path, NULL);
    if (!file) return pfd_fail_file(err, path, "there is no such library to load");
    pfd_status status = load(file, err);
    free(file);
    if (status != PFD_OK) pfd_error_set_file(err, path);
    return status;
}
