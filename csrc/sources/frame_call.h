/* sources/frame_call.h -- calls an op's frame(), and checks its result.
 *
 * THREADS  Any.
 * ERRORS   Those of frame(), with their place.  PFD_INTERNAL: its result is impossible.
 *          PFD_CORRUPT_DATA: the frame goes past the end of the file.
 */
#ifndef PFD_SOURCES_FRAME_CALL_H
#define PFD_SOURCES_FRAME_CALL_H
#include "pyflowdata/op.h"

typedef struct pfd_frame_call {
    const pfd_host *host;
    const void *attrs;
    pfd_status (*frame)(const pfd_frame_args *, pfd_frame *, pfd_error *);
} pfd_frame_call;

pfd_status pfd_frame_call_init(pfd_frame_call *call, const pfd_open_args *args,
                               const pfd_framing *framing, pfd_error *err);

pfd_status pfd_frame_ask(const pfd_frame_call *call, const pfd_file *file, int64_t offset,
                         pfd_scratch *scratch, pfd_frame *frame, pfd_error *err);
#endif
