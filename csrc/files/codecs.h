/* files/codecs.h -- compressed files: the codecs, which one a file has, and its bytes in sequence.
 *
 * A file is known by its content: gzip and zstd by their magic numbers, zlib by its header and by
 * a trial, since text may begin like one.  Members of gzip and frames of zstd that follow each
 * other are one stream.  Checksums are checked where the format has them.
 *
 * zlib and libzstd are used where they were found when this library was built; a file that needs a
 * missing library is PFD_UNSUPPORTED, and the message names the package that has it.
 *
 * THREADS  An inflater belongs to one thread; the rest may be called from any.
 * ERRORS   PFD_CORRUPT_DATA: err->byte is the offset in the file, the message has the one in the
 *          decompressed stream too.
 */
#ifndef PFD_FILES_CODECS_H
#define PFD_FILES_CODECS_H
#include "pyflowdata/op.h"

/* The compressions, in the order of the attr's choices: number, and the members of pfd_compression.
 * codecs.c has a table of their functions. */
#define PFD_COMPRESSIONS(X)                                                                        \
    X(PFD_COMPRESSION_GZIP, "gzip", ".gz", 0, 9)                                                   \
    X(PFD_COMPRESSION_ZLIB, "zlib", ".zlib", 0, 9)                                                 \
    X(PFD_COMPRESSION_ZSTD, "zstd", ".zst|.zstd", -131072, 22)

#define PFD_COMPRESSION_NUMBER(number, name, suffixes, least, most) number,
#define PFD_COMPRESSION_CHOICE(number, name, suffixes, least, most) "|" name
enum {
    PFD_COMPRESSION_AUTO, /* by content */
    PFD_COMPRESSION_NONE,
    PFD_COMPRESSIONS(PFD_COMPRESSION_NUMBER) PFD_NUM_COMPRESSIONS
};
#define PFD_COMPRESSION_CHOICES "auto|none" PFD_COMPRESSIONS(PFD_COMPRESSION_CHOICE)

const char *pfd_compression_name(int32_t compression); /* "gzip" and so on */

/* The compression with whose magic number the first bytes of a file begin, else NONE: 4 bytes are
 * enough. */
int32_t pfd_compression_of_bytes(const uint8_t *data, int64_t size);

/* The compression of bytes that nothing else is known of: ZLIB by its header, else NONE. */
int32_t pfd_compression_guess(const uint8_t *data, int64_t size);

/* The length of a file's name without the suffixes of compressions. */
size_t pfd_compression_plain_length(const char *name);

/* Whether a name has the suffix of a compression and the data begins with the magic number of the
 * compression, whatever follows. */
int32_t pfd_compression_is_named(const char *name, const uint8_t *data, int64_t size);

/* The compression whose suffix a name has; NONE: it has no such suffix. */
int32_t pfd_compression_of_name(const char *name);

/* Finds the compression of a file, never AUTO; of an empty file NONE.  ERRORS: those of reading.
 * PFD_CORRUPT_DATA: the name has the suffix of a compression, and the file is empty, or begins with
 * zeros or text, is cut in the magic number, or begins with nearly the magic number. */
pfd_status pfd_compression_detect(const pfd_file *file, pfd_scratch *scratch, int32_t *found,
                                  pfd_error *err);

/* For readers that need the bytes in any order: PFD_UNSUPPORTED where the file is compressed. */
pfd_status pfd_compression_refuse(const pfd_file *file, pfd_error *err);

/* The decompressed bytes of a file from its beginning on.  NONE gives the file's own. */
typedef struct pfd_inflater pfd_inflater;

/* The file is borrowed.  PFD_UNSUPPORTED: the library is not in this build. */
pfd_status pfd_inflater_open(const pfd_file *file, int32_t compression, pfd_inflater **out,
                             pfd_error *err);
void pfd_inflater_close(pfd_inflater *inflater); /* accepts NULL */

/* Gets 1 to `room` following bytes; *size is 0 only at the end of the file, whose checksums are
 * right then.  Errors are sticky: the same failure is returned again.  `bounds`, which may be NULL,
 * can cancel it. */
pfd_status pfd_inflater_read(pfd_inflater *inflater, const pfd_scratch *bounds, uint8_t *out,
                             int64_t room, int64_t *size, pfd_error *err);

/* The decompressed bytes of a whole file.  Start with a zeroed struct. */
typedef struct pfd_inflated {
    uint8_t *data; /* owned; free() */
    int64_t size, capacity;
} pfd_inflated;

/* Fills `out`, whose memory is reused from file to file and grows as needed.  More than `most`
 * bytes are PFD_CORRUPT_DATA; after a failure `out` has no meaning.  `bounds` as above. */
pfd_status pfd_inflate_file(const pfd_file *file, int32_t compression, int64_t most,
                            const pfd_scratch *bounds, pfd_inflated *out, pfd_error *err);
#endif
