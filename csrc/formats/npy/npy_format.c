/* The format of NumPy's .npy files. */
#include "pyflowdata/op.h"

#include <string.h>

static int32_t probe(const pfd_probe_args *args)
{
    return args->size >= 6 && !memcmp(args->data, "\x93NUMPY", 6) ? PFD_PROBE_CERTAIN
                                                                   : PFD_PROBE_NO;
}

const pfd_format pfd_format_npy = {
    .struct_size = sizeof(pfd_format),
    .name = "npy",
    .title = "NumPy .npy",
    .doc = "One NumPy array; each element along its first axis is a record.",
    .suffixes = ".npy",
    .reader = "NpyReader",
    .checks = "header and size",
    .probe = probe,
};
