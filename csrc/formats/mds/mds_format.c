/* The format of MosaicML's MDS data sets: an index.json, and shards. */
#include "core/bytes.h"
#include "parse/first_bytes.h"

enum { word = 4, most_samples = 1 << 28 };

/* An index without shards, as of a data set without records, has only a version. */
static int32_t is_empty_index(const pfd_probe_args *args)
{
    return pfd_probe_finds(args, "\"version\"") &&
           (pfd_probe_finds(args, "\"shards\": []") || pfd_probe_finds(args, "\"shards\":[]"));
}

static int32_t is_index(const pfd_probe_args *args)
{
    if (args->size <= 0 || args->data[0] != '{') return 0;
    return is_empty_index(args) ||
           (pfd_probe_finds(args, "\"shards\"") && pfd_probe_finds(args, "\"format\"") &&
            pfd_probe_finds(args, "mds"));
}

/* Whether the `n` offsets in the probed bytes rise; *last is the last one.  In a shard they do,
 * because no sample is empty. */
static int32_t grow(const uint8_t *offsets, int64_t n, uint32_t *last)
{
    *last = pfd_load_le32(offsets);
    for (int64_t i = 1; i < n; i++) {
        uint32_t next = pfd_load_le32(offsets + word * i);
        if (next <= *last) return 0;
        *last = next;
    }
    return 1;
}

/* A shard begins with the number of samples and their offsets. The first offset is after the JSON
 * that follows the offsets, and the last one is the size of the file. If the probed bytes end among
 * the offsets, the file must be larger than these bytes. */
static int32_t is_shard(const pfd_probe_args *args)
{
    int64_t size = args->size, file_size = args->file_size;
    if (size < 3 * word) return 0;
    int64_t samples = pfd_load_le32(args->data), end = word * (samples + 2);
    if (samples == 0 || samples >= most_samples || (file_size >= 0 && end >= file_size)) return 0;
    const uint8_t *offsets = args->data + word;
    uint32_t last;
    if (!grow(offsets, ((end < size ? end : size) - word) / word, &last)) return 0;
    if (pfd_load_le32(offsets) < end + 2) return 0;
    if (end >= size) return file_size >= 0 ? last <= file_size : size == PFD_PROBE_BYTES;
    return args->data[end] == '{' && (file_size < 0 || last == file_size);
}

static int32_t probe(const pfd_probe_args *args)
{
    if (is_index(args)) return PFD_PROBE_CERTAIN;
    return is_shard(args) ? PFD_PROBE_LIKELY : PFD_PROBE_NO;
}

const pfd_format pfd_format_mds = {
    .struct_size = sizeof(pfd_format),
    .name = "mds",
    .title = "Mosaic MDS",
    .doc = "Shards of MosaicML's streaming library, and their index.",
    .suffixes = ".mds",
    .reader = "MDSReader",
    .checks = "offsets and sizes",
    .folder_file = "index.json",
    .probe = probe,
};
