/* sources/text_source.h -- the records of text files behind what stands at the files' beginnings.
 *
 * A decorator of what host->open_lines() or host->open_frames() made: records that end within the
 * head of their file (a header, a byte order mark) are left out, the others are numbered anew; a
 * byte order mark is cut off the first record; an error gets its line.
 *
 * OWNERSHIP  A source made here owns the inner one, and what it was given to keep.
 * THREADS    As of a pfd_source in op.h.
 */
#ifndef PFD_SOURCES_TEXT_SOURCE_H
#define PFD_SOURCES_TEXT_SOURCE_H
#include "pyflowdata/op.h"

#define PFD_BYTE_ORDER_MARK "\xef\xbb\xbf"

/* 3 where a UTF-8 byte order mark begins the text, else 0. */
static inline int64_t pfd_text_mark_bytes(const uint8_t *text, int64_t size)
{
    return size >= 3 && text[0] == 0xef && text[1] == 0xbb && text[2] == 0xbf ? 3 : 0;
}

typedef struct pfd_text_source_args {
    const pfd_open_args *open;
    const int64_t *heads; /* of each file: where its records begin; copied.  NULL: nowhere a head */
    void *kept;           /* freed by free_kept, also where the open fails */
    void (*free_kept)(void *kept);
} pfd_text_source_args;

/* Takes `inner`, also where it fails.  With heads it must be random-access. */
pfd_status pfd_text_source_open(const pfd_text_source_args *args, const pfd_source *inner,
                                pfd_source *out, pfd_error *err);

/* What the source was given to keep; `self` is that of a pfd_source made here. */
void *pfd_text_source_kept(const void *self);
#endif
