/* files/block_cache.h -- a remote object as a sparse local file, whose blocks come one by one.
 *
 * The file has a table with an entry for each block, then the bytes of the object at their places;
 * blocks that are not there are holes.  All processes of a machine map the same file.  A block is
 * written by one process at a time: it holds a lock of the system on the block's entry (a lock of
 * an open file description), which ends with the process, however that ends.
 *
 *     8 bytes magic; uint32 version 2; uint32 block_bytes; int64 size of the object; int64 blocks;
 *     int64 data_at, where the bytes begin, a multiple of 64 KiB; int64 text_bytes
 *     for each block: pfd_cached_block of pyflowdata.h
 *     the address of the object and its tag, each with a 0 after it
 *
 * An entry's `state` counts the changes of its block: odd, the block is there.  A reader that
 * copies bytes looks at the state before and after the copy, so a block may be dropped at any time,
 * and readers take no lock.  Each process compares a block with its checksum when it first sees the
 * block's state, because bytes that a crashed machine did not write are zeros.
 *
 * THREADS  Everything may be called from any thread, but open and close.
 * ERRORS   PFD_IO, with the file of the cache and the environment as the reason.
 */
#ifndef PFD_FILES_BLOCK_CACHE_H
#define PFD_FILES_BLOCK_CACHE_H
#include "pyflowdata/pyflowdata.h"

#include <stdatomic.h>

/* The object whose bytes the file has. */
typedef struct pfd_cache_key {
    const char *url, *tag; /* of the object, and of its version */
    int64_t size;
} pfd_cache_key;

typedef struct pfd_block_cache {
    char *path;
    uint8_t *mapping;
    const uint8_t *data; /* the object; in the mapping */
    struct cached_block *blocks;
    _Atomic uint32_t *seen; /* state in which this process has compared a block; 0: in none */
    int64_t size, num_blocks, data_at, mapped_bytes;
    uint64_t device, inode;
} pfd_block_cache;

/* Opens the file of an object in a folder, and makes it where there is none. */
pfd_status pfd_block_cache_open(pfd_block_cache *self, const char *folder,
                                const pfd_cache_key *key, pfd_error *err);
void pfd_block_cache_close(pfd_block_cache *self); /* of a zeroed one, too */

/* Copies [offset, offset + size), which lies in one block.  0: the block is not there. */
int32_t pfd_block_cache_copy(pfd_block_cache *self, int64_t offset, int64_t size, uint8_t *out);

/* Whether a block is there, according to its entry.  Its bytes are needed soon, so it becomes one
 * of the last to be dropped. */
int32_t pfd_block_cache_want(pfd_block_cache *self, int64_t block);

/* Bytes of a block, if it is not there; else 0. */
int64_t pfd_block_cache_missing(const pfd_block_cache *self, int64_t block);

/* Notes when a block will be read next.  `is_shared`: unless another process reads it before. */
void pfd_block_cache_note_next(pfd_block_cache *self, int64_t block, int64_t now, int64_t next_ms,
                               int32_t is_shared);

/* Locks up to n blocks from `first` on to write them: as many as are not there and not locked by
 * another.  *fd is for the calls below; close(fd) unlocks. */
pfd_status pfd_block_cache_claim(const pfd_block_cache *self, int64_t first, int64_t n, int *fd,
                                 int64_t *claimed, pfd_error *err);

/* Writes a locked block. */
pfd_status pfd_block_cache_put(pfd_block_cache *self, int fd, int64_t block, const uint8_t *data,
                               int64_t size, pfd_error *err);
#endif
