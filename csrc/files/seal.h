/* files/seal.h -- seals: a file beside data with a checksum of every block of their bytes.
 *
 * The seal of the file or folder NAME is NAME.pfdseal.  It has the XXH3-128 of each 256 KiB of the
 * stored bytes, sizes, the number of records, and a digest of all that, the root.  Blocks of bytes
 * serve any format, compressed files and mapped files: a record is compared by hashing the few
 * blocks that it lies in, and no index of records is needed for it.
 *
 *     8 bytes magic; uint32 version 1; uint32 block_bytes; int64 files; int64 records, -1: unknown;
 *     int64 bytes of all files; int64 bytes of the names, a multiple of 16; 16 bytes root, which
 *     is the XXH3-128 of the whole seal with zeros in its place
 *     for each file, by the bytes of their names: int64 size, int64 first block, int64 name
 *     the names, each with a 0 after it, "" for the file NAME itself; padded with zeros
 *     for each block: 16 bytes
 *
 * All numbers are little-endian.  pyflowdata.h has the functions that make and compare a seal as a
 * whole; those below are for files that a reader has open.
 *
 * THREADS  A pfd_seal does not change; the blocks of open files may be compared in any thread.
 */
#ifndef PFD_FILES_SEAL_H
#define PFD_FILES_SEAL_H
#include "files/file_read.h"
#include "pyflowdata/pyflowdata.h"

#define PFD_SEAL_SUFFIX ".pfdseal"

/* The choices of the attr `check`. */
#define PFD_CHECK_FORMAT 0 /* only what the format itself has */
#define PFD_CHECK_SEAL 1   /* also the seals of all files */
#define PFD_CHECK_CHOICES "format|seal"

/* An open file, or folder, whose bytes are compared with its seal when they are first read: each
 * block is hashed once.  It is not mapped, so that all its bytes come from pfd_file_read(). */
typedef struct pfd_sealed_file pfd_sealed_file;

/* `plain` is borrowed until close.
 * ERRORS  PFD_IO: there is no seal.  PFD_CORRUPT_DATA: the seal is damaged, or is of a file of
 *         another size. */
pfd_status pfd_sealed_file_open(const pfd_input_file *plain, pfd_sealed_file **out, pfd_error *err);
void pfd_sealed_file_close(pfd_sealed_file *sealed); /* accepts NULL */

/* The file as readers get it, in place of the plain one. */
const pfd_file *pfd_sealed_file_of(const pfd_sealed_file *sealed);

/* The plain file: for scans that look where records begin, so that damage is an error of the
 * records that have it.  A file that is not compared is returned itself. */
const pfd_file *pfd_file_uncompared(const pfd_file *file);

/* Compares the blocks of [offset, offset + size), as far as the file goes, whose bytes the caller
 * has from the plain file.  PFD_CORRUPT_DATA: they differ; `err` has the place. */
pfd_status pfd_file_compare(const pfd_file *file, int64_t offset, int64_t size,
                            pfd_scratch *scratch, pfd_error *err);
#endif
