/* formats/csv/csv_fields.h -- finds records of CSV files, their fields, and many numbers in these
 * at once.
 */
#ifndef PFD_FORMATS_CSV_CSV_FIELDS_H
#define PFD_FORMATS_CSV_CSV_FIELDS_H
#include "pyflowdata/op.h"

#include <stdint.h>

/* ---- Records, and fields with quotes --------------------------------------------------------- */

/* A field that begins with the quote ends at the next one; two quotes inside it mean one. */
typedef struct pfd_csv_format {
    uint8_t delimiter;
    uint8_t quote;      /* equal to the delimiter if files have no quotes */
    int32_t multiline;  /* whether quoted fields may contain line ends */
    const char *comment; /* the beginning of comment lines; "" if files have none */
} pfd_csv_format;

/* A record or a line to skip; both begin at the beginning of a line. */
typedef struct pfd_csv_extent {
    int32_t is_record; /* 0: a blank line or a comment */
    int64_t size;      /* without the line end */
    int64_t next;      /* where the next line begins */
    int64_t open_quote; /* the place of a quote that is not closed before the file ends; else -1 */
} pfd_csv_extent;

/* Scans text[0, size), which ends at the end of the file if is_end is 1.  Returns 0 if it needs
 * more text. */
int32_t pfd_csv_scan(const pfd_csv_format *format, const uint8_t *text, int64_t size,
                     int32_t is_end, pfd_csv_extent *out);

typedef struct pfd_csv_field {
    int64_t begin, end; /* of its content, without the quotes */
    int32_t is_quoted, has_escapes;
} pfd_csv_field;

#define PFD_CSV_FIELD 0
#define PFD_CSV_LAST_FIELD 1
#define PFD_CSV_NOT_CLOSED 2   /* a quoted field that is not closed before the record ends */
#define PFD_CSV_STRAY_QUOTE 3  /* a quote in a field that does not begin with one */
#define PFD_CSV_AFTER_QUOTE 4 /* a byte after a closing quote that is not a delimiter */

/* Reads the field that begins at *at, and moves *at to the next one, or to the place of a
 * failure. */
int32_t pfd_csv_next_field(const pfd_csv_format *format, const uint8_t *text, int64_t size,
                           int64_t *at, pfd_csv_field *out);

/* Copies the content of a field, with one quote for two.  Returns its size, at most end - begin. */
int64_t pfd_csv_unescape(const pfd_csv_format *format, const uint8_t *text,
                         const pfd_csv_field *field, uint8_t *out);

/* ---- Where the fields of a record end -------------------------------------------------------- */

#define PFD_CSV_SPLIT_SLACK 64 /* places that a splitter may write beyond those it returns */

/* Finds the first delimiters of text[0, size), at most `most`, and returns how many it found.
 * size < 2^31.  ends[i] is the place of the i-th delimiter; `ends` has room for most +
 * PFD_CSV_SPLIT_SLACK places.  *has_quote is 1 if there is a quote anywhere in the text; `quote`
 * may be the delimiter, so that no quotes are found. */
typedef int64_t (*pfd_csv_split_fn)(const uint8_t *text, int64_t size, uint8_t delimiter,
                                    uint8_t quote, int64_t most, uint32_t *ends,
                                    int32_t *has_quote);

/* The fastest variant for this processor, and the variant for a given level of core/cpu.h. */
pfd_csv_split_fn pfd_csv_split_best(void);
pfd_csv_split_fn pfd_csv_split_at(int32_t simd_level);

/* ---- Numbers of neighbouring fields ---------------------------------------------------------- */

/* Parses n neighbouring fields of text[0, size): the first begins at `begin`, field i ends at
 * ends[i] <= size, and the next one begins one byte later.  Returns how many fields, from the first
 * on, are finite decimal literals and nothing else; the numbers are those of pfd_parse_double(),
 * bit for bit. */
typedef int64_t (*pfd_csv_doubles_fn)(const uint8_t *text, int64_t size, int64_t begin,
                                      const uint32_t *ends, int64_t n, double *out);

/* The fastest variant for this processor, and the variant for a given level of core/cpu.h. */
pfd_csv_doubles_fn pfd_csv_doubles_best(void);
pfd_csv_doubles_fn pfd_csv_doubles_at(int32_t simd_level);
#endif
