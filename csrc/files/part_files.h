/* files/part_files.h -- which files a reader reads: data_dir + prefix + number.
 *
 * ERRORS   PFD_INVALID_ARGUMENT for an attr, PFD_IO for what the disk has not, with the path.
 * THREADS  Everything here may be called from any thread.
 */
#ifndef PFD_FILES_PART_FILES_H
#define PFD_FILES_PART_FILES_H
#include "files/path_list.h"

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

/* What the table cannot say: either data_dir or files is given, data_part_num is not 0. */
pfd_status pfd_file_attrs_check(const pfd_file_attrs *attrs, pfd_error *err);

/* Resolves the attrs into paths: those of `files` as in files/file_patterns.h, else those of data_dir
 * in numeric order.  data_part_num = -1: every file of the folder whose name is the prefix and a
 * number.  A missing folder or part is PFD_IO, and says which names are there and which attr would
 * fit.  Also after a failure `out` is the caller's to free.  `keep_missing`: as in
 * files/file_patterns.h, of `files`; a folder without any part stands for itself. */
pfd_status pfd_part_files_find(const pfd_file_attrs *attrs, int32_t keep_missing,
                               pfd_path_list *out, pfd_error *err);
#endif
