/* files/file_read.h -- the bytes of an opened file: one table of functions for each way to get
 * them.
 *
 *   mapped     views of the file's mapping            input_files.c chooses between these two
 *   read       pieces read into the caller's scratch
 *   remote     pieces of the block cache copied into the caller's scratch: remote_file.h
 *   streamed   copies out of a window that moves over decompressed bytes: file_stream.c
 *
 * OWNERSHIP  Bytes of a mapped file live as long as the file, others as long as the scratch.
 * THREADS    Mapped and read: any.  Streamed: the thread that has the window.
 * ERRORS     PFD_IO: the disk, or another process changed the file.  PFD_CORRUPT_DATA: the file
 *            ends before the wanted bytes.
 */
#ifndef PFD_FILES_FILE_READ_H
#define PFD_FILES_FILE_READ_H
#include "core/error.h"
#include "core/rows.h"
#include "core/scratch.h"

/* ---- Opened files ---------------------------------------------------------------------------- */

typedef struct pfd_input_file pfd_input_file;
struct pfd_block_plan; /* remote_file.h */

typedef struct pfd_file_methods {
    /* `size` bytes from `offset` on; neither is negative, and their sum is an int64_t. */
    pfd_status (*read)(const pfd_input_file *file, int64_t offset, int64_t size,
                       pfd_scratch *scratch, const uint8_t **data, pfd_error *err);
    /* *end: where the bytes end, or a place at or after `wanted` if they go on.  After a failure it
     * is where the good bytes end. */
    pfd_status (*find_end)(const pfd_input_file *file, int64_t wanted, const pfd_scratch *bounds,
                           int64_t *end, pfd_error *err);
    /* Asks the disk for a range that lies in the file, without waiting. */
    void (*will_need)(const pfd_input_file *file, int64_t offset, int64_t size);
    /* Checks all bytes of the file `name` below a folder.  PFD_CORRUPT_DATA, without a place.
     * NULL: nothing is known of them. */
    pfd_status (*check_member)(const pfd_input_file *folder, const char *name, pfd_bytes data,
                               pfd_error *err);
} pfd_file_methods;

extern const pfd_file_methods pfd_mapped_file;
extern const pfd_file_methods pfd_read_file;
extern const pfd_file_methods pfd_remote_bytes;

/* A file as an op sees it, and the way to its bytes. */
struct pfd_input_file {
    pfd_file file; /* first: ops have a pointer to it */
    const pfd_file_methods *methods;
    const uint8_t *data;         /* the whole file, mapped; else NULL */
    int fd;                      /* descriptor of a file that is read; -1: opened for each read */
    int32_t compression;         /* PFD_COMPRESSION_*; AUTO: not known, as NONE */
    /* Whether a beginning is compressed, for a file that is taken for one that is not, as the file
     * before it; NULL: the compression is known. */
    int32_t (*is_compressed)(const uint8_t *data, int64_t size);
    struct pfd_remote_file *remote; /* NULL: a file on disk */
    char *absolute;              /* absolute path, or the address; owned */
    uint64_t device, inode;
    const pfd_bounds *bounds;    /* of the loader; NULL: none waits */
    _Atomic int64_t *bytes_read; /* the counter of all files */
};

static inline const pfd_input_file *pfd_input_file_of(const pfd_file *file)
{
    return (const pfd_input_file *)(const void *)file;
}

/* NULL: the file is not mapped, pfd_file_read() gives its bytes. */
static inline const uint8_t *pfd_file_data(const pfd_file *file)
{
    return pfd_input_file_of(file)->data;
}

/* PFD_COMPRESSION_* of files/codecs.h, never AUTO: as found, or as the attr says. */
static inline int32_t pfd_file_compression(const pfd_file *file)
{
    return pfd_input_file_of(file)->compression;
}

/* host->read(). */
pfd_status pfd_file_read(const pfd_file *file, int64_t offset, int64_t size, pfd_scratch *scratch,
                         const uint8_t **data, pfd_error *err) PFD_PRIVATE;

/* Whether the file ends at or before `offset`. frame() uses it for compressed files, whose size is
 * unknown while they are read in sequence. */
pfd_status pfd_file_ends_at(const pfd_file *file, int64_t offset, pfd_scratch *scratch,
                            int32_t *ends, pfd_error *err);

/* How many of the `size` bytes from `offset` on can be read: fewer where the file ends (*is_end 1),
 * or where a compressed one is damaged after them, which is returned as the failure. */
pfd_status pfd_file_bytes_at(const pfd_file *file, int64_t offset, int64_t size,
                             pfd_scratch *scratch, int64_t *there, int32_t *is_end, pfd_error *err);

/* Asks the disk for [offset, offset + size) of a file, as far as it goes, without waiting. */
void pfd_file_will_need(const pfd_file *file, int64_t offset, int64_t size);

/* Adds bytes that a batch reads to a plan, if the file is a remote one.  0: the plan is full. */
int32_t pfd_file_plan(const pfd_file *file, int64_t offset, int64_t size,
                      struct pfd_block_plan *plan, int64_t batch);

/* Whether the bytes at n places of files on disk can all be read without waiting for the disk.
 * (mincore() would do for mapped files, but returns yes for all pages of a file that this process
 * may not write.) */
int32_t pfd_files_are_in_memory(const pfd_file *const *files, int64_t num_files,
                                const pfd_place *places, int64_t n);

/* ---- Files by their path --------------------------------------------------------------------- */

/* For files that no reader has opened, as in companions(): a header or an index names sidecar
 * files. Reads up to `most` bytes from the file's beginning, into memory that the caller frees;
 * *file_size: of the whole file.  PFD_IO names the path: it
 * cannot be read, or changed meanwhile. */
pfd_status pfd_file_start_read(const char *path, int64_t most, uint8_t **data, int64_t *size,
                               int64_t *file_size, pfd_error *err);

/* PFD_IO: the path is a symbolic link that leads nowhere or back to itself, or it goes through such
 * a link; the error has the link, its target and what to do.  For paths that lead to nothing. */
pfd_status pfd_check_links(const char *path, pfd_error *err);

/* The path of a file that lies beside another one, or below its folder, in memory that the caller
 * frees; NULL: out of memory. */
char *pfd_path_beside(const char *path, const char *name, int64_t name_size);

/* Whether a name from a file stays below its folder: not absolute, no "..", no 0 byte. */
int32_t pfd_path_is_below(const char *name, int64_t size);
#endif
