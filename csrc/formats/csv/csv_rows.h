/* formats/csv/csv_rows.h -- records of CSV files to rows of the outputs.
 *
 * OWNERSHIP  A table owns columns and layouts, and borrows the attrs.
 * THREADS    compute() only reads the table: any thread.
 */
#ifndef PFD_FORMATS_CSV_CSV_ROWS_H
#define PFD_FORMATS_CSV_CSV_ROWS_H
#include "formats/csv/csv_layout.h"

/* What is known of a reader's files once they are open. */
typedef struct pfd_csv_table {
    pfd_csv_format format;
    pfd_list_string missing; /* texts that stand for no value, besides the empty one */
    int32_t allow_uneven;
    pfd_csv_column *columns;
    uint8_t **defaults; /* of each column, its values; NULL: none */
    int64_t num_columns;
    pfd_csv_layout **layouts; /* of each file; neighbours may share one; NULL: it has no record */
    int64_t num_files;
    int64_t most_fields; /* of a layout */
} pfd_csv_table;

pfd_status pfd_csv_compute(const pfd_csv_table *table, const pfd_compute_args *args,
                           pfd_error *err);
#endif
