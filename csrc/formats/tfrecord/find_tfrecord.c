/* Where the next TFRecord begins in bytes that are damaged. */
#include "pyflowdata/pyflowdata.h"

#include "formats/tfrecord/tfrecord_frame.h"

/* The length is looked at first: of most bytes it is far too large, which costs next to nothing. */
int64_t pfd_find_tf_record(const void *data, int64_t size, int64_t from)
{
    const uint8_t *bytes = data;
    int64_t least = PFD_TFRECORD_HEADER + PFD_TFRECORD_FOOTER;
    for (int64_t at = from; at <= size - least; at++)
        if (pfd_load_le64(bytes + at) <= (uint64_t)(size - least - at) &&
            pfd_tfrecord_is_header(bytes + at))
            return at;
    return size;
}
