/* files/input_files.h -- the opened files of a reader: mapped or read, guarded, fingerprinted.
 *
 * A file is mapped whole and read-only, or read piece by piece into memory of the caller's. Mapping
 * is by far the faster way while the files fit into memory (page cache, 2 threads: random records
 * of 32 bytes 0.2 us against 3.4 us, in sequence 5.6 GB/s against 4.0 GB/s).  If they do not fit,
 * reading is faster (in sequence, with 300 MB for 1 GB: 1.5 GB/s against 0.7 GB/s), and it needs
 * neither address space nor resident memory.
 *
 * When another process cuts a mapped file short, sigbus_guard.h leaves a mark, and
 * pfd_input_files_check() turns the mark into an error.
 *
 * OWNERSHIP  Paths and bytes in the list live until close.
 * THREADS    check() and the bytes: any thread.  open and close: one.
 * ERRORS     PFD_IO, with the path and what was found.
 */
#ifndef PFD_FILES_INPUT_FILES_H
#define PFD_FILES_INPUT_FILES_H
#include "core/error.h"
#include "files/file_read.h"

typedef struct pfd_input_files pfd_input_files;

/* The choices of the attr file_access. */
#define PFD_FILE_ACCESS_AUTO 0 /* read what does not fit into memory or address space */
#define PFD_FILE_ACCESS_MAP 1
#define PFD_FILE_ACCESS_READ 2
/* Not a choice: the paths are folders, each of which is opened as a file without bytes. */
#define PFD_FILE_ACCESS_FOLDER 3

/* Opens all paths (copied); `access` is PFD_FILE_ACCESS_*, `compression` PFD_COMPRESSION_*.
 * `bounds` are those of the loader, borrowed until close, or NULL: its end ends calls that are
 * tried again.  PFD_IO names the path and reason. */
pfd_status pfd_input_files_open(char *const *paths, int64_t n, int32_t access, int32_t compression,
                                const pfd_bounds *bounds, pfd_input_files **out, pfd_error *err);

/* From here on, the bytes of all files in the list are compared with their seals.  ERRORS  Those of
 * pfd_sealed_file_open(); the caller closes the files. */
pfd_status pfd_input_files_compare_seals(pfd_input_files *files, pfd_error *err);
void pfd_input_files_close(pfd_input_files *files) PFD_PRIVATE; /* accepts NULL */

const pfd_file *const *pfd_input_files_list(const pfd_input_files *files, int64_t *n) PFD_PRIVATE;

/* Cheap, for every batch: PFD_IO once a SIGBUS struck in one of these files. */
pfd_status pfd_input_files_check(const pfd_input_files *files, pfd_error *err);

/* Looks at the disk: PFD_IO when file or folder i has vanished or was replaced, or a file changed
 * since open, by its size and times.  After PFD_OK, all bytes that were read before are those at
 * open. */
pfd_status pfd_input_files_check_one(const pfd_input_files *files, int64_t i, pfd_error *err);

/* The same for all files, for every epoch and after every failure. */
pfd_status pfd_input_files_check_disk(const pfd_input_files *files, pfd_error *err);

/* A hash of base names, sizes and sampled content (the same on another machine with equal files);
 * of folders only their number counts. */
uint64_t pfd_input_files_fingerprint(const pfd_input_files *files);
int32_t pfd_input_files_are_remote(const pfd_input_files *files); /* at least one of them */
int64_t pfd_input_files_bytes(const pfd_input_files *files) PFD_PRIVATE;

/* Two hashes: which files of this machine these are, by absolute paths; and their state, by sizes,
 * times of modification and sampled content.  Both begin with `seed`. */
void pfd_input_files_identify(const pfd_input_files *files, uint64_t seed, uint64_t *identity,
                              uint64_t *state);

/* For files that are read in sequence: the caller is at `offset` of a file. Requests the following
 * bytes from the disk, also of the next files, some megabytes at a time, each byte once. Cheap
 * where nothing new is needed. Any thread. */
void pfd_input_files_read_ahead(pfd_input_files *files, int64_t file, int64_t offset);

/* For files that are read in random order: turns off the kernel's own read-ahead. */
void pfd_input_files_read_at_random(const pfd_input_files *files);

/* How many bytes were read from files that are not mapped. */
int64_t pfd_input_files_bytes_read(const pfd_input_files *files);
#endif
