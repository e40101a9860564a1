/* files/input_files.h -- the opened files of a reader: mapped or read, guarded, fingerprinted.
 *
 * A file is mapped whole and read-only, or read piece by piece into memory of the caller's.
 * Mapping is by far the faster way while the files fit into memory (page cache, 2 threads: random
 * records of 32 bytes 0.2 us against 3.4 us, in sequence 5.6 GB/s against 4.0 GB/s).  Where they do
 * not, reading is (in sequence, with 300 MB for 1 GB: 1.5 GB/s against 0.7 GB/s), and it needs
 * neither address space nor resident memory.
 *
 * When another process cuts a mapped file short, a touch past its new end would raise SIGBUS; a
 * handler puts zero pages there and marks the files as changed, and pfd_input_files_check() turns
 * the mark into an error.  A signal that is not ours goes to the handler that was there before.
 *
 * OWNERSHIP  Paths and bytes in the list live until close.
 * THREADS    check() and the bytes: any thread.  open and close: one.
 * ERRORS     PFD_IO, with the path and what was found.
 */
#ifndef PFD_FILES_INPUT_FILES_H
#define PFD_FILES_INPUT_FILES_H
#include "core/private.h"
#include "pyflowdata/op.h"

typedef struct pfd_input_files pfd_input_files;

/* The choices of the attr file_access. */
#define PFD_FILE_ACCESS_AUTO 0 /* read what does not fit into memory or address space */
#define PFD_FILE_ACCESS_MAP 1
#define PFD_FILE_ACCESS_READ 2

/* What an op sees of a file, and how its bytes are got. */
typedef struct pfd_input_file {
    pfd_file file;
    const uint8_t *data;          /* all of it, mapped; NULL: it is read */
    int fd;                       /* of a file that is read; -1: opened for each read */
    int32_t compression;          /* PFD_COMPRESSION_*; AUTO: not looked at, as NONE */
    struct pfd_stream_window *window; /* over the file's decompressed bytes; NULL: over its own */
    char *absolute;               /* path that holds when the working folder changes; owned */
    uint64_t device, inode;
    _Atomic int64_t ahead;        /* read ahead up to here, see below */
    _Atomic int64_t *bytes_read;  /* the files' counter */
} pfd_input_file;

/* NULL: the file is not mapped, pfd_file_read() gives its bytes. */
static inline const uint8_t *pfd_file_data(const pfd_file *file)
{
    return ((const pfd_input_file *)(const void *)file)->data;
}

/* PFD_COMPRESSION_* of files/compression.h, never AUTO: what the file is, or is said to be. */
static inline int32_t pfd_file_compression(const pfd_file *file)
{
    return ((const pfd_input_file *)(const void *)file)->compression;
}

/* host->read(). */
pfd_status pfd_file_read(const pfd_file *file, int64_t offset, int64_t size, pfd_scratch *scratch,
                         const uint8_t **data, pfd_error *err) PFD_PRIVATE;

/* Whether there are no bytes from `offset` on.  Of a compressed file, whose size is not known while
 * it is read in sequence, frame() can ask this way. */
pfd_status pfd_file_ends_at(const pfd_file *file, int64_t offset, pfd_scratch *scratch,
                            int32_t *ends, pfd_error *err);

/* Whether the byte at `offset` can be read without waiting for the disk.  (mincore() would do for
 * mapped files, but says yes to all of them to who may not write them.) */
int32_t pfd_file_is_in_memory(const pfd_file *file, int64_t offset);

/* How many of the `size` bytes from `offset` on can be read: fewer where the file ends (*is_end 1),
 * or where a compressed one is damaged behind them, which is returned as the failure. */
pfd_status pfd_file_bytes_at(const pfd_file *file, int64_t offset, int64_t size,
                             pfd_scratch *scratch, int64_t *there, int32_t *is_end, pfd_error *err);

/* Asks the disk for [offset, offset + size) of a file, without waiting. */
void pfd_file_will_need(const pfd_file *file, int64_t offset, int64_t size);

/* Opens all paths (copied); `access` is PFD_FILE_ACCESS_*, `compression` PFD_COMPRESSION_*.  PFD_IO
 * names the path and reason. */
pfd_status pfd_input_files_open(char *const *paths, int64_t n, int32_t access, int32_t compression,
                                pfd_input_files **out, pfd_error *err);
void pfd_input_files_close(pfd_input_files *files) PFD_PRIVATE; /* accepts NULL */

const pfd_file *const *pfd_input_files_list(const pfd_input_files *files, int64_t *n) PFD_PRIVATE;

/* Cheap, for every batch: PFD_IO once a SIGBUS struck in one of these files. */
pfd_status pfd_input_files_check(const pfd_input_files *files, pfd_error *err);

/* Looks at the disk, for every epoch and after every failure: PFD_IO when a file has vanished,
 * or its size or modification time is another one than at open. */
pfd_status pfd_input_files_check_disk(const pfd_input_files *files, pfd_error *err);

/* Of base names, sizes and sampled content (the same on another machine with equal files). */
uint64_t pfd_input_files_fingerprint(const pfd_input_files *files);
int64_t pfd_input_files_bytes(const pfd_input_files *files) PFD_PRIVATE;

/* Which files on this machine these are, and in which state: of absolute paths; of sizes, times of
 * modification and sampled content.  Both begin with `seed`. */
void pfd_input_files_identify(const pfd_input_files *files, uint64_t seed, uint64_t *identity,
                              uint64_t *state);
/* For files that are gone through in sequence: what lies before `offset` of a file is being worked
 * on, so what comes behind, also in the next file, is asked of the disk, some megabytes at a time.
 * Cheap where that was done before. */
void pfd_input_files_read_ahead(const pfd_input_files *files, int64_t file, int64_t offset);

/* For files that are read here and there: the disk shall bring no more than what is asked for. */
void pfd_input_files_read_at_random(const pfd_input_files *files);

/* How many bytes were read from files that are not mapped. */
int64_t pfd_input_files_bytes_read(const pfd_input_files *files);
#endif
