/* The version of the private structs, by which the kit recognises its build. */
#include "loader/plan/private_version.h"

uint32_t pfd_private_version(void)
{
    return PFD_PRIVATE_VERSION;
}
