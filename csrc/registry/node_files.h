/* registry/node_files.h -- the files that a reader reads: those its user named, and their sidecar
 * files.
 *
 * OWNERSHIP  Lists and opened files are the caller's; of a failed call, too.
 * THREADS    Any thread.
 */
#ifndef PFD_REGISTRY_NODE_FILES_H
#define PFD_REGISTRY_NODE_FILES_H
#include "core/private.h"
#include "files/input_files.h"
#include "files/path_list.h"
#include "registry/node_fields.h"

/* Of a reader with PFD_READS_FILES. */
pfd_status pfd_node_find_files(const pfd_node *node, pfd_path_list *out,
                               pfd_error *err) PFD_PRIVATE;

/* PFD_FILE_ACCESS_*: how they are opened. */
int32_t pfd_node_file_access(const pfd_node *node);

/* The same, opened as file_access and compression say. */
pfd_status pfd_node_open_files(const pfd_node *node, pfd_input_files **out,
                               pfd_error *err) PFD_PRIVATE;
#endif
