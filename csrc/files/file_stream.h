/* files/file_stream.h -- files one after the other as a stream of records: its position, and
 * seeking.
 *
 * Going back starts a file again.  How many records a file has is known once it has been passed:
 * files before the one sought are not decompressed again.
 *
 * OWNERSHIP  Files are borrowed until close.
 * THREADS    One at a time.
 * ERRORS     As of a pfd_inflater; after an error the stream needs a seek.
 */
#ifndef PFD_FILES_FILE_STREAM_H
#define PFD_FILES_FILE_STREAM_H
#include "files/stream_window.h"

typedef struct pfd_file_stream {
    const pfd_file *const *files;
    int64_t num_files;
    int64_t *first; /* first[i]: records before file i, known up to `known`; owned */
    int64_t known;
    int64_t file;    /* the current one; num_files: the end */
    int64_t offset;  /* in it, where the next record is looked for; INT64_MAX: at its end */
    int64_t ordinal; /* of that record */
    int32_t is_open; /* the window, over the current file */
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
