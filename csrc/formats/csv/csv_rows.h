/* formats/csv/csv_rows.h -- parses records of CSV files into rows of the outputs.
 *
 * OWNERSHIP  A table owns columns and layouts, and borrows the attrs.
 * THREADS    compute() only reads the table: any thread.
 */
#ifndef PFD_FORMATS_CSV_CSV_ROWS_H
#define PFD_FORMATS_CSV_CSV_ROWS_H
#include "formats/csv/csv_layout.h"

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
