/* files/data_folders.h -- which folders a reader with PFD_READS_FOLDERS reads: data_dir, or those
 * that `files` name.
 *
 * ERRORS   PFD_INVALID_ARGUMENT for an attr, PFD_IO for a missing folder, with the path.
 * THREADS  Any thread.
 */
#ifndef PFD_FILES_DATA_FOLDERS_H
#define PFD_FILES_DATA_FOLDERS_H
#include "files/file_attrs.h"
#include "files/path_list.h"

/* Adds data_dir; or, in order, each element of `files` that is a folder, and the folders that each
 * other one matches as a pattern, sorted by the bytes of their paths. Slashes at the end are
 * dropped. Attrs that say something about files or parts are refused. */
pfd_status pfd_data_folders_find(const pfd_file_attrs *attrs, pfd_path_list *out, pfd_error *err);
#endif
