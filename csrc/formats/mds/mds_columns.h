/* formats/mds/mds_columns.h -- the columns of MDS shards, as their JSON describes them.
 *
 * column_names, column_encodings and column_sizes are three arrays of the same length.  A size is
 * null if it varies; each sample then begins with the size.  A size of 0 is a fixed one.
 */
#ifndef PFD_FORMATS_MDS_MDS_COLUMNS_H
#define PFD_FORMATS_MDS_MDS_COLUMNS_H
#include "pyflowdata/op.h"
#include "parse/json.h"

/* The meaning of a column's bytes. */
#define PFD_MDS_BYTES 1  /* bytes, str, json, images, lists of them */
#define PFD_MDS_PICKLE 2 /* bytes that can run code when Python loads them */
#define PFD_MDS_SCALAR 3
#define PFD_MDS_ARRAY 4
#define PFD_MDS_INT_TEXT 5   /* str_int */
#define PFD_MDS_FLOAT_TEXT 6 /* str_float, str_decimal */
#define PFD_MDS_UNKNOWN 7    /* an encoding that a user defined */

typedef struct pfd_mds_column {
    const char *name, *encoding; /* end with a 0 */
    int64_t name_size;
    int64_t size;  /* bytes in each sample; -1: it varies */
    int32_t kind;  /* PFD_MDS_* */
    int32_t dtype; /* of scalars and arrays; 0: each array has its own */
    int32_t ndim;  /* of arrays; -1: each has its own shape */
    int32_t reserved;
    int64_t shape[PFD_MAX_DIMS];
} pfd_mds_column;

typedef struct pfd_mds_columns {
    pfd_mds_column *list; /* owned */
    int64_t size;
    char *text; /* owned; names and encodings */
} pfd_mds_columns;

/* JSON cursors at the beginning of the three arrays. */
typedef struct pfd_mds_arrays {
    pfd_json names, encodings, sizes;
} pfd_mds_arrays;

/* Parses the columns.  PFD_CORRUPT_DATA: *json is a copy of the cursor that has the problem.  The
 * caller frees *out in any case. */
pfd_status pfd_mds_columns_parse(const pfd_host *host, const pfd_mds_arrays *arrays,
                                 pfd_mds_columns *out, pfd_json *json, pfd_error *err);
void pfd_mds_columns_free(pfd_mds_columns *columns);
int32_t pfd_mds_columns_equal(const pfd_mds_columns *a, const pfd_mds_columns *b);
#endif
