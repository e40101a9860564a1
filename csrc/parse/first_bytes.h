/* parse/first_bytes.h -- what the first bytes of a file say: text, or a format of another program.
 *
 * THREADS  Pure functions; texts are constants.
 */
#ifndef PFD_PARSE_FIRST_BYTES_H
#define PFD_PARSE_FIRST_BYTES_H
#include "pyflowdata/op.h"
#include "pyflowdata/pyflowdata.h"

/* ---- Text ------------------------------------------------------------------------------------ */

/* Whether bytes may be text in UTF-8 or another extension of ASCII: one byte at least, no NUL, and
 * near the beginning no control byte below the tab. */
int32_t pfd_is_text(const uint8_t *data, int64_t size);

/* "UTF-16" or "UTF-32" where the bytes begin with its byte order mark, else NULL. */
const char *pfd_marked_encoding(const uint8_t *data, int64_t size);

/* "UTF-16LE" or "UTF-16BE" where every other one of the first bytes is NUL and the rest are
 * characters of text; NULL: something else, or fewer than four characters. */
const char *pfd_unmarked_encoding(const uint8_t *data, int64_t size);

/* The lines of a file's first bytes, without those that are blank. */
typedef struct pfd_text_lines {
    const uint8_t *at, *end;
    int64_t left; /* lines to look at, the blank ones too */
} pfd_text_lines;

/* The first `most` lines.  The last one may be cut, where the file goes on or may do so: then it
 * does not count after two others. */
pfd_text_lines pfd_text_lines_of(const pfd_probe_args *args, int64_t most);

/* The next line, without its newline; 0: there is none. */
int32_t pfd_text_lines_next(pfd_text_lines *lines, const uint8_t **line, int64_t *size);

/* Whether a text is among the first bytes. */
int32_t pfd_probe_finds(const pfd_probe_args *args, const char *text);

/* ---- Files of other programs ----------------------------------------------------------------- */

/* As pfd_foreign_container() in pyflowdata.h, and for images, which may be records. */
const char *pfd_foreign_file(const uint8_t *data, int64_t size);

/* The same for images that no codec decodes, where an image is expected. */
const char *pfd_foreign_image(const uint8_t *data, int64_t size);
#endif
