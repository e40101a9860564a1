/* formats/mds/mds_index.h -- the index.json of an MDS dataset: its shards, in order. */
#ifndef PFD_FORMATS_MDS_MDS_INDEX_H
#define PFD_FORMATS_MDS_MDS_INDEX_H
#include "formats/mds/mds_columns.h"

/* One shard.  Texts point into the JSON. */
typedef struct pfd_mds_shard {
    pfd_json_text raw_name;              /* of the plain shard */
    pfd_json_text zip_name, compression; /* of the compressed one; size 0: there is none */
    int64_t raw_bytes, zip_bytes;                  /* of the files */
    int64_t samples;
    pfd_mds_arrays columns;
} pfd_mds_shard;

typedef struct pfd_mds_index {
    pfd_json json;  /* in the array of shards; json.problem says what is wrong with the JSON */
    int64_t shards; /* how many were read */
} pfd_mds_index;

/* Goes to the array of shards.  Returns 0 if it fails; json.problem says why. */
int32_t pfd_mds_index_begin(const uint8_t *text, int64_t size, pfd_mds_index *out);

/* Reads the next shard.  Returns 0 after the last one, or if it fails; then json.problem says
 * why. */
int32_t pfd_mds_index_next(pfd_mds_index *index, pfd_mds_shard *out);

/* Reads the JSON in a shard, which describes only its columns.  Returns 0 if it fails;
 * json->problem says why. */
int32_t pfd_mds_config(const uint8_t *text, int64_t size, pfd_mds_arrays *columns, pfd_json *json);
#endif
