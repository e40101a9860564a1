/* files/file_names.h -- names of files: lists, folders, patterns, and messages about missing files.
 *
 * THREADS  Any thread.
 */
#ifndef PFD_FILES_FILE_NAMES_H
#define PFD_FILES_FILE_NAMES_H
#include "core/error.h"

/* ---- Lists of paths -------------------------------------------------------------------------- */

/* A growing list, which owns its paths; a zeroed struct is an empty list. */
typedef struct pfd_path_list {
    char **paths;
    int64_t size, capacity;
} pfd_path_list;

/* Takes over `path`, from malloc(), also where it fails; NULL is PFD_OUT_OF_MEMORY. */
pfd_status pfd_path_list_take(pfd_path_list *list, char *path, pfd_error *err);
void pfd_path_list_free(pfd_path_list *list) PFD_PRIVATE;

/* ---- The names in a folder ------------------------------------------------------------------- */

/* Files with certain suffixes, and folders.  Names that begin with a period are left out, as are
 * devices, sockets and FIFOs.  Symbolic links count as what they lead to; one that leads nowhere
 * counts as a file, and `broken` has its name: pfd_check_links() says what is wrong.  A zeroed
 * struct is empty; its memory is the caller's, also after a failure. */
typedef struct pfd_folder_names {
    pfd_path_list files, folders; /* names, each list sorted by bytes */
    int64_t num_others;           /* files without one of the suffixes */
    pfd_path_list others;         /* examples of these, see pfd_note_example() */
    int64_t changed_ns;           /* when a name was last added or taken away, or later */
    uint64_t device, inode;
    char *broken;                 /* name of a link that leads nowhere; NULL: there is none */
} pfd_folder_names;

/* Reads the folder at `path` below the folder that `parent` is open on (AT_FDCWD: the current one).
 * The case of `suffixes` does not matter; none of them: all files count.
 * Returns 0 or an errno. */
int pfd_folder_names_read(int parent, const char *path, const pfd_list_string *suffixes,
                          pfd_folder_names *out);

/* The same of a folder in a store, by its address: its time of change is 0. */
pfd_status pfd_folder_objects_read(const char *url, const pfd_list_string *suffixes,
                                   pfd_folder_names *out, pfd_error *err);
void pfd_folder_names_free(pfd_folder_names *names);

/* Adds a name to examples, of which there are a few, each with another suffix: of names with the
 * same suffix the first by bytes.  Returns 0 or an errno. */
int pfd_note_example(pfd_path_list *examples, const char *name);

/* When the folder was last changed; a negative errno where it cannot be examined. */
int64_t pfd_folder_changed_ns(int parent, const char *path);

/* Whether a change of the folder at that time could be missed by comparing times: it was made so
 * shortly before `now_ns`, by the clock of this machine, that another can have the same time. */
int32_t pfd_is_just_changed(int64_t changed_ns, int64_t now_ns);

/* ---- Messages about missing files ------------------------------------------------------------ */

/* "holds 'a', 'b/' and 7 more" or "is empty". */
void pfd_write_names(const pfd_folder_names *names, int32_t folders_first, char *out,
                     size_t capacity);

/* Writes the same for the folder at a path, folders first; "" where it cannot be read. */
const char *pfd_folder_holds(const char *folder, char *out, size_t capacity);

/* A pattern to suggest for the files of a folder, by the suffix of the first of them.  "": there
 * are no files, or the folder cannot be read. */
const char *pfd_suggest_pattern(const char *folder, char *out, size_t capacity);

/* Why a path or a pattern of glob(3) stands for no file, and which names are there instead. */
const char *pfd_missing_file_words(const char *pattern, char *out, size_t capacity);

/* ---- Patterns -------------------------------------------------------------------------------- */

/* For attrs that name files, as `files` does.
 * Adds, in order, each element that is the path of a file, and the files that each other one
 * matches as a pattern of glob(3) (*, ?, [...]), sorted by the bytes of their paths.  A part ** of
 * a pattern stands for any number of folders, or at its end for all that is below; a backslash is
 * a character like others.
 * `keep_missing`: the path of a missing file is added too; pfd_fail_missing_path() reports it
 * later.
 * ERRORS  PFD_IO: no such file; PFD_INVALID_ARGUMENT: a file is named twice, or the element is not
 *         a valid pattern. */
pfd_status pfd_file_patterns_find(const char *attr, const pfd_list_string *patterns,
                                  int32_t keep_missing, pfd_path_list *out, pfd_error *err);

/* Whether there certainly is no file; addresses are examined all together, when they are opened. */
int32_t pfd_path_is_missing(const char *path);

/* Adds the addresses that a pattern of addresses stands for; none: the list stays as it is. */
pfd_status pfd_path_list_add_remote(pfd_path_list *list, const char *pattern, pfd_error *err);

/* Adds the folders that a pattern matches, sorted by the bytes of their paths; PFD_IO: there are
 * none. */
pfd_status pfd_folder_pattern_find(const char *attr, const char *pattern, pfd_path_list *out,
                                   pfd_error *err);

pfd_status pfd_fail_missing_path(const char *attr, const char *path, pfd_error *err);

/* PFD_INVALID_ARGUMENT where two of n paths are equal. */
pfd_status pfd_check_each_path_once(const char *attr, char *const *paths, int64_t n,
                                    pfd_error *err);
#endif
