/* The table of functions that the host gives to ops, and the hash by which Python checks that it
 * matches. */
#include "core/error.h"
#include "core/random.h"
#include "core/scratch.h"
#include "files/input_files.h"
#include "parse/number_text.h"
#include "registry/format_detect.h"
#include "registry/registry.h"
#include "registry/version.h"
#include "sources/fixed.h"
#include "sources/frames.h"
#include "sources/lines.h"

#define MIX(hash, type) ((hash)*31u + (uint32_t)sizeof(type))
#define ABI_OF_OPS                                                                                 \
    MIX(MIX(MIX(MIX(MIX(MIX(1u, pfd_error), pfd_row_type), pfd_attr), pfd_port), pfd_op),          \
        pfd_format)
#define ABI_OF_NODES MIX(MIX(ABI_OF_OPS, pfd_attr_value), pfd_blob)
#define ABI_OF_LOADERS                                                                             \
    MIX(MIX(MIX(MIX(MIX(ABI_OF_NODES, pfd_loader_options), pfd_loader_info), pfd_reader_info),     \
            pfd_batch),                                                                            \
        pfd_ragged_batch)
#define ABI_OF_COUNTS                                                                              \
    MIX(MIX(MIX(MIX(ABI_OF_LOADERS, pfd_stats), pfd_work_stats), pfd_thread_now), pfd_history)
#define ABI_VERSION MIX(MIX(ABI_OF_COUNTS, pfd_trace_event), pfd_trace_info)

uint32_t pfd_abi_version(void)
{
    return ABI_VERSION;
}

const char *pfd_version(void)
{
    return PFD_VERSION;
}

static uint64_t random_bits(uint64_t random_key, int64_t ordinal, int64_t draw)
{
    return pfd_random_bits(pfd_random_bits(random_key, (uint64_t)ordinal), (uint64_t)draw);
}

const pfd_host *pfd_host_table(void)
{
    static const pfd_host host = {
        .struct_size = sizeof host,
        .abi_major = PFD_ABI_MAJOR,
        .abi_minor = PFD_ABI_MINOR,
        .fail = pfd_fail,
        .fail_row = pfd_fail_row,
        .fail_file = pfd_fail_at,
        .alloc = pfd_scratch_alloc,
        .is_cancelled = pfd_scratch_is_cancelled,
        .read = pfd_file_read,
        .open_lines = pfd_lines_open,
        .open_frames = pfd_frames_open,
        .open_fixed = pfd_fixed_open,
        .parse_double = pfd_parse_double,
        .random_bits = random_bits,
        .looks_like = pfd_looks_like,
        .fail_attr = pfd_fail_attr,
    };
    return &host;
}
