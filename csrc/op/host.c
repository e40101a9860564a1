/* What the host gives to ops, and by what Python knows that it fits. */
#include "core/error.h"
#include "core/scratch.h"
#include "io/lines.h"
#include "op/registry.h"
#include "op/version.h"
#include "text/parse_double.h"

#define MIX(hash, type) ((hash)*31u + (uint32_t)sizeof(type))
#define ABI_OF_OPS                                                                                 \
    MIX(MIX(MIX(MIX(MIX(1u, pfd_error), pfd_row_type), pfd_attr), pfd_port), pfd_op)
#define ABI_OF_NODES MIX(MIX(ABI_OF_OPS, pfd_attr_value), pfd_blob)
#define ABI_VERSION                                                                                \
    MIX(MIX(MIX(MIX(MIX(ABI_OF_NODES, pfd_loader_options), pfd_loader_info), pfd_reader_info),     \
            pfd_batch),                                                                            \
        pfd_stats)

uint32_t pfd_abi_version(void)
{
    return ABI_VERSION;
}

const char *pfd_version(void)
{
    return PFD_VERSION;
}

const pfd_host *pfd_host_table(void)
{
    static const pfd_host host = {
        .struct_size = sizeof host,
        .abi_version = ABI_VERSION,
        .fail = pfd_fail,
        .fail_row = pfd_fail_row,
        .alloc = pfd_scratch_alloc,
        .open_lines = pfd_lines_open,
        .parse_double = pfd_parse_double,
    };
    return &host;
}
