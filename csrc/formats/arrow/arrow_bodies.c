/* Decodes compressed bodies of Arrow record batches, and keeps decoded batches. */
#include "formats/arrow/arrow_bodies.h"

#include "core/bytes.h"
#include "core/error.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* ---- Codecs ---------------------------------------------------------------------------------- */

/* Both functions decode a whole frame, which must give exactly `out_size` bytes, and return NULL,
 * or what is wrong. */

#ifdef PFD_HAVE_LZ4
#include <lz4frame.h>

static const char *decode_lz4(const uint8_t *in, size_t size, uint8_t *out, size_t out_size)
{
    LZ4F_dctx *context = NULL;
    size_t used = 0, done = 0, left = 1;
    if (LZ4F_isError(LZ4F_createDecompressionContext(&context, LZ4F_VERSION)))
        return "there is no memory to decompress it";
    while (used < size && left != 0) {
        size_t taken = size - used, made = out_size - done;
        left = LZ4F_decompress(context, out + done, &made, in + used, &taken, NULL);
        if (LZ4F_isError(left)) break;
        used += taken;
        done += made;
        if (!taken && !made) break;
    }
    (void)LZ4F_freeDecompressionContext(context);
    if (LZ4F_isError(left)) return LZ4F_getErrorName(left);
    return left == 0 && used == size && done == out_size ? NULL
                                                         : "its size is not the one that it states";
}
#else
#define decode_lz4 NULL
#endif

#ifdef PFD_HAVE_ZSTD
#include <zstd.h>

static const char *decode_zstd(const uint8_t *in, size_t size, uint8_t *out, size_t out_size)
{
    size_t done = ZSTD_decompress(out, out_size, in, size);
    if (ZSTD_isError(done)) return ZSTD_getErrorName(done);
    return done == out_size ? NULL : "its size is not the one that it states";
}
#else
#define decode_zstd NULL
#endif

typedef struct codec {
    const char *name, *package;
    const char *(*decode)(const uint8_t *in, size_t size, uint8_t *out, size_t out_size);
    int64_t most; /* the most bytes that one byte decodes to */
} codec;

static const codec codecs[] = {
    [PFD_ARROW_LZ4] = {"LZ4", "liblz4-dev", decode_lz4, 256},
    [PFD_ARROW_ZSTD] = {"zstd", "libzstd-dev", decode_zstd, 65536},
};

/* ---- Buffers --------------------------------------------------------------------------------- */

enum { ALIGNMENT = 64, SIZE_BYTES = 8 };

pfd_status pfd_arrow_buffers_begin(const pfd_host *host, const pfd_arrow_batch *batch,
                                   pfd_arrow_buffers *out, pfd_error *err)
{
    size_t n = (size_t)batch->num_buffers + 1;
    *out = (pfd_arrow_buffers){.extents = calloc(n, sizeof *out->extents),
                               .wanted = calloc(n, 1),
                               .num_buffers = batch->num_buffers};
    if (out->extents && out->wanted) return PFD_OK;
    return host->fail(err, PFD_OUT_OF_MEMORY, "no memory for the buffers of a record batch");
}

void pfd_arrow_buffers_want(void *buffers, int64_t buffer)
{
    pfd_arrow_buffers *all = buffers;
    if (buffer < all->num_buffers) all->wanted[buffer] = 1;
}

void pfd_arrow_buffers_free(pfd_arrow_buffers *buffers)
{
    free(buffers->extents);
    free(buffers->wanted);
    free(buffers->data);
    *buffers = (pfd_arrow_buffers){0};
}

typedef struct decoding {
    const pfd_host *host;
    const pfd_file *file;
    const pfd_arrow_body *body;
    const codec *codec;
    pfd_scratch *scratch;
    pfd_error *err;
} decoding;

static pfd_status fail_buffer(const decoding *d, int64_t at, const char *problem)
{
    return d->host->fail_file(d->err, d->file, at, PFD_CORRUPT_DATA,
                              "a buffer of the record batch, compressed by %s: %s", d->codec->name,
                              problem);
}

/* Finds the bytes of a buffer, compressed, and the size of its decoded bytes. */
static pfd_status find_packed(const decoding *d, int64_t number, int64_t *at, int64_t *size,
                              const uint8_t **data, int64_t *decoded)
{
    const uint8_t *pair = d->body->batch->buffers + 16 * number;
    int64_t offset = (int64_t)pfd_load_le64(pair);
    *size = (int64_t)pfd_load_le64(pair + 8);
    *at = d->body->base + (offset < 0 ? 0 : offset);
    *decoded = 0;
    *data = NULL;
    if (offset < 0 || *size < 0 || offset > d->body->size || *size > d->body->size - offset)
        return fail_buffer(d, d->body->base, "it lies outside the body");
    if (*size == 0) return PFD_OK;
    if (*size < SIZE_BYTES) return fail_buffer(d, *at, "it ends in its size");
    PFD_TRY(d->host->read(d->file, *at, *size, d->scratch, data, d->err));
    *decoded = (int64_t)pfd_load_le64(*data);
    *data += SIZE_BYTES;
    *size -= SIZE_BYTES;
    if (*decoded == -1) return PFD_OK;
    if (*decoded < 0 || *decoded / d->codec->most > *size)
        return fail_buffer(d, *at, "it states a size that it cannot have");
    return PFD_OK;
}

static int64_t padded(int64_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Decodes one buffer to its extent. */
static pfd_status decode_buffer(const decoding *d, int64_t number, pfd_arrow_buffers *buffers)
{
    int64_t at, size, decoded;
    const uint8_t *data;
    uint8_t *to = buffers->data + buffers->extents[number].offset;
    PFD_TRY(find_packed(d, number, &at, &size, &data, &decoded));
    if (decoded == -1 || !data) {
        if (size > 0) memcpy(to, data, (size_t)size);
        return PFD_OK;
    }
    const char *problem = d->codec->decode(data, (size_t)size, to, (size_t)decoded);
    return problem ? fail_buffer(d, at, problem) : PFD_OK;
}

pfd_status pfd_arrow_buffers_decode(const pfd_host *host, const pfd_file *file,
                                    pfd_arrow_body *body, pfd_scratch *scratch,
                                    pfd_arrow_buffers *buffers, pfd_error *err)
{
    const codec *with = &codecs[body->batch->codec];
    decoding d = {host, file, body, with, scratch, err};
    int64_t total = ALIGNMENT; /* no buffer begins at 0, which means that nothing is null */
    if (!with->decode)
        return host->fail_file(err, file, -1, PFD_UNSUPPORTED,
                               "the record batches are compressed by %s, and pyflowdata was built "
                               "without that library: install it (Debian, Ubuntu: apt-get install "
                               "%s) and build pyflowdata again, or write the file without "
                               "compression",
                               with->name, with->package);
    for (int64_t i = 0; i < buffers->num_buffers; i++) {
        int64_t at, size, decoded;
        const uint8_t *data;
        if (!buffers->wanted[i]) continue;
        PFD_TRY(find_packed(&d, i, &at, &size, &data, &decoded));
        if (decoded == -1) decoded = size;
        buffers->extents[i] = (pfd_arrow_extent){total, decoded};
        if (decoded > (INT64_MAX >> 1) - total) return fail_buffer(&d, at, "it is too large");
        total += padded(decoded);
    }
    buffers->data = malloc((size_t)total);
    if (!buffers->data)
        return host->fail(err, PFD_OUT_OF_MEMORY,
                          "no memory for a record batch of %" PRId64 " bytes", total);
    buffers->bytes = total;
    for (int64_t i = 0; i < buffers->num_buffers; i++)
        if (buffers->wanted[i]) PFD_TRY(decode_buffer(&d, i, buffers));
    body->decoded = buffers->extents;
    return PFD_OK;
}

/* ---- The cache ------------------------------------------------------------------------------- */

enum { DECODING, DECODED, FAILED };

struct pfd_arrow_cache {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    pfd_arrow_decoded **list; /* batches that are decoded, or being decoded */
    int64_t size, capacity;
    int64_t bytes, clock;
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
    pfd_arrow_buffers_free(&decoded->buffers);
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
    made->holders = 1;
    made->state = DECODING;
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
        while (found->state == DECODING) pthread_cond_wait(&cache->changed, &cache->mutex);
        if (found->state == DECODED) break;
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
    made->state = status == PFD_OK ? DECODED : FAILED;
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

void pfd_arrow_cache_release(pfd_arrow_cache *cache, pfd_arrow_decoded *held)
{
    if (!held) return;
    pthread_mutex_lock(&cache->mutex);
    held->holders--;
    pthread_mutex_unlock(&cache->mutex);
}
