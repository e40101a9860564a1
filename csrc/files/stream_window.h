/* files/stream_window.h -- the bytes of a file that can only be read in sequence: a window that
 * moves over them, forward only.
 *
 * The window has its own pfd_file, for pfd_file_read(): offsets are of the decompressed bytes, and
 * reads give copies.  Its size is INT64_MAX until the end has been seen, and the true one from then
 * on.  The window grows with the actual bytes, never by a size that a file claims.
 *
 * THREADS  A window belongs to one thread.
 * ERRORS   As of a pfd_inflater.
 */
#ifndef PFD_FILES_STREAM_WINDOW_H
#define PFD_FILES_STREAM_WINDOW_H
#include "files/compression.h"
#include "files/file_read.h"

typedef struct pfd_stream_window {
    pfd_input_file file; /* first member: frame() gets a pointer to it */
    pfd_inflater *inflater;
    uint8_t *memory;
    int64_t room;
    int64_t head;       /* where in the memory the bytes begin */
    int64_t begin, end; /* of the bytes, in the stream */
    int32_t has_ended;  /* the stream ends at `end`, and its checksums are right */
} pfd_stream_window;

/* Goes to the beginning of a file; an open window keeps its memory.  Zeroed: closed. */
pfd_status pfd_stream_window_open(pfd_stream_window *window, const pfd_file *file, pfd_error *err);
void pfd_stream_window_close(pfd_stream_window *window);

/* Decompresses up to `end`, or to the end of the stream: has_ended tells. */
pfd_status pfd_stream_window_fill(pfd_stream_window *window, int64_t end, const pfd_scratch *bounds,
                                  pfd_error *err);

/* Drops the bytes before `offset`: the window begins there, or at the end of the stream if that
 * comes first. */
pfd_status pfd_stream_window_pass(pfd_stream_window *window, int64_t offset,
                                  const pfd_scratch *bounds, pfd_error *err);

/* The bytes from `offset` on, which lies in the window; valid until it changes. */
static inline const uint8_t *pfd_stream_window_at(const pfd_stream_window *window, int64_t offset)
{
    return window->memory + window->head + (offset - window->begin);
}

/* PFD_CORRUPT_DATA: [offset, offset + size) goes beyond the end that was seen. */
pfd_status pfd_stream_window_fail_end(const pfd_stream_window *window, int64_t offset, int64_t size,
                                      pfd_error *err);
#endif
