/* The hashes by which Python checks that the kit matches its header, and the library that it
 * runs on. */
#include "loader/plan/private_version.h"
#include "pyflowdata_kit/kit.h"

#define MIX(hash, type) ((hash)*31u + (uint32_t)sizeof(type))
#define ABI_OF_CHECKS                                                                              \
    MIX(MIX(MIX(MIX(1u, pfd_kit_draw), pfd_kit_options), pfd_kit_finding), pfd_kit_result)

uint32_t pfd_kit_abi_version(void)
{
    if (pfd_private_version() != PFD_PRIVATE_VERSION) return 0;
    return MIX(MIX(MIX(ABI_OF_CHECKS, pfd_bench_options), pfd_bench_cost), pfd_bench_result);
}
