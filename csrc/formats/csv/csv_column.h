/* formats/csv/csv_column.h -- parses an element of the attr `columns`: the columns of a CSV file
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
#ifndef PFD_FORMATS_CSV_CSV_COLUMN_H
#define PFD_FORMATS_CSV_CSV_COLUMN_H
#include "pyflowdata/op.h"

typedef struct pfd_csv_column {
    const char *spec; /* the element; the texts point into it */
    const char *name, *key, *default_text; /* NULL: no default */
    int64_t name_size, key_size, default_size;
    pfd_row_type type;  /* of the output */
    int64_t num_values; /* of a row */
    int32_t is_bytes;
    int32_t has_names; /* whether a header is needed */
} pfd_csv_column;

/* One end of a key: a name, or a number if name is NULL. */
typedef struct pfd_csv_place {
    const char *name;
    int64_t size, number;
} pfd_csv_place;

typedef struct pfd_csv_key {
    pfd_csv_place first, last; /* equal unless the key is a range */
    int32_t is_range;
} pfd_csv_key;

/* Parses an element.  PFD_INVALID_ARGUMENT: it is malformed. */
pfd_status pfd_csv_column_parse(const pfd_host *host, const char *element, pfd_csv_column *out,
                                pfd_error *err);

/* Reads the key at *at and moves *at to the next one; start with *at = column->key.  PFD_END: there
 * are no more keys. */
pfd_status pfd_csv_next_key(const pfd_host *host, const pfd_csv_column *column, const char **at,
                            pfd_csv_key *out, pfd_error *err);

/* Writes the default values, one text for all or one for each, to `out`; if `out` is NULL, only
 * checks them.  The column must have a default and must not be of the type bytes. */
pfd_status pfd_csv_defaults(const pfd_host *host, const pfd_csv_column *column, uint8_t *out,
                            pfd_error *err);
#endif
