/* formats/mds/mds_files.h -- which files are the shards of an MDS dataset.
 *
 * index.json lists them relative to its folder.  A shard is in the folder as it was written, or
 * decompressed, or both; the decompressed one is preferred.
 */
#ifndef PFD_FORMATS_MDS_MDS_FILES_H
#define PFD_FORMATS_MDS_MDS_FILES_H
#include "formats/mds/mds_index.h"
#include "pyflowdata/op.h"

#define PFD_MDS_MOST_INDEX_BYTES (1ll << 30)

/* Whether a path is that of an index.json, which may have another name. */
int32_t pfd_mds_is_index(const char *path);

/* companions() of the op: adds the shards of each index, except those that the user gave too.  A
 * folder means the index.json in it. */
pfd_status pfd_mds_add_shards(const pfd_companion_args *args, pfd_error *err);

/* Finds the opened file of a shard of an index, which is probably file *hint, and how it is
 * compressed (PFD_COMPRESSION_*). */
pfd_status pfd_mds_find_shard(const pfd_open_args *args, const char *index,
                              const pfd_mds_shard *named, int64_t *hint, const pfd_file **file,
                              int32_t *compression, pfd_error *err);
#endif
