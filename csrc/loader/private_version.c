/* The build that the kit must be of. */
#include "loader/private_version.h"

uint32_t pfd_private_version(void)
{
    return PFD_PRIVATE_VERSION;
}
