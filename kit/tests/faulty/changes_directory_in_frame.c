/* Goes to another folder when it comes to the last record of a file, after calls that did not.
 *
 * group: records
 * finding: process-state
 * says: frame\(\) changed the working directory of the whole */
#include "box.h"

#include <unistd.h>

static pfd_status frame(const pfd_frame_args *args, pfd_frame *out, pfd_error *err)
{
    const uint8_t *head;
    out->is_record = args->offset > 0;
    out->next = BOX_HEADER;
    if (!out->is_record) return PFD_OK;
    PFD_TRY(args->host->read(args->file, args->offset, 4, args->scratch, &head, err));
    out->data = args->offset + 4;
    out->size = box_u32(head);
    out->next = out->data + out->size;
    if (out->next == args->file->size) (void)!chdir("/");
    return PFD_OK;
}

static pfd_status open_frames(const pfd_open_args *args, pfd_source *out, pfd_error *err)
{
    static const pfd_framing framing = {sizeof framing, .has_header = 1, .frame = frame};
    return args->host->open_frames(args, &framing, out, err);
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    (void)err;
    for (int64_t row = 0; row < args->num_rows; row++) box_write(args, row);
    return PFD_OK;
}

#define BOX_METHODS
#define BOX_OPEN open_frames
#define BOX_COMPUTE compute
#include "box_plugin.h"
