/* files/file_stream.h -- files as a stream of records, one after the other: position and seeking.
 *
 * Going back starts a file again.  The number of a file's records is known once the stream has
 * passed the file, so files before the one sought are not decompressed again.
 *
 * OWNERSHIP  Files are borrowed until close.
 * THREADS    One at a time.
 * ERRORS     As of a pfd_inflater; after an error the stream needs a seek.
 */
#ifndef PFD_FILES_FILE_STREAM_H
#define PFD_FILES_FILE_STREAM_H
#include "files/codecs.h"
#include "files/file_read.h"

/* ---- The window of a stream ------------------------------------------------------------------ */

/* The bytes of a file that can only be read in sequence: a window that moves over them, forward
 * only.
 *
 * The window has its own pfd_file, for pfd_file_read(): offsets are of the decompressed bytes, and
 * reads give copies.  Its size is INT64_MAX until the end has been seen, and the true one from then
 * on.  The window grows with the actual bytes, never by a size that a file claims.
 *
 * THREADS  A window belongs to one thread.
 * ERRORS   As of a pfd_inflater. */
typedef struct pfd_stream_window {
    pfd_input_file file; /* first member: frame() gets a pointer to it */
    pfd_inflater *inflater;
    uint8_t *memory;
    int64_t room;
    int64_t head;       /* where in the memory the bytes begin */
    int64_t begin, end; /* bounds of the bytes, in the stream */
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

/* ---- The files of a stream ------------------------------------------------------------------- */

typedef struct pfd_file_stream {
    const pfd_file *const *files;
    int64_t num_files;
    int64_t *first; /* first[i]: records before file i, known up to `known`; owned */
    int64_t known;
    int64_t file;    /* the current one; num_files: the end */
    int64_t offset;  /* in it, where the next record is looked for; INT64_MAX: at its end */
    int64_t ordinal; /* number of that record */
    int32_t is_open; /* the window, over the current file */
    int32_t has_headers; /* set after opening: the caller looks at offset 0 also of an empty file */
    int32_t has_failed;
    pfd_stream_window window;
    pfd_scratch *scratch; /* for memory of one call; can be cancelled; owned */
} pfd_file_stream;

/* Whether such files can only be read in sequence. */
int32_t pfd_files_are_stream(const pfd_open_args *args);

/* PFD_UNSUPPORTED where a file needs a library that is not in this build. */
pfd_status pfd_file_stream_open(pfd_file_stream *stream, const pfd_open_args *args, pfd_error *err);
void pfd_file_stream_close(pfd_file_stream *stream); /* accepts a zeroed struct */

/* Goes to the nearest known place that is not after the record with number `position`; the caller
 * skips the records between. */
pfd_status pfd_file_stream_seek(pfd_file_stream *stream, int64_t position, pfd_error *err);

/* Stores a failure, and returns its status. No record after damage can be found: sets the reason,
 * if it has none yet. */
pfd_status pfd_file_stream_fail(pfd_file_stream *stream, pfd_status status, pfd_error *err);

/* Ensures that there is a byte at `offset`, or goes to the next file where this one ends there;
 * PFD_END after the last. Bytes before `offset` are dropped. */
pfd_status pfd_file_stream_look(pfd_file_stream *stream, pfd_error *err);
#endif
