/* formats/csv/csv_rows.h -- parses records of CSV files into rows of the outputs.
 *
 * OWNERSHIP  A table owns columns and layouts, and borrows the attrs. A layout owns its copy of the
 *            header; files with equal headers share one.
 * THREADS    compute() only reads the table: any thread.
 */
#ifndef PFD_FORMATS_CSV_CSV_ROWS_H
#define PFD_FORMATS_CSV_CSV_ROWS_H
#include "formats/csv/csv_fields.h"
#include "pyflowdata/op.h"

/* ---- The columns of an output: an element of the attr columns -------------------------------- */

/* Parses an element of the attr `columns`: the columns of a CSV file
 * that make one output.
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
    const char *spec; /* the element; the texts point into it */
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

/* Neighbouring fields. */
typedef struct pfd_csv_run {
    int64_t first, count;
} pfd_csv_run;

typedef struct pfd_csv_layout {
    int64_t num_fields; /* of a row */
    int32_t has_header;
    uint8_t *first_row; /* the header, or the first row of a file without one */
    int64_t first_row_size;
    pfd_csv_run *runs;   /* of all columns, one column after the other */
    int64_t *run_bounds; /* those of column i: [run_bounds[i], run_bounds[i + 1]) */
} pfd_csv_layout;

/* Makes a layout from the first row of a file, at `offset`.  If it fails, *out is NULL, and the
 * error names the file and the column. */
pfd_status pfd_csv_layout_make(const pfd_host *host, const pfd_file *file, int64_t offset,
                               const pfd_csv_format *format, const pfd_csv_column *columns,
                               int64_t num_columns, int32_t has_header, const uint8_t *row,
                               int64_t size, pfd_csv_layout **out, pfd_error *err);
void pfd_csv_layout_free(pfd_csv_layout *layout); /* accepts NULL */

/* ---- Rows ------------------------------------------------------------------------------------ */

/* The columns of a reader's files; made when the files are opened. */
typedef struct pfd_csv_table {
    pfd_csv_format format;
    pfd_list_string missing; /* texts that mean a missing value, as the empty text does */
    int32_t allow_uneven, is_strict;
    pfd_csv_column *columns;
    uint8_t **defaults; /* the default values of each column; NULL: none */
    int64_t num_columns;
    pfd_csv_layout **layouts; /* of each file, may be shared; NULL: the file has no records */
    int64_t num_files;
    int64_t most_fields; /* the largest num_fields of the layouts */
} pfd_csv_table;

pfd_status pfd_csv_compute(const pfd_csv_table *table, const pfd_compute_args *args,
                           pfd_error *err);
#endif
