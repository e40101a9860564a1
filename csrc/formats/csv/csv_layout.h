/* formats/csv/csv_layout.h -- the places of the requested columns in the rows of one CSV file.
 *
 * OWNERSHIP  A layout owns its copy of the header; files with equal headers share one.
 */
#ifndef PFD_FORMATS_CSV_CSV_LAYOUT_H
#define PFD_FORMATS_CSV_CSV_LAYOUT_H
#include "formats/csv/csv_column.h"
#include "formats/csv/csv_scan.h"

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

/* "column 3 ('price')", or "column 3" without a header; `out` holds `capacity` >= 256 bytes. */
const char *pfd_csv_layout_name(const pfd_csv_layout *layout, const pfd_csv_format *format,
                                int64_t field, char *out, size_t capacity);
#endif
