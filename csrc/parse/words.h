/* parse/words.h -- characters of UTF-8, bytes of a file in a message, and names that are alike.
 *
 * THREADS  Everything here may be called from any thread.
 */
#ifndef PFD_PARSE_WORDS_H
#define PFD_PARSE_WORDS_H
#include <stddef.h>
#include <stdint.h>

/* ---- UTF-8 ----------------------------------------------------------------------------------- */

/* Bytes of the UTF-8 sequence at p, of which `left` are there; 0: none that is well-formed. */
int64_t pfd_utf8_length(const uint8_t *p, int64_t left);

/* Whether all `size` bytes are well-formed UTF-8. */
int32_t pfd_is_utf8(const uint8_t *text, int64_t size);

/* ---- Bytes in a message ---------------------------------------------------------------------- */

/* A short, printable, quoted copy of bytes found in a file: control and non-ASCII bytes as \xNN,
 * at most 40 of them, then "...".  `out` holds `capacity` >= 200 bytes; returns out. */
const char *pfd_quote_bytes(const uint8_t *data, int64_t size, char *out, size_t capacity);

/* Whether a byte is a blank or one of "\t\n\v\f\r", in every locale. */
static inline int32_t pfd_is_space(uint8_t byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

/* ---- Names ----------------------------------------------------------------------------------- */

/* The small letter of a capital of ASCII, in every locale; other characters stay. */
static inline char pfd_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* The name in `names` that is most like `name`, or NULL if none is near (edit distance; case and
 * underscores do not count). */
const char *pfd_nearest_name(const char *name, const char *const *names, int64_t n);

/* Writes `name` without underscores and in lower case, the form in which names are compared:
 * "MiniReader" and "mini_reader" become "minireader".  Returns its size, or -1 if it does not
 * fit. */
int64_t pfd_fold_name(const char *name, char *out, int64_t capacity);
#endif
