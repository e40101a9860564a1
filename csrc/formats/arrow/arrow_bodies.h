/* formats/arrow/arrow_bodies.h -- compressed bodies of Arrow record batches: the buffers of chosen
 * columns, decoded.
 *
 * Each buffer of a compressed body is an int64 and its bytes: the int64 is the size of the decoded
 * bytes, and a frame of LZ4 or zstd follows; or it is -1, and the bytes are not compressed.  liblz4
 * and libzstd are used where they were found when this library was built.
 *
 * THREADS    Any.
 * ERRORS     PFD_CORRUPT_DATA names the file and the byte of the buffer.  PFD_UNSUPPORTED: the
 *            codec is not in this build.
 */
#ifndef PFD_FORMATS_ARROW_ARROW_BODIES_H
#define PFD_FORMATS_ARROW_ARROW_BODIES_H
#include "sources/arrow_rows.h"

/* The bytes of a buffer as they lie in the file.  They are found once: a file that changes while it
 * is read must not change the sizes for which memory was made. */
typedef struct pfd_arrow_packed {
    const uint8_t *data;       /* valid until the scratch is reset; NULL: the buffer is empty */
    int64_t at, size, decoded; /* the place in the file, for messages; bytes, and those decoded */
    int32_t is_plain;          /* they are not compressed */
} pfd_arrow_packed;

/* A growing set of buffers to decode, by their numbers in a batch; zeroed: empty. Buffers outside
 * the set have no bytes. */
typedef struct pfd_arrow_buffers {
    pfd_arrow_extent *extents;  /* owned: of every buffer of the batch, in `data` */
    pfd_arrow_packed *packed;   /* owned: of every buffer of the set, while it is decoded */
    uint8_t *wanted;            /* owned: 1 for those in the set */
    uint8_t *data;              /* owned */
    int64_t num_buffers, bytes; /* `bytes` of data */
} pfd_arrow_buffers;

/* Makes room for the buffers of a batch. */
pfd_status pfd_arrow_buffers_begin(const pfd_host *host, const pfd_arrow_batch *batch,
                                   pfd_arrow_buffers *out, pfd_error *err);
void pfd_arrow_buffers_want(void *buffers, int64_t buffer); /* for pfd_arrow_column_buffers() */
void pfd_arrow_buffers_free(pfd_arrow_buffers *buffers);

/* Decodes the buffers of the set. body->decoded becomes their extents. */
pfd_status pfd_arrow_buffers_decode(const pfd_host *host, const pfd_file *file,
                                    pfd_arrow_body *body, pfd_scratch *scratch,
                                    pfd_arrow_buffers *buffers, pfd_error *err);
#endif
