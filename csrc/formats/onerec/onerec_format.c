/* The format of OneRec files. */
#include "pyflowdata/op.h"

#include <string.h>

static int32_t probe(const pfd_probe_args *args)
{
    return args->size >= 8 && !memcmp(args->data, "^ONEREC$", 8) ? PFD_PROBE_CERTAIN : PFD_PROBE_NO;
}

const pfd_format pfd_format_onerec = {
    .struct_size = sizeof(pfd_format),
    .name = "onerec",
    .title = "OneRec",
    .doc = "FlatBuffers in frames with digests, an older format of OneFlow.",
    .suffixes = ".onerec",
    .reader = "OneRecReader",
    .decoders = "OneRecDecoder",
    .checks = "XXH64 of heads and data",
    .probe = probe,
};
