/* The format of Megatron-LM's token files: a .bin with the tokens and its .idx. */
#include "core/system_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* Whether the file is a .bin with an .idx in the same folder, or an .idx with a .bin: only its
 * partner identifies tokens, which have no header, and an index whose header is damaged.  Or
 * PFD_PROBE_FAILED. */
static int32_t has_other_half(const char *path)
{
    char other[PATH_MAX];
    struct stat about;
    size_t length = path ? strlen(path) : 0;
    if (length < 5 || length >= sizeof other || path[length - 5] == '/') return 0;
    const char *suffix = path + length - 4;
    int32_t is_tokens = !strcmp(suffix, ".bin");
    if (!is_tokens && strcmp(suffix, ".idx") != 0) return 0;
    (void)snprintf(other, sizeof other, "%.*s%s", (int)(length - 4), path,
                   is_tokens ? ".idx" : ".bin");
    if (pfd_sys_stat(NULL, AT_FDCWD, other, &about) == 0) return S_ISREG(about.st_mode);
    return pfd_errno_class(errno, 0) == PFD_REASON_NONE ? 0 : PFD_PROBE_FAILED;
}

static int32_t probe(const pfd_probe_args *args)
{
    const uint8_t *data = args->data;
    int32_t is_index = args->size >= 9 && !memcmp(data, "MMIDIDX\0\0", 9);
    int32_t is_old_index = args->size >= 8 && !memcmp(data, "TNTIDX\0\0", 8);
    if (is_index || is_old_index) return PFD_PROBE_CERTAIN;
    int32_t has_half = has_other_half(args->path);
    return has_half == 1 ? PFD_PROBE_CERTAIN : has_half;
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
