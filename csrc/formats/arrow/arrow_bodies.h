/* formats/arrow/arrow_bodies.h -- compressed bodies of Arrow record batches: the buffers of chosen
 * columns, decoded, and a cache of decoded batches.
 *
 * Each buffer of a compressed body is an int64 and its bytes: the int64 is the size of the decoded
 * bytes, and a frame of LZ4 or zstd follows; or it is -1, and the bytes are not compressed.  liblz4
 * and libzstd are used where they were found when this library was built.
 *
 * OWNERSHIP  The cache owns what it decodes; a batch stays while it is held.
 * THREADS    Any thread may hold and release; two threads never decode the same batch at once.
 * ERRORS     PFD_CORRUPT_DATA names the file and the byte of the buffer.  PFD_UNSUPPORTED: the
 *            codec is not in this build.
 */
#ifndef PFD_FORMATS_ARROW_ARROW_BODIES_H
#define PFD_FORMATS_ARROW_ARROW_BODIES_H
#include "formats/arrow/arrow_columns.h"

/* ---- Buffers --------------------------------------------------------------------------------- */

/* A growing set of buffers to decode, by their numbers in a batch; zeroed: empty. Buffers outside
 * the set have no bytes. */
typedef struct pfd_arrow_buffers {
    pfd_arrow_extent *extents;  /* owned: of every buffer of the batch, in `data` */
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

/* ---- The cache ------------------------------------------------------------------------------- */

/* A decoded batch. */
typedef struct pfd_arrow_decoded {
    int64_t batch; /* its number */
    pfd_arrow_space space; /* with words and extras of its own */
    int64_t *words;        /* owned */
    pfd_arrow_extras extras;
    pfd_arrow_buffers buffers;
    int64_t bytes, used; /* all memory, and when it was last used */
    int32_t holders, state;
} pfd_arrow_decoded;

typedef struct pfd_arrow_cache pfd_arrow_cache;

/* Fills an empty decoded batch, whose number is set. */
typedef pfd_status (*pfd_arrow_decode_fn)(const void *ctx, pfd_scratch *scratch,
                                          pfd_arrow_decoded *out, pfd_error *err);

pfd_arrow_cache *pfd_arrow_cache_create(void); /* NULL: out of memory */
void pfd_arrow_cache_free(pfd_arrow_cache *cache); /* accepts NULL; nothing is held */

/* Holds a decoded batch. Drops other batches, the least recently used first, as long as all have
 * more than `most` bytes. */
pfd_status pfd_arrow_cache_hold(pfd_arrow_cache *cache, const pfd_host *host, int64_t batch,
                                int64_t most, pfd_arrow_decode_fn decode, const void *ctx,
                                pfd_scratch *scratch, pfd_arrow_decoded **out, pfd_error *err);
void pfd_arrow_cache_release(pfd_arrow_cache *cache, pfd_arrow_decoded *held); /* accepts NULL */
#endif
