/* The format of Megatron-LM's token files: a .bin with the tokens and its .idx. */
#include "pyflowdata/op.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* The tokens have no header: only an .idx in the same folder identifies them. */
static int32_t has_index(const char *path)
{
    char index[PATH_MAX];
    struct stat about;
    size_t length = path ? strlen(path) : 0;
    if (length < 5 || length >= sizeof index || strcmp(path + length - 4, ".bin") != 0) return 0;
    if (path[length - 5] == '/') return 0; /* ".bin" is the whole name */
    (void)snprintf(index, sizeof index, "%.*s.idx", (int)(length - 4), path);
    return stat(index, &about) == 0 && S_ISREG(about.st_mode);
}

static int32_t probe(const pfd_probe_args *args)
{
    const uint8_t *data = args->data;
    int32_t is_index = args->size >= 9 && !memcmp(data, "MMIDIDX\0\0", 9);
    int32_t is_old_index = args->size >= 8 && !memcmp(data, "TNTIDX\0\0", 8);
    return is_index || is_old_index || has_index(args->path) ? PFD_PROBE_CERTAIN : PFD_PROBE_NO;
}

const pfd_format pfd_format_megatron = {
    .struct_size = sizeof(pfd_format),
    .flags = PFD_FORMAT_SHARED_SUFFIXES,
    .name = "megatron",
    .title = "Megatron .bin/.idx",
    .doc = "Tokens of documents for Megatron-LM, and their index.",
    .suffixes = ".bin|.idx",
    .reader = "MegatronReader",
    .checks = "lengths and offsets",
    .probe = probe,
};
