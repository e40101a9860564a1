/* Whose failure it is. */
#include "core/fusion.h"

#include "core/error.h"

pfd_status pfd_producer_failed(const pfd_producer *producer, pfd_error *err)
{
    pfd_error_set_op(err, producer->name);
    return err->status;
}
