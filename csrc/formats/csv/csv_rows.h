/* formats/csv/csv_rows.h -- finds the records of CSV files and their fields, and parses them into
 * rows of the outputs.
 *
 * OWNERSHIP  A table owns columns and layouts, and borrows the attrs. A layout owns its copy of the
 *            header; files with equal headers share one.
 * THREADS    compute() only reads the table: any thread.
 */
#ifndef PFD_FORMATS_CSV_CSV_ROWS_H
#define PFD_FORMATS_CSV_CSV_ROWS_H
#include "pyflowdata/op.h"

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
#define PFD_CSV_AFTER_QUOTE 4  /* a byte after a closing quote that is not a delimiter */

/* Reads the field that begins at *at, and moves *at to the next one, or to the place of a
 * failure. */
int32_t pfd_csv_next_field(const pfd_csv_format *format, const uint8_t *text, int64_t size,
                           int64_t *at, pfd_csv_field *out);

/* ---- Where the fields of a record end -------------------------------------------------------- */

#define PFD_CSV_SPLIT_SLACK 64 /* places that a splitter may write beyond those it returns */

/* Finds the first delimiters of text[0, size), at most `most`, and returns how many it found.
 * size < 2^31.  ends[i] is the place of the i-th delimiter; `ends` has room for most +
 * PFD_CSV_SPLIT_SLACK places.  *has_quote is 1 if there is a quote anywhere in the text; `quote`
 * may be the delimiter, so that no quotes are found. */
typedef int64_t (*pfd_csv_split_fn)(const uint8_t *text, int64_t size, uint8_t delimiter,
                                    uint8_t quote, int64_t most, uint32_t *ends,
                                    int32_t *has_quote);

/* The variant for a level of core/cpu.h. */
pfd_csv_split_fn pfd_csv_split_at(int32_t simd_level);

/* ---- Numbers of neighbouring fields ---------------------------------------------------------- */

/* Parses n neighbouring fields of text[0, size): the first begins at `begin`, field i ends at
 * ends[i] <= size, and the next one begins one byte later.  Returns how many fields, from the first
 * on, are finite decimal literals and nothing else; the numbers are those of pfd_parse_double(),
 * bit for bit. */
typedef int64_t (*pfd_csv_doubles_fn)(const uint8_t *text, int64_t size, int64_t begin,
                                      const uint32_t *ends, int64_t n, double *out);

/* The variant for a level of core/cpu.h. */
pfd_csv_doubles_fn pfd_csv_doubles_at(int32_t simd_level);

/* ---- The columns of an output: an element of the attr columns -------------------------------- */

/* An element of the attr `columns` names the columns of a CSV file that make one output.
 *
 *     [NAME=]KEY[:TYPE][=DEFAULT]     as in parse/row_type.h, where KEY is one or more of
 *
 *     name       the column with this name in the header
 *     3          the column with this number, from 0
 *     1..64      columns 1 to 64, the last one included
 *     a..z       from the column named a to the one named z; the type says how many
 *     'a|b..c'   a name in single quotes is used literally, even if it is all digits
 *
 * separated by |.  One name or number gives a scalar, anything else a row of that many values.
 */

typedef struct pfd_csv_column {
    const char *spec; /* the element; the other texts point into it */
    const char *name, *key, *default_text; /* NULL: no default */
    int64_t name_size, key_size, default_size;
    pfd_row_type type;  /* of the output */
    int64_t num_values; /* of a row */
    int32_t is_bytes;
    int32_t has_names; /* whether a header is needed */
} pfd_csv_column;

/* Parses an element.  PFD_INVALID_ARGUMENT: it is malformed. */
pfd_status pfd_csv_column_parse(const pfd_host *host, const char *element, pfd_csv_column *out,
                                pfd_error *err);

/* Writes the default values, one text for all or one for each, to `out`; if `out` is NULL, only
 * checks them.  The column must have a default and must not be of the type bytes. */
pfd_status pfd_csv_defaults(const pfd_host *host, const pfd_csv_column *column, uint8_t *out,
                            pfd_error *err);

/* ---- The places of the columns in the rows of one file --------------------------------------- */

typedef struct pfd_csv_run {
    int64_t first, count; /* of neighbouring fields */
} pfd_csv_run;

typedef struct pfd_csv_layout {
    int64_t num_fields; /* of a row */
    int32_t has_header;
    uint8_t *first_row; /* the header, or the first row of a file without one */
    int64_t first_row_size;
    pfd_csv_run *runs;   /* of all columns, one column after the other */
    int64_t *run_bounds; /* the runs of column i are [run_bounds[i], run_bounds[i + 1]) */
} pfd_csv_layout;

/* ---- Rows ------------------------------------------------------------------------------------ */

/* The columns of a reader's files; made when the files are opened. */
typedef struct pfd_csv_table {
    pfd_csv_format format;
    pfd_list_string missing; /* texts that mean a missing value, as the empty text does */
    int32_t allow_uneven, is_strict;
    pfd_csv_column *columns;
    uint8_t **defaults; /* the default values of each column; NULL: none */
    int64_t num_columns;
    pfd_csv_layout **layouts; /* of each file, may be shared; an element is NULL if the file has no
                                 records */
    int64_t num_files;
    int64_t most_fields; /* the largest num_fields of the layouts */
} pfd_csv_table;

/* Makes a layout of the columns of a table from the first row of a file, at `offset`.  If it fails,
 * *out is NULL, and the error names the file and the column. */
pfd_status pfd_csv_layout_make(const pfd_host *host, const pfd_file *file, int64_t offset,
                               const pfd_csv_table *table, int32_t has_header, const uint8_t *row,
                               int64_t size, pfd_csv_layout **out, pfd_error *err);
void pfd_csv_layout_free(pfd_csv_layout *layout); /* accepts NULL */

pfd_status pfd_csv_compute(const pfd_csv_table *table, const pfd_compute_args *args,
                           pfd_error *err);
#endif
