/* formats/mds/mds_json.h -- reads the JSON that describes an MDS dataset from its files.
 *
 * ERRORS  Have the file and the byte in it.
 */
#ifndef PFD_FORMATS_MDS_MDS_JSON_H
#define PFD_FORMATS_MDS_MDS_JSON_H
#include "formats/mds/mds_shard.h"
#include "formats/mds/mds_index.h"

/* Fails with PFD_CORRUPT_DATA for the problem of a cursor.  Its JSON begins at byte `begin` of the
 * file. */
pfd_status pfd_mds_fail_json(const pfd_host *host, const pfd_file *file, int64_t begin,
                             const pfd_json *json, pfd_error *err);

/* Reads all of an index.json. */
pfd_status pfd_mds_read_index(const pfd_host *host, const pfd_file *file, pfd_scratch *scratch,
                              const uint8_t **text, pfd_error *err);

/* Reads the JSON of a shard that is not compressed; it begins at *begin.  *out is the shard. */
pfd_status pfd_mds_read_config(const pfd_host *host, const pfd_file *file, pfd_scratch *scratch,
                               pfd_mds_bytes *out, pfd_mds_arrays *arrays, int64_t *begin,
                               pfd_error *err);

/* mds_infer.c. Infers the attr `columns` from the first shard, or from its entry in the index. */
pfd_status pfd_mds_infer(const pfd_propose_args *args, pfd_error *err);
#endif
