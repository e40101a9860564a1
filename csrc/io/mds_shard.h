/* io/mds_shard.h -- where the samples of an MDS shard are.
 *
 * A shard is a number of samples, so many offsets and one more for the end (all uint32), a JSON
 * text, and the samples.  It is read from its file, or lies decompressed in memory.
 */
#ifndef PFD_IO_MDS_SHARD_H
#define PFD_IO_MDS_SHARD_H
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

/* Sample number k, and its place in the file (0 in a shard that is decompressed).  PFD_CORRUPT_DATA
 * with err->row: its offsets are wrong, err->byte counts from *place. */
pfd_status pfd_mds_find_sample(const pfd_host *host, const pfd_mds_bytes *from, int64_t k,
                               pfd_scratch *scratch, int64_t *place, const uint8_t **sample,
                               int64_t *size, pfd_error *err);
#endif
