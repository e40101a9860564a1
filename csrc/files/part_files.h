/* files/part_files.h -- which files or folders a reader reads, and the attrs that say so: `files`,
 * or data_dir + prefix + number.
 *
 * ERRORS   PFD_INVALID_ARGUMENT for an attr, which it names; PFD_IO for a missing file or folder,
 *          with the path.
 * THREADS  Everything here may be called from any thread.
 */
#ifndef PFD_FILES_PART_FILES_H
#define PFD_FILES_PART_FILES_H
#include "files/file_names.h"

/* ---- The attrs ------------------------------------------------------------------------------- */

/* The attrs of every op with PFD_READS_FILES, and their table. */
typedef struct pfd_file_attrs {
    const char *data_dir; /* "": files are given */
    pfd_list_string files;
    int32_t data_part_num;
    const char *part_name_prefix;
    int32_t part_name_suffix_length;
    int32_t file_access;   /* PFD_FILE_ACCESS_* of files/input_files.h */
    int32_t compression;   /* PFD_COMPRESSION_* of files/codecs.h */
    const char *index_dir; /* as in index/index_image.h */
    int32_t check;         /* PFD_CHECK_* of files/seal.h */
} pfd_file_attrs;

extern const pfd_attr pfd_file_attr_table[];
extern const uint32_t pfd_file_attr_count;

/* Checks two rules that the table cannot express: either data_dir or files is given, and
 * data_part_num is not 0. */
pfd_status pfd_file_attrs_check(const pfd_file_attrs *attrs, pfd_error *err);

/* ---- Folders --------------------------------------------------------------------------------- */

/* For a reader with PFD_READS_FOLDERS.  Adds data_dir; or, in order, each element of `files` that
 * is a folder, and the folders that each other one matches as a pattern, sorted by the bytes of
 * their paths.  Slashes at the end are dropped.  Attrs that say something about files or parts are
 * refused. */
pfd_status pfd_data_folders_find(const pfd_file_attrs *attrs, pfd_path_list *out, pfd_error *err);

/* ---- Files and parts ------------------------------------------------------------------------- */

/* Resolves the attrs into paths: those of `files` as in files/file_names.h, else those of
 * data_dir in numeric order.  data_part_num = -1: every file of the folder whose name is the prefix
 * and a number.  A missing folder or part is PFD_IO with the names that are there and the attr that
 * would fit.  The caller frees `out`, also after a failure.  `keep_missing`: as in
 * files/file_names.h, for `files`; a folder without any part is returned itself. */
pfd_status pfd_part_files_find(const pfd_file_attrs *attrs, int32_t keep_missing,
                               pfd_path_list *out, pfd_error *err);
#endif
