/* formats/csv/csv_scan.h -- where records of a CSV file end, and where the fields of one with
 * quotes are.
 *
 * A field that begins with the quote ends at the next one; two of them inside stand for one.
 */
#ifndef PFD_FORMATS_CSV_CSV_SCAN_H
#define PFD_FORMATS_CSV_CSV_SCAN_H
#include "pyflowdata/op.h"

typedef struct pfd_csv_format {
    uint8_t delimiter;
    uint8_t quote;      /* the delimiter: there are none */
    int32_t multiline;  /* whether quoted fields may hold line ends */
    const char *comment; /* the beginning of comment lines; "": there are none */
} pfd_csv_format;

/* A record, or a line to skip, at the beginning of a line. */
typedef struct pfd_csv_extent {
    int32_t is_record; /* 0: a blank line or a comment */
    int64_t size;      /* without the line end */
    int64_t next;      /* after it */
    int64_t open_quote; /* of a quoted field that the file's end cuts off; else -1 */
} pfd_csv_extent;

/* Looks at text[0, size), which goes to the file's end where is_end is 1.  0: more is needed. */
int32_t pfd_csv_scan(const pfd_csv_format *format, const uint8_t *text, int64_t size,
                     int32_t is_end, pfd_csv_extent *out);

typedef struct pfd_csv_field {
    int64_t begin, end; /* of its content, quotes left out */
    int32_t is_quoted, has_escapes;
} pfd_csv_field;

#define PFD_CSV_FIELD 0
#define PFD_CSV_LAST_FIELD 1
#define PFD_CSV_NOT_CLOSED 2   /* a quoted field that the record's end cuts off */
#define PFD_CSV_STRAY_QUOTE 3  /* a quote in a field that does not begin with one */
#define PFD_CSV_AFTER_QUOTE 4 /* a byte after a closing quote that is not a delimiter */

/* Reads the field that begins at *at, and goes to the next one.  Where it fails *at is the place.
 */
int32_t pfd_csv_next_field(const pfd_csv_format *format, const uint8_t *text, int64_t size,
                           int64_t *at, pfd_csv_field *out);

/* Copies the content of a field, one quote for two; returns its bytes, at most end - begin. */
int64_t pfd_csv_unescape(const pfd_csv_format *format, const uint8_t *text,
                         const pfd_csv_field *field, uint8_t *out);
#endif
