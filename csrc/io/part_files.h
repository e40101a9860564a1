/* io/part_files.h -- which files a reader reads: data_dir + prefix + number.
 *
 * ERRORS   PFD_INVALID_ARGUMENT for an attr, PFD_IO for what the disk has not, with the path.
 * THREADS  Everything here may be called from any thread.
 */
#ifndef PFD_IO_PART_FILES_H
#define PFD_IO_PART_FILES_H
#include "pyflowdata/op.h"

/* The attrs of every op with PFD_READS_FILES, and their table. */
typedef struct pfd_file_attrs {
    const char *data_dir;
    int32_t data_part_num;
    const char *part_name_prefix;
    int32_t part_name_suffix_length;
    int32_t file_access;   /* PFD_FILE_ACCESS_* of io/input_files.h */
    int32_t compression;   /* PFD_COMPRESSION_* of io/compression.h */
    const char *index_dir; /* as in io/index_cache.h */
} pfd_file_attrs;

#define PFD_MAX_SUFFIX_LENGTH 64

extern const pfd_attr pfd_file_attr_table[];
extern const uint32_t pfd_file_attr_count;

/* What the table cannot say: data_dir is not "", data_part_num is not 0. */
pfd_status pfd_file_attrs_check(const pfd_file_attrs *attrs, pfd_error *err);

/* Resolves the attrs into paths in numeric order (returns new; pfd_part_files_free).
 * data_part_num = -1: every file of the folder whose name is the prefix and a number.
 * A missing folder or part is PFD_IO, and says which names are there and which attr would fit. */
typedef struct pfd_part_files {
    char **paths;
    int64_t size;
} pfd_part_files;

pfd_status pfd_part_files_find(const pfd_file_attrs *attrs, pfd_part_files *out, pfd_error *err);
void pfd_part_files_free(pfd_part_files *files); /* accepts a zeroed struct */
#endif
