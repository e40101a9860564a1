/* registry/node_files.h -- finds the files of a reader: those that the user gave, and their sidecar
 * files.
 *
 * OWNERSHIP  The caller owns lists and opened files, even if the call failed.
 * THREADS    Any thread.
 */
#ifndef PFD_REGISTRY_NODE_FILES_H
#define PFD_REGISTRY_NODE_FILES_H
#include "core/error.h"
#include "files/file_names.h"
#include "files/input_files.h"
#include "registry/node_fields.h"

/* Finds the paths of a reader with PFD_READS_FILES. */
pfd_status pfd_node_find_files(const pfd_node *node, pfd_path_list *out,
                               pfd_error *err) PFD_PRIVATE;

/* How the files are opened: PFD_FILE_ACCESS_*. */
int32_t pfd_node_file_access(const pfd_node *node);

/* Finds and opens them, with the attrs file_access and compression. */
pfd_status pfd_node_open_files(const pfd_node *node, pfd_input_files **out,
                               pfd_error *err) PFD_PRIVATE;
#endif
