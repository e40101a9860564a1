/* formats/mds/mds_files.h -- the columns of MDS shards, the index.json of a data set, and the files
 * of its shards.
 *
 * index.json lists the shards relative to its folder.  The folder has a shard as it was written, or
 * decompressed, or both; the decompressed file is preferred.
 */
#ifndef PFD_FORMATS_MDS_MDS_FILES_H
#define PFD_FORMATS_MDS_MDS_FILES_H
#include "parse/json.h"
#include "pyflowdata/op.h"

/* ---- Columns, as the JSON of shards describes them ------------------------------------------- */

/* column_names, column_encodings and column_sizes are three arrays of the same length.  The size of
 * a column is null if it varies; each sample then begins with the size.  A size of 0 is fixed. */

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

/* ---- The index.json: the shards, in order ---------------------------------------------------- */

/* One shard.  Texts point into the JSON. */
typedef struct pfd_mds_shard {
    pfd_json_text raw_name;              /* name of the plain file */
    pfd_json_text zip_name, compression; /* of the compressed file; size 0: there is none */
    int64_t raw_bytes, zip_bytes;        /* of the files */
    int64_t samples;
    pfd_mds_arrays columns;
} pfd_mds_shard;

typedef struct pfd_mds_index {
    pfd_json json;  /* in the array of shards; json.problem says what is wrong with the JSON */
    int64_t shards; /* number of shards read */
} pfd_mds_index;

/* Goes to the array of shards.  Returns 0 if it fails; json.problem says why. */
int32_t pfd_mds_index_begin(const uint8_t *text, int64_t size, pfd_mds_index *out);

/* Reads the next shard.  Returns 0 after the last one, or if it fails; then json.problem says
 * why. */
int32_t pfd_mds_index_next(pfd_mds_index *index, pfd_mds_shard *out);

/* Reads the JSON in a shard, which describes only its columns.  Returns 0 if it fails;
 * json->problem says why. */
int32_t pfd_mds_config(const uint8_t *text, int64_t size, pfd_mds_arrays *columns, pfd_json *json);

/* ---- Files ----------------------------------------------------------------------------------- */

#define PFD_MDS_MOST_INDEX_BYTES (1ll << 30)

/* Whether a path is that of an index: its name ends with .json. */
int32_t pfd_mds_is_index(const char *path);

/* companions() of the op: adds the shards of each index, except those that the user gave too.  A
 * folder means the index.json in it. */
pfd_status pfd_mds_add_shards(const pfd_companion_args *args, pfd_error *err);

/* Finds the opened file of a shard of an index, searched for from file *hint on, and how it is
 * compressed (PFD_COMPRESSION_*).  *hint becomes the next file. */
pfd_status pfd_mds_find_shard(const pfd_open_args *args, const char *index,
                              const pfd_mds_shard *named, int64_t *hint, const pfd_file **file,
                              int32_t *compression, pfd_error *err);
#endif
