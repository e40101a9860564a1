/* sources/opened.h -- the end of every function that opens a source. */
#ifndef PFD_SOURCES_OPENED_H
#define PFD_SOURCES_OPENED_H
#include "pyflowdata/op.h"

/* Sets *out to a source whose opening returned `status`; after a failure closes it instead.  Returns
 * status. */
static inline pfd_status pfd_source_opened(pfd_status status, const pfd_source_methods *methods,
                                           void *self, pfd_source *out)
{
    if (status != PFD_OK) {
        methods->close(self);
        return status;
    }
    out->methods = methods;
    out->self = self;
    return PFD_OK;
}
#endif
