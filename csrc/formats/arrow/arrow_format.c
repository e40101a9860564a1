/* The format of Apache Arrow IPC files and streams, and of data sets of Hugging Face. */
#include "core/bytes.h"
#include "formats/arrow/arrow_metadata.h"
#include "parse/first_bytes.h"

/* Whether the file is the state.json of a saved data set, or the dataset_dict.json of several data
 * sets, which the reader refuses with a remedy. */
static int32_t is_saved(const pfd_probe_args *args)
{
    static const char name[] = "dataset_dict.json";
    if (args->data[0] != '{') return 0;
    if (pfd_probe_finds(args, "\"_data_files\"")) /* a list, which may be long */
        return pfd_probe_finds(args, "\"_fingerprint\"") || args->size != args->file_size;
    size_t size = args->path ? strlen(args->path) : 0, suffix = sizeof name - 1;
    return size >= suffix && !strcmp(args->path + size - suffix, name) &&
           pfd_probe_finds(args, "\"splits\"");
}

/* A stream begins with a schema, whose message has no body. */
static int32_t is_stream(const pfd_probe_args *args)
{
    int64_t at = pfd_load_le32(args->data) == UINT32_MAX ? 4 : 0;
    pfd_arrow_message message;
    if (args->size < at + 4) return 0;
    const uint8_t *data = args->data + at;
    pfd_flatbuffer fb = {.data = data + 4, .size = (int32_t)pfd_load_le32(data)};
    if (fb.size < 16 || (args->file_size >= 0 && fb.size > args->file_size)) return 0;
    if (fb.size > args->size - at - 4) fb.size = args->size - at - 4;
    return pfd_arrow_message_read(&fb, &message) && message.kind == PFD_ARROW_SCHEMA &&
           message.body_bytes == 0;
}

static int32_t probe(const pfd_probe_args *args)
{
    if (args->size < 8) return PFD_PROBE_NO;
    if (!memcmp(args->data, PFD_ARROW_MAGIC, PFD_ARROW_MAGIC_BYTES)) return PFD_PROBE_CERTAIN;
    if (is_saved(args)) return PFD_PROBE_CERTAIN;
    return is_stream(args) ? PFD_PROBE_CERTAIN : PFD_PROBE_NO;
}

const pfd_format pfd_format_arrow = {
    .struct_size = sizeof(pfd_format),
    .name = "arrow",
    .title = "Apache Arrow",
    .doc = "Arrow IPC files and streams, and the data sets that Hugging Face's datasets saves.",
    .suffixes = ".arrow|.arrows|.feather|.ipc",
    .reader = "ArrowReader",
    .checks = "every offset and length of the metadata, and the offsets of each row",
    .folder_file = "state.json",
    .probe = probe,
};
