/* files/folder_names.h -- the names in a folder: of files with certain suffixes, and of folders.
 *
 * Names that begin with a period are left out, as are devices, sockets and FIFOs.  Symbolic links
 * count as what they lead to; one that leads nowhere counts as a file, which then cannot be read.
 * OWNERSHIP  A zeroed struct is empty; its memory is the caller's, also after a failure.
 * THREADS    Any thread.
 */
#ifndef PFD_FILES_FOLDER_NAMES_H
#define PFD_FILES_FOLDER_NAMES_H
#include "files/path_list.h"

typedef struct pfd_folder_names {
    pfd_path_list files, folders; /* names, each list sorted by bytes */
    int64_t num_others;           /* files without one of the suffixes */
    int64_t changed_ns;           /* when a name was last added or taken away, or later */
    uint64_t device, inode;
} pfd_folder_names;

/* Reads the folder at `path` below the folder that `parent` is open on (AT_FDCWD: the current one).
 * The case of `suffixes` does not matter; none of them: all files count.
 * Returns 0 or an errno. */
int pfd_folder_names_read(int parent, const char *path, const pfd_list_string *suffixes,
                          pfd_folder_names *out);
void pfd_folder_names_free(pfd_folder_names *names);

int32_t pfd_has_suffix(const char *name, const pfd_list_string *suffixes);

/* When the folder was last changed; a negative errno where it cannot be examined. */
int64_t pfd_folder_changed_ns(int parent, const char *path);

/* Whether a change of the folder at that time could be missed by comparing times: it was made so
 * shortly before `now_ns`, by the clock of this machine, that another can have the same time. */
int32_t pfd_is_just_changed(int64_t changed_ns, int64_t now_ns);
#endif
