/* files/file_attrs.h -- the attrs that say which files a reader reads, and how.
 *
 * THREADS  Any.
 * ERRORS   PFD_INVALID_ARGUMENT names the attr.
 */
#ifndef PFD_FILES_FILE_ATTRS_H
#define PFD_FILES_FILE_ATTRS_H
#include "pyflowdata/op.h"

/* The attrs of every op with PFD_READS_FILES, and their table. */
typedef struct pfd_file_attrs {
    const char *data_dir; /* "": files are given */
    pfd_list_string files;
    int32_t data_part_num;
    const char *part_name_prefix;
    int32_t part_name_suffix_length;
    int32_t file_access;   /* PFD_FILE_ACCESS_* of files/input_files.h */
    int32_t compression;   /* PFD_COMPRESSION_* of files/compression.h */
    const char *index_dir; /* as in index/index_cache.h */
} pfd_file_attrs;

#define PFD_MAX_SUFFIX_LENGTH 64

extern const pfd_attr pfd_file_attr_table[];
extern const uint32_t pfd_file_attr_count;

/* Checks that the table cannot express: either data_dir or files is given, data_part_num is not
 * 0. */
pfd_status pfd_file_attrs_check(const pfd_file_attrs *attrs, pfd_error *err);
#endif
