/* formats/mds/mds_index.h -- the index.json of an MDS dataset: its shards, in order. */
#ifndef PFD_FORMATS_MDS_MDS_INDEX_H
#define PFD_FORMATS_MDS_MDS_INDEX_H
#include "formats/mds/mds_columns.h"

/* One shard.  Texts point into the JSON. */
typedef struct pfd_mds_shard {
    pfd_json_text raw_name, zip_name, compression; /* of the last two: size 0 where there is none */
    int64_t raw_bytes, zip_bytes;                  /* of the files */
    int64_t samples;
    pfd_mds_arrays columns;
} pfd_mds_shard;

typedef struct pfd_mds_index {
    pfd_json json;  /* in the array of shards; its problem says what is wrong with the JSON */
    int64_t shards; /* so far */
} pfd_mds_index;

/* Goes to the shards: 1; 0: json.problem. */
int32_t pfd_mds_index_begin(const uint8_t *text, int64_t size, pfd_mds_index *out);

/* The next shard: 1; 0: there is none, or json.problem. */
int32_t pfd_mds_index_next(pfd_mds_index *index, pfd_mds_shard *out);

/* The JSON in a shard, which describes its columns alone: 1; 0: json->problem. */
int32_t pfd_mds_config(const uint8_t *text, int64_t size, pfd_mds_arrays *columns, pfd_json *json);
#endif
