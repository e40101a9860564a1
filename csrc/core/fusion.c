/* Whose failure it is. */
#include "core/fusion.h"

pfd_status pfd_producer_failed(const pfd_producer *producer, const pfd_error *err)
{
    *producer->has_failed = 1;
    return err->status;
}
