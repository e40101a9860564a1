/* Calls an op's frame(), and checks its result. */
#include "sources/frame_call.h"

#include "core/error.h"

#include <inttypes.h>

/* Reports frames that are impossible in any file: faults of the op. */
static pfd_status check_frame(const pfd_file *file, int64_t offset, const pfd_frame *frame,
                              pfd_error *err)
{
    if (frame->next <= offset)
        return pfd_fail_at(err, file, offset, PFD_INTERNAL,
                           "frame() gave next = %" PRId64 " for the frame at %" PRId64
                           "; it must be after the frame, so that the scan advances",
                           frame->next, offset);
    if (!frame->is_record) return PFD_OK;
    if (frame->data < offset || frame->size < 0 || frame->size > INT64_MAX - frame->data)
        return pfd_fail_at(err, file, offset, PFD_INTERNAL,
                           "frame() gave data = %" PRId64 " and size = %" PRId64
                           " for the frame at %" PRId64 "; data must be an offset in the file and "
                           "in the frame, and size must not be negative",
                           frame->data, frame->size, offset);
    if (frame->data + frame->size > frame->next)
        return pfd_fail_at(err, file, offset, PFD_INTERNAL,
                           "frame() gave a record that ends at %" PRId64 " and next = %" PRId64
                           " for the frame at %" PRId64 "; frames must not overlap",
                           frame->data + frame->size, frame->next, offset);
    return PFD_OK;
}

/* Adds the place to a failure of frame(): its byte counts from the frame. */
static pfd_status place_failure(const pfd_file *file, int64_t offset, pfd_status status,
                                pfd_error *err)
{
    if (!err->file[0]) {
        pfd_error_set_file(err, file->path);
        err->byte = offset + (err->byte > 0 ? err->byte : 0);
    }
    return status;
}

pfd_status pfd_frame_call_init(pfd_frame_call *call, const pfd_open_args *args,
                               const pfd_framing *framing, pfd_error *err)
{
    if (framing->struct_size < offsetof(pfd_framing, frame) + sizeof framing->frame ||
        !framing->frame)
        return pfd_fail(err, PFD_INTERNAL,
                        "open_frames() was given a framing without frame(), or with struct_size = "
                        "%" PRIu32 "; it must be sizeof(pfd_framing)",
                        framing->struct_size);
    *call =
        (pfd_frame_call){.host = args->host, .attrs = args->attrs, .frame = framing->frame};
    return PFD_OK;
}

pfd_status pfd_frame_ask(const pfd_frame_call *call, const pfd_file *file, int64_t offset,
                         pfd_scratch *scratch, pfd_frame *frame, pfd_error *err)
{
    pfd_frame_args args = {.struct_size = sizeof args,
                           .host = call->host,
                           .attrs = call->attrs,
                           .file = file,
                           .offset = offset,
                           .scratch = scratch};
    *frame = (pfd_frame){.struct_size = sizeof *frame, .is_record = 1, .next = -1};
    pfd_error_clear(err);
    pfd_status status = pfd_check_returned(call->frame(&args, frame, err), "frame", err);
    if (status != PFD_OK) return place_failure(file, offset, status, err);
    PFD_TRY(check_frame(file, offset, frame, err));
    if (frame->next <= file->size || frame->next == INT64_MAX) return PFD_OK; /* end not known */
    return pfd_fail_at(err, file, offset, PFD_CORRUPT_DATA,
                       "the frame that begins here ends at byte %" PRId64
                       ", but the file ends at byte %" PRId64 ": %" PRId64
                       " bytes are missing; was it truncated when it was copied?",
                       frame->next, file->size, frame->next - file->size);
}
