/* io/text_head.h -- reading on in a text file from a place, as far as need be.
 *
 * Offsets in a compressed file are those of its decompressed text, which is read from its beginning
 * for each call, unless the file is that of a pfd_stream_window.
 */
#ifndef PFD_IO_TEXT_HEAD_H
#define PFD_IO_TEXT_HEAD_H
#include "pyflowdata/op.h"

/* Looks at text[0, size) from a place on, to the end of the file where is_end is 1.  Returns
 * PFD_END where more text is needed; with is_end it may not. */
typedef pfd_status (*pfd_text_look_fn)(void *ctx, const uint8_t *text, int64_t size, int32_t is_end,
                                       pfd_error *err);

/* Calls look() with longer and longer texts from `offset` on; a mapped file is given whole. */
pfd_status pfd_text_look(const pfd_host *host, const pfd_file *file, int64_t offset,
                         pfd_scratch *scratch, pfd_text_look_fn look, void *ctx, pfd_error *err);

/* *head: the offset behind a byte order mark and the first `lines` lines, blank ones counted. */
pfd_status pfd_text_head(const pfd_host *host, const pfd_file *file, int64_t lines,
                         pfd_scratch *scratch, int64_t *head, pfd_error *err);
#endif
