/* The format of MindSpore's MindRecord files. */
#include "core/bytes.h"
#include "pyflowdata/op.h"

#include <string.h>

enum { length_bytes = 8, most_header_bytes = 1 << 27 };

/* Whether a JSON text with the members of a header follows a length. */
static int32_t probe(const pfd_probe_args *args)
{
    static const char first[] = "{\"header_size\"", inside[] = "\"shard_addresses\"";
    if (args->size <= length_bytes + 1 || pfd_load_le64(args->data) >= most_header_bytes)
        return PFD_PROBE_NO;
    const uint8_t *text = args->data + length_bytes;
    size_t size = (size_t)(args->size - length_bytes);
    int32_t begins = size >= sizeof first - 1 && !memcmp(text, first, sizeof first - 1);
    int32_t has = text[0] == '{' && memmem(text, size, inside, sizeof inside - 1);
    return begins || has ? PFD_PROBE_CERTAIN : PFD_PROBE_NO;
}

const pfd_format pfd_format_mindrecord = {
    .struct_size = sizeof(pfd_format),
    .name = "mindrecord",
    .title = "MindRecord",
    .doc = "MindSpore's files of rows with a schema.",
    .suffixes = ".mindrecord",
    .reader = "MindRecordReader",
    .checks = "pages and sizes",
    .probe = probe,
};
