/* formats/mds/mds_shard.h -- finds the samples of an MDS shard.
 *
 * A shard is the number of samples, an offset for each and one for the end (all uint32), a JSON
 * text, and the samples.  It is read from its file, or is decompressed in memory.
 */
#ifndef PFD_FORMATS_MDS_MDS_SHARD_H
#define PFD_FORMATS_MDS_MDS_SHARD_H
#include "pyflowdata/op.h"

#define PFD_MDS_WORD ((int64_t)sizeof(uint32_t))

typedef struct pfd_mds_bytes {
    const pfd_file *file;
    const uint8_t *inflated; /* all decompressed bytes; NULL: read from the file */
    int64_t size;            /* bytes */
    int64_t samples;
} pfd_mds_bytes;

/* Checks the count and the first and last offset.  *begin is where the samples begin. */
pfd_status pfd_mds_check_head(const pfd_host *host, const pfd_mds_bytes *from, pfd_scratch *scratch,
                              int64_t *begin, pfd_error *err);

/* Checks all offsets of a decompressed shard. */
pfd_status pfd_mds_check_offsets(const pfd_host *host, const pfd_mds_bytes *from, pfd_error *err);

/* Finds the data, size and offset of sample k.  In a decompressed shard the sample is copied into
 * the scratch and its offset is 0.  If the two offsets of the sample are wrong, the result is these
 * offsets themselves. */
pfd_status pfd_mds_find_sample(const pfd_host *host, const pfd_mds_bytes *from, int64_t k,
                               pfd_scratch *scratch, pfd_record *out, pfd_error *err);

/* Fails with PFD_CORRUPT_DATA for a sample with wrong offsets. */
pfd_status pfd_mds_fail_offsets(const pfd_host *host, const pfd_mds_bytes *from,
                                const pfd_record *record, int64_t row, pfd_error *err);
#endif
