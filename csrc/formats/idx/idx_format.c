/* The IDX format of MNIST's files. */
#include "core/bytes.h"
#include "formats/idx/idx_header.h"
#include "pyflowdata/pyflowdata.h"

/* The header has a dtype and dimensions, and their product must be the size of the file. */
static int32_t probe(const pfd_probe_args *args)
{
    const uint8_t *data = args->data;
    if (args->size < 8 || data[0] != 0 || data[1] != 0 || data[3] == 0) return PFD_PROBE_NO;
    int64_t header = 4 + 4 * (int64_t)data[3], bytes = pfd_dtype_size(pfd_idx_dtype(data[2]));
    if (bytes == 0 || args->size < header) return PFD_PROBE_NO;
    if (args->file_size < 0) return PFD_PROBE_LIKELY;
    int32_t is_empty = 0, is_large = 0;
    for (int64_t at = 4; at < header; at += 4) {
        int64_t length = (int64_t)pfd_load_be(data + at, 4);
        is_empty |= length == 0;
        is_large |= __builtin_mul_overflow(bytes, length, &bytes);
    }
    if (is_empty) bytes = is_large = 0;
    return !is_large && bytes == args->file_size - header ? PFD_PROBE_LIKELY : PFD_PROBE_NO;
}

const pfd_format pfd_format_idx = {
    .struct_size = sizeof(pfd_format),
    .name = "idx",
    .title = "IDX",
    .doc = "One array, as in MNIST's files; its first dimension counts the records.",
    .suffixes = ".idx-ubyte|-ubyte|.idx",
    .reader = "IDXReader",
    .checks = "header and size",
    .probe = probe,
};
