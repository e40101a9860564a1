/* Caches of decoded Arrow record batches, and their account. */
#include "sources/arrow_cache.h"

#include "core/error.h"
#include "core/scratch.h"

#include <pthread.h>
#include <stdlib.h>

enum { FAILED = PFD_ARROW_DECODED + 1 };

struct pfd_arrow_account {
    pthread_mutex_t mutex; /* guards the list of caches; taken before the mutex of a cache */
    pfd_arrow_cache *first;
    _Atomic int64_t bytes, lent, clock; /* of all caches */
};

struct pfd_arrow_cache {
    pfd_arrow_account *account, *own; /* own: NULL if the account is the loader's */
    pfd_arrow_cache *next;            /* of the account */
    int64_t most, share;              /* bytes of this cache, and of all of the account */
    pthread_mutex_t mutex;            /* guards: */
    pthread_cond_t changed;
    pfd_arrow_decoded **list; /* batches that are decoded, or being decoded */
    int64_t size, capacity;
    int64_t bytes;
    int64_t lent; /* bytes of batches that scratches hold */
    int64_t damaged;  /* the last batch that failed to decode; -1: none */
    pfd_error damage; /* its error: the batch's rows fail without decoding it again */
};

/* ---- Accounts -------------------------------------------------------------------------------- */

pfd_arrow_account *pfd_arrow_account_create(void)
{
    pfd_arrow_account *account = calloc(1, sizeof *account);
    if (account) (void)pthread_mutex_init(&account->mutex, NULL);
    return account;
}

void pfd_arrow_account_free(pfd_arrow_account *account)
{
    if (!account) return;
    (void)pthread_mutex_destroy(&account->mutex);
    free(account);
}

int64_t pfd_arrow_account_share(const pfd_scratch *scratch)
{
    return pfd_scratch_most_bytes(scratch) / 2;
}

static void join(pfd_arrow_account *account, pfd_arrow_cache *cache)
{
    pthread_mutex_lock(&account->mutex);
    cache->account = account;
    cache->next = account->first;
    account->first = cache;
    pthread_mutex_unlock(&account->mutex);
}

static void leave(pfd_arrow_account *account, const pfd_arrow_cache *cache)
{
    pthread_mutex_lock(&account->mutex);
    pfd_arrow_cache **at = &account->first;
    while (*at != cache) at = &(*at)->next;
    *at = cache->next;
    pthread_mutex_unlock(&account->mutex);
    atomic_fetch_sub(&account->bytes, cache->bytes);
}

/* ---- Caches ---------------------------------------------------------------------------------- */

pfd_arrow_cache *pfd_arrow_cache_create(const pfd_scratch *scratch, int64_t most)
{
    const pfd_bounds *bounds = pfd_scratch_bounds(scratch);
    pfd_arrow_account *own = NULL, *account = bounds ? bounds->decoded : NULL;
    pfd_arrow_cache *cache = calloc(1, sizeof *cache);
    if (!cache) return NULL;
    if (!account && !(account = own = pfd_arrow_account_create())) {
        free(cache);
        return NULL;
    }
    cache->own = own;
    cache->share = pfd_arrow_account_share(scratch);
    cache->most = most < cache->share ? most : cache->share;
    (void)pthread_mutex_init(&cache->mutex, NULL);
    (void)pthread_cond_init(&cache->changed, NULL);
    cache->damaged = -1;
    pfd_error_init(&cache->damage);
    join(account, cache);
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
    leave(cache->account, cache);
    pfd_arrow_account_free(cache->own);
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

static int32_t is_read(const pfd_arrow_decoded *one)
{
    return one->rows > 0 && one->left <= 0;
}

/* Whether a batch is dropped before another one.  Of those that an epoch has read, the last one
 * goes: the next epoch finds the others.  Without any, the least recently used goes. */
static int32_t goes_before(const pfd_arrow_decoded *one, const pfd_arrow_decoded *other)
{
    if (is_read(one) != is_read(other)) return is_read(one);
    return is_read(one) ? one->used > other->used : one->used < other->used;
}

/* The batch to drop, which nobody holds; NULL: there is none. With the mutex held. */
static pfd_arrow_decoded *find_dropped(const pfd_arrow_cache *cache)
{
    pfd_arrow_decoded *found = NULL;
    for (int64_t i = 0; i < cache->size; i++) {
        pfd_arrow_decoded *one = cache->list[i];
        if (one->holders == 0 && (!found || goes_before(one, found))) found = one;
    }
    return found;
}

static void count(pfd_arrow_cache *cache, int64_t bytes)
{
    cache->bytes += bytes;
    atomic_fetch_add(&cache->account->bytes, bytes);
}

/* Takes a batch out of a cache that has more than `most` bytes; NULL: none. */
static pfd_arrow_decoded *take_one(pfd_arrow_cache *cache, int64_t most)
{
    pthread_mutex_lock(&cache->mutex);
    pfd_arrow_decoded *found = cache->bytes > most ? find_dropped(cache) : NULL;
    if (found) {
        take_out(cache, found);
        count(cache, -found->bytes);
    }
    pthread_mutex_unlock(&cache->mutex);
    return found;
}

/* The cache that drops the next batch of all; NULL: none has one. With the account's mutex held. */
static pfd_arrow_cache *find_cache(const pfd_arrow_account *account)
{
    pfd_arrow_cache *found = NULL;
    pfd_arrow_decoded first = {0}; /* a copy: the batch may go when its mutex is released */
    for (pfd_arrow_cache *cache = account->first; cache; cache = cache->next) {
        pthread_mutex_lock(&cache->mutex);
        const pfd_arrow_decoded *one = find_dropped(cache);
        if (one && (!found || goes_before(one, &first))) {
            first = *one;
            found = cache;
        }
        pthread_mutex_unlock(&cache->mutex);
    }
    return found;
}

/* The same of all caches, as long as these have more than `share` bytes together. */
static pfd_arrow_decoded *take_one_of_all(pfd_arrow_account *account, int64_t share)
{
    pthread_mutex_lock(&account->mutex);
    pfd_arrow_cache *from = atomic_load(&account->bytes) > share ? find_cache(account) : NULL;
    pfd_arrow_decoded *found = from ? take_one(from, 0) : NULL;
    pthread_mutex_unlock(&account->mutex);
    return found;
}

/* Drops batches that nobody holds: of the cache and then of all, as long as there are too many
 * bytes. No mutex is held while memory is freed, which may need the lock of Python. */
static void drop(pfd_arrow_cache *cache)
{
    pfd_arrow_decoded *one;
    while ((one = take_one(cache, cache->most))) free_decoded(one);
    while ((one = take_one_of_all(cache->account, cache->share))) free_decoded(one);
}

static int64_t now(pfd_arrow_cache *cache)
{
    return atomic_fetch_add_explicit(&cache->account->clock, 1, memory_order_relaxed);
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

/* Takes a holder from a batch that failed to decode. The caller has the mutex, but not while the
 * batch is freed, which may need the lock of Python. */
static void let_go(pfd_arrow_cache *cache, pfd_arrow_decoded *failed)
{
    if (--failed->holders > 0) return;
    pthread_mutex_unlock(&cache->mutex);
    free_decoded(failed);
    pthread_mutex_lock(&cache->mutex);
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
        let_go(cache, found);
    }
    return found;
}

pfd_status pfd_arrow_cache_hold(pfd_arrow_cache *cache, const pfd_host *host, int64_t batch,
                                pfd_arrow_decode_fn decode, const void *ctx, pfd_scratch *scratch,
                                pfd_arrow_decoded **out, pfd_error *err)
{
    pthread_mutex_lock(&cache->mutex);
    pfd_arrow_decoded *found = hold(cache, batch);
    int32_t is_damaged = cache->damaged == batch;
    pfd_arrow_decoded *made = found || is_damaged ? NULL : add(cache, batch);
    if (found) found->used = now(cache);
    if (found && found->left <= 0) found->left += found->rows; /* the next epoch */
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
        count(cache, made->bytes);
        made->used = now(cache);
        made->left = made->rows;
    } else {
        take_out(cache, made);
        *out = NULL;
    }
    if (status == PFD_CORRUPT_DATA) {
        cache->damaged = batch;
        pfd_error_copy(&cache->damage, err);
    }
    pthread_cond_broadcast(&cache->changed);
    if (status != PFD_OK) let_go(cache, made);
    pthread_mutex_unlock(&cache->mutex);
    if (status == PFD_OK) drop(cache);
    return status;
}

/* Counts bytes that are lent, or given back; 0: there is no room for them.  With the mutex held. */
static int32_t count_lent(pfd_arrow_cache *cache, int64_t bytes)
{
    int64_t all = atomic_fetch_add(&cache->account->lent, bytes) + bytes;
    if (bytes <= 0 || (all <= cache->share / 2 && cache->lent + bytes <= cache->most / 2)) {
        cache->lent += bytes;
        return 1;
    }
    atomic_fetch_sub(&cache->account->lent, bytes);
    return 0;
}

static void give_back(void *lent)
{
    pfd_arrow_decoded *one = lent;
    pfd_arrow_cache *cache = one->cache;
    pthread_mutex_lock(&cache->mutex);
    one->holders--;
    if (--one->loans == 0) (void)count_lent(cache, -one->bytes);
    pthread_mutex_unlock(&cache->mutex);
}

pfd_arrow_space pfd_arrow_cache_lend(pfd_arrow_cache *cache, pfd_arrow_decoded *held,
                                     pfd_scratch *scratch)
{
    pfd_arrow_space space = held->space;
    pthread_mutex_lock(&cache->mutex);
    int32_t has_room = held->loans > 0 || count_lent(cache, held->bytes);
    if (has_room) {
        held->holders++;
        held->loans++;
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

void pfd_arrow_cache_release(pfd_arrow_cache *cache, pfd_arrow_decoded *held, int64_t read)
{
    if (!held) return;
    pthread_mutex_lock(&cache->mutex);
    held->holders--;
    held->left -= read;
    pthread_mutex_unlock(&cache->mutex);
}
