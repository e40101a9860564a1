/* A cache of decoded Arrow record batches. */
#include "sources/arrow_cache.h"

#include "core/error.h"
#include "core/scratch.h"

#include <pthread.h>
#include <stdlib.h>

enum { FAILED = PFD_ARROW_DECODED + 1 };

struct pfd_arrow_cache {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    pfd_arrow_decoded **list; /* batches that are decoded, or being decoded */
    int64_t size, capacity;
    int64_t bytes, clock;
    int64_t lent; /* bytes of batches that scratches hold */
    int64_t damaged;  /* the last batch that failed to decode; -1: none */
    pfd_error damage; /* its error: the batch's rows fail without decoding it again */
};

pfd_arrow_cache *pfd_arrow_cache_create(void)
{
    pfd_arrow_cache *cache = calloc(1, sizeof *cache);
    if (!cache) return NULL;
    (void)pthread_mutex_init(&cache->mutex, NULL);
    (void)pthread_cond_init(&cache->changed, NULL);
    cache->damaged = -1;
    pfd_error_init(&cache->damage);
    return cache;
}

static void free_decoded(pfd_arrow_decoded *decoded)
{
    if (decoded->release) decoded->release(decoded->data);
    free(decoded->extras.list);
    free(decoded->words);
    free(decoded);
}

void pfd_arrow_cache_free(pfd_arrow_cache *cache)
{
    if (!cache) return;
    for (int64_t i = 0; i < cache->size; i++) free_decoded(cache->list[i]);
    free(cache->list);
    (void)pthread_cond_destroy(&cache->changed);
    (void)pthread_mutex_destroy(&cache->mutex);
    free(cache);
}

static pfd_arrow_decoded *find(const pfd_arrow_cache *cache, int64_t batch)
{
    for (int64_t i = 0; i < cache->size; i++)
        if (cache->list[i]->batch == batch) return cache->list[i];
    return NULL;
}

static void take_out(pfd_arrow_cache *cache, const pfd_arrow_decoded *one)
{
    for (int64_t i = 0; i < cache->size; i++)
        if (cache->list[i] == one) cache->list[i--] = cache->list[--cache->size];
}

/* Drops batches that nobody holds, as long as all have more bytes than `most`. */
static void drop(pfd_arrow_cache *cache, int64_t most)
{
    while (cache->bytes > most) {
        pfd_arrow_decoded *oldest = NULL;
        for (int64_t i = 0; i < cache->size; i++) {
            pfd_arrow_decoded *one = cache->list[i];
            if (one->holders == 0 && (!oldest || one->used < oldest->used)) oldest = one;
        }
        if (!oldest) return;
        take_out(cache, oldest);
        cache->bytes -= oldest->bytes;
        free_decoded(oldest);
    }
}

/* Adds a batch that is about to be decoded; NULL: out of memory. */
static pfd_arrow_decoded *add(pfd_arrow_cache *cache, int64_t batch)
{
    if (cache->size == cache->capacity) {
        int64_t capacity = cache->capacity ? 2 * cache->capacity : 16;
        pfd_arrow_decoded **grown = realloc(cache->list, (size_t)capacity * sizeof *grown);
        if (!grown) return NULL;
        cache->list = grown;
        cache->capacity = capacity;
    }
    pfd_arrow_decoded *made = calloc(1, sizeof *made);
    if (!made) return NULL;
    made->batch = batch;
    made->cache = cache;
    made->holders = 1;
    made->state = PFD_ARROW_DECODING;
    cache->list[cache->size++] = made;
    return made;
}

/* Takes a holder from a batch that failed to decode. The caller has the mutex. */
static void let_go(pfd_arrow_decoded *failed)
{
    if (--failed->holders == 0) free_decoded(failed);
}

/* Holds a batch of the cache, once it is decoded; NULL: the cache does not have it. The caller has
 * the mutex. */
static pfd_arrow_decoded *hold(pfd_arrow_cache *cache, int64_t batch)
{
    pfd_arrow_decoded *found;
    while ((found = find(cache, batch))) {
        found->holders++;
        while (found->state == PFD_ARROW_DECODING)
            pthread_cond_wait(&cache->changed, &cache->mutex);
        if (found->state == PFD_ARROW_DECODED) break;
        let_go(found);
    }
    return found;
}

pfd_status pfd_arrow_cache_hold(pfd_arrow_cache *cache, const pfd_host *host, int64_t batch,
                                int64_t most, pfd_arrow_decode_fn decode, const void *ctx,
                                pfd_scratch *scratch, pfd_arrow_decoded **out, pfd_error *err)
{
    pthread_mutex_lock(&cache->mutex);
    pfd_arrow_decoded *found = hold(cache, batch);
    int32_t is_damaged = cache->damaged == batch;
    pfd_arrow_decoded *made = found || is_damaged ? NULL : add(cache, batch);
    if (found) found->used = ++cache->clock;
    if (is_damaged) pfd_error_copy(err, &cache->damage);
    pthread_mutex_unlock(&cache->mutex);
    *out = found ? found : made;
    if (found) return PFD_OK;
    if (is_damaged) return err->status;
    if (!made) return host->fail(err, PFD_OUT_OF_MEMORY, "no memory for a record batch");
    pfd_status status = decode(ctx, scratch, made, err);
    pthread_mutex_lock(&cache->mutex);
    made->state = status == PFD_OK ? PFD_ARROW_DECODED : FAILED;
    if (status == PFD_OK) {
        cache->bytes += made->bytes;
        made->used = ++cache->clock;
        drop(cache, most);
    } else {
        take_out(cache, made);
        let_go(made);
        *out = NULL;
    }
    if (status == PFD_CORRUPT_DATA) {
        cache->damaged = batch;
        pfd_error_copy(&cache->damage, err);
    }
    pthread_cond_broadcast(&cache->changed);
    pthread_mutex_unlock(&cache->mutex);
    return status;
}

static void give_back(void *lent)
{
    pfd_arrow_decoded *one = lent;
    pfd_arrow_cache *cache = one->cache;
    pthread_mutex_lock(&cache->mutex);
    one->holders--;
    if (--one->loans == 0) cache->lent -= one->bytes;
    pthread_mutex_unlock(&cache->mutex);
}

pfd_arrow_space pfd_arrow_cache_lend(pfd_arrow_cache *cache, pfd_arrow_decoded *held, int64_t most,
                                     pfd_scratch *scratch)
{
    pfd_arrow_space space = held->space;
    pthread_mutex_lock(&cache->mutex);
    int32_t has_room = held->loans > 0 || held->bytes <= most / 2 - cache->lent;
    if (has_room) {
        held->holders++;
        if (held->loans++ == 0) cache->lent += held->bytes;
    }
    pthread_mutex_unlock(&cache->mutex);
    if (has_room && !pfd_scratch_lend(scratch, give_back, held)) {
        give_back(held);
        has_room = 0;
    }
    space.is_passing = !has_room;
    return space;
}

int32_t pfd_arrow_cache_state(pfd_arrow_cache *cache, int64_t batch)
{
    pthread_mutex_lock(&cache->mutex);
    const pfd_arrow_decoded *found = find(cache, batch);
    int32_t state = found ? found->state : PFD_ARROW_ABSENT;
    pthread_mutex_unlock(&cache->mutex);
    return state;
}

void pfd_arrow_cache_release(pfd_arrow_cache *cache, pfd_arrow_decoded *held)
{
    if (!held) return;
    pthread_mutex_lock(&cache->mutex);
    held->holders--;
    pthread_mutex_unlock(&cache->mutex);
}
