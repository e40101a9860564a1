/* sources/arrow_cache.h -- a cache of decoded Arrow record batches.
 *
 * OWNERSHIP  The cache owns what is decoded; a batch stays while it is held.
 * THREADS    Any thread may hold and release; two threads never decode the same batch at once.
 */
#ifndef PFD_SOURCES_ARROW_CACHE_H
#define PFD_SOURCES_ARROW_CACHE_H
#include "sources/arrow_rows.h"

/* A decoded batch. */
typedef struct pfd_arrow_decoded {
    int64_t batch; /* its number */
    pfd_arrow_space space; /* with words and extras of its own */
    int64_t *words;        /* owned */
    pfd_arrow_extras extras;
    void *data;                  /* what the words lead to, and how it is freed */
    void (*release)(void *data); /* NULL: nothing is */
    int64_t bytes, used; /* all memory, and when it was last used */
    int32_t holders, state;
    int32_t loans; /* of the holders: scratches */
    struct pfd_arrow_cache *cache;
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
/* Lends a batch that is held to the scratch, and returns its space, whose rows are then not copied.
 * At most half of `most` bytes are lent at a time, so that the rest can change: beyond that nothing
 * is lent, and rows of the space are copied. */
pfd_arrow_space pfd_arrow_cache_lend(pfd_arrow_cache *cache, pfd_arrow_decoded *held, int64_t most,
                                     pfd_scratch *scratch);
/* Whether a batch is there: PFD_ARROW_ABSENT ...; another thread may change it at once. */
enum { PFD_ARROW_ABSENT, PFD_ARROW_DECODING, PFD_ARROW_DECODED };
int32_t pfd_arrow_cache_state(pfd_arrow_cache *cache, int64_t batch);
void pfd_arrow_cache_release(pfd_arrow_cache *cache, pfd_arrow_decoded *held); /* accepts NULL */
#endif
