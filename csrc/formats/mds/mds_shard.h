/* formats/mds/mds_shard.h -- where the samples of an MDS shard are.
 *
 * A shard is a number of samples, so many offsets and one more for the end (all uint32), a JSON
 * text, and the samples.  It is read from its file, or lies decompressed in memory.
 */
#ifndef PFD_FORMATS_MDS_MDS_SHARD_H
#define PFD_FORMATS_MDS_MDS_SHARD_H
#include "pyflowdata/op.h"

#define PFD_MDS_WORD ((int64_t)sizeof(uint32_t))

typedef struct pfd_mds_bytes {
    const pfd_file *file;
    const uint8_t *inflated; /* all bytes; NULL: they are the file's */
    int64_t size;            /* bytes */
    int64_t samples;
} pfd_mds_bytes;

/* Count, first and last offset; *begin: where the samples begin. */
pfd_status pfd_mds_check_head(const pfd_host *host, const pfd_mds_bytes *from, pfd_scratch *scratch,
                              int64_t *begin, pfd_error *err);

/* All offsets of a shard that is decompressed. */
pfd_status pfd_mds_check_offsets(const pfd_host *host, const pfd_mds_bytes *from, pfd_error *err);

/* Data, size and offset of sample number k (offset 0 in a shard that is decompressed, copied into
 * the scratch).  If its two offsets are wrong, of these themselves. */
pfd_status pfd_mds_find_sample(const pfd_host *host, const pfd_mds_bytes *from, int64_t k,
                               pfd_scratch *scratch, pfd_record *out, pfd_error *err);

/* Such a record is PFD_CORRUPT_DATA. */
pfd_status pfd_mds_fail_offsets(const pfd_host *host, const pfd_mds_bytes *from,
                                const pfd_record *record, int64_t row, pfd_error *err);
#endif
