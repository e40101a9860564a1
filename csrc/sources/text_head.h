/* sources/text_head.h -- reads a text file from a place, as far as needed. */
#ifndef PFD_SOURCES_TEXT_HEAD_H
#define PFD_SOURCES_TEXT_HEAD_H
#include "files/file_stream.h"

/* Returns 3 if a UTF-8 byte order mark begins the text, else 0. */
static inline int64_t pfd_text_mark_bytes(const uint8_t *text, int64_t size)
{
    return size >= 3 && text[0] == 0xef && text[1] == 0xbb && text[2] == 0xbf ? 3 : 0;
}

/* *out is the file or, if it is compressed, a file of its decompressed bytes, which `window` holds.
 * The same window may be used for several files in turn.  The caller closes it. */
pfd_status pfd_text_file(const pfd_file *file, pfd_stream_window *window, const pfd_file **out,
                         pfd_error *err);

/* Examines text[0, size), which ends at the end of the file if is_end is 1.  Returns PFD_END if it
 * needs more text; with is_end it must not. */
typedef pfd_status (*pfd_text_look_fn)(void *ctx, const uint8_t *text, int64_t size, int32_t is_end,
                                       pfd_error *err);

/* Calls look() with longer and longer texts from `offset` on; a mapped file is given whole. */
pfd_status pfd_text_look(const pfd_host *host, const pfd_file *file, int64_t offset,
                         pfd_scratch *scratch, pfd_text_look_fn look, void *ctx, pfd_error *err);

/* Sets *head to the offset after a byte order mark and the first `lines` lines, including blank
 * ones. */
pfd_status pfd_text_head(const pfd_host *host, const pfd_file *file, int64_t lines,
                         pfd_scratch *scratch, int64_t *head, pfd_error *err);
#endif
