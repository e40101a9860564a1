/* formats/mds/mds_json.h -- the JSON that describes an MDS dataset, as it lies in its files.
 *
 * ERRORS  Name the file, and the byte of it.
 */
#ifndef PFD_FORMATS_MDS_MDS_JSON_H
#define PFD_FORMATS_MDS_MDS_JSON_H
#include "formats/mds/mds_shard.h"
#include "formats/mds/mds_index.h"

/* PFD_CORRUPT_DATA: the problem of a cursor in JSON that begins at this byte of the file. */
pfd_status pfd_mds_fail_json(const pfd_host *host, const pfd_file *file, int64_t begin,
                             const pfd_json *json, pfd_error *err);

/* All of an index.json. */
pfd_status pfd_mds_read_index(const pfd_host *host, const pfd_file *file, pfd_scratch *scratch,
                              const uint8_t **text, pfd_error *err);

/* The JSON of a shard that lies there plain, which begins at *begin; *out: the shard. */
pfd_status pfd_mds_read_config(const pfd_host *host, const pfd_file *file, pfd_scratch *scratch,
                               pfd_mds_bytes *out, pfd_mds_arrays *arrays, int64_t *begin,
                               pfd_error *err);

/* mds_infer.c. Infers the attr `columns` from the first shard, or from its entry in the index. */
pfd_status pfd_mds_infer(const pfd_propose_args *args, pfd_error *err);
#endif
