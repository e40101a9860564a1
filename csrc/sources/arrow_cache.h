/* sources/arrow_cache.h -- a cache of decoded Arrow record batches, one for each reader that
 * decodes any, and the account that the caches of a loader share.
 *
 * Together they keep half of memory_budget.  Beyond that they drop first what was read to its end
 * just now, as an epoch reads each row once, so that the rest stays for the next epoch; else the
 * least recently used.  Batches that threads are reading from, or decode, stay in any case.
 *
 * OWNERSHIP  The cache owns what is decoded; a batch stays while it is held.  The loader owns the
 *            account, which is freed after its caches.
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
    int64_t rows;        /* set by who decodes; 0: not known */
    int64_t left;        /* rows that the epoch has not read */
    int32_t holders, state;
    int32_t loans; /* of the holders: scratches */
    struct pfd_arrow_cache *cache;
} pfd_arrow_decoded;

typedef struct pfd_arrow_account pfd_arrow_account;
typedef struct pfd_arrow_cache pfd_arrow_cache;

/* Fills an empty decoded batch, whose number is set. */
typedef pfd_status (*pfd_arrow_decode_fn)(const void *ctx, pfd_scratch *scratch,
                                          pfd_arrow_decoded *out, pfd_error *err);

pfd_arrow_account *pfd_arrow_account_create(void); /* NULL: out of memory */
void pfd_arrow_account_free(pfd_arrow_account *account); /* accepts NULL */
/* The bytes that the caches of a loader may keep together; `scratch` has its bounds. */
int64_t pfd_arrow_account_share(const pfd_scratch *scratch);

/* Makes a cache on the account of the scratch's bounds, which keeps `most` bytes of its own at
 * most.  NULL: out of memory. */
pfd_arrow_cache *pfd_arrow_cache_create(const pfd_scratch *scratch, int64_t most);
void pfd_arrow_cache_free(pfd_arrow_cache *cache); /* accepts NULL; nothing is held */

/* Holds a decoded batch.  Drops others, if need be. */
pfd_status pfd_arrow_cache_hold(pfd_arrow_cache *cache, const pfd_host *host, int64_t batch,
                                pfd_arrow_decode_fn decode, const void *ctx, pfd_scratch *scratch,
                                pfd_arrow_decoded **out, pfd_error *err);
/* Lends a batch that is held to the scratch, and returns its space, whose rows are then not copied.
 * At most half of the bytes that may be kept are lent at a time, so that the other batches can
 * change; beyond that nothing is lent, and rows of the space are copied. */
pfd_arrow_space pfd_arrow_cache_lend(pfd_arrow_cache *cache, pfd_arrow_decoded *held,
                                     pfd_scratch *scratch);
/* Whether a batch is there: PFD_ARROW_ABSENT ...; another thread may change it at once. */
enum { PFD_ARROW_ABSENT, PFD_ARROW_DECODING, PFD_ARROW_DECODED };
int32_t pfd_arrow_cache_state(pfd_arrow_cache *cache, int64_t batch);
/* Accepts NULL.  `read`: how many rows were read from it. */
void pfd_arrow_cache_release(pfd_arrow_cache *cache, pfd_arrow_decoded *held, int64_t read);
#endif
