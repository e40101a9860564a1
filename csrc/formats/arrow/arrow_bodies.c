/* Decodes compressed bodies of Arrow record batches. */
#include "formats/arrow/arrow_bodies.h"

#include "core/bytes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- Codecs ---------------------------------------------------------------------------------- */

/* A decoder decodes a whole frame, which must give exactly `out_size` bytes, and returns NULL, or
 * what is wrong: no_memory itself, or words about damage.  The first frame of a record batch makes
 * *context, and the others share it: for zstd it is large, and to make one takes as long as to
 * decode a small buffer.  After a failure the context is only freed. */

static const char no_memory[] = "there is no memory to decompress it";

#ifdef PFD_HAVE_LZ4
#define LZ4F_STATIC_LINKING_ONLY /* for the codes of its errors */
#include <lz4frame.h>

static void free_lz4(void *context)
{
    (void)LZ4F_freeDecompressionContext(context);
}

static const char *decode_lz4(void **context, const uint8_t *in, size_t size, uint8_t *out,
                              size_t out_size)
{
    LZ4F_dctx *own = *context;
    size_t used = 0, done = 0, left = 1;
    if (!own && LZ4F_isError(LZ4F_createDecompressionContext(&own, LZ4F_VERSION)))
        return no_memory;
    *context = own;
    while (used < size && left != 0) {
        size_t taken = size - used, made = out_size - done;
        left = LZ4F_decompress(own, out + done, &made, in + used, &taken, NULL);
        if (LZ4F_isError(left)) break;
        used += taken;
        done += made;
        if (!taken && !made) break;
    }
    if (left == (size_t)-LZ4F_ERROR_allocation_failed) return no_memory;
    if (LZ4F_isError(left)) return LZ4F_getErrorName(left);
    return left == 0 && used == size && done == out_size ? NULL
                                                         : "its size is not the one that it states";
}
#else
#define decode_lz4 NULL
#define free_lz4 NULL
#endif

#ifdef PFD_HAVE_ZSTD
#include <zstd.h>
#include <zstd_errors.h>

static void free_zstd(void *context)
{
    (void)ZSTD_freeDCtx(context);
}

static const char *decode_zstd(void **context, const uint8_t *in, size_t size, uint8_t *out,
                               size_t out_size)
{
    if (!*context && !(*context = ZSTD_createDCtx())) return no_memory;
    size_t done = ZSTD_decompressDCtx(*context, out, out_size, in, size);
    if (ZSTD_getErrorCode(done) == ZSTD_error_memory_allocation) return no_memory;
    if (ZSTD_isError(done)) return ZSTD_getErrorName(done);
    return done == out_size ? NULL : "its size is not the one that it states";
}
#else
#define decode_zstd NULL
#define free_zstd NULL
#endif

typedef struct codec {
    const char *name, *package;
    const char *(*decode)(void **context, const uint8_t *in, size_t size, uint8_t *out,
                          size_t out_size);
    void (*free)(void *context); /* accepts NULL */
    int64_t most; /* the most bytes that one byte decodes to */
} codec;

static const codec codecs[] = {
    [PFD_ARROW_LZ4] = {"LZ4", "liblz4-dev", decode_lz4, free_lz4, 256},
    [PFD_ARROW_ZSTD] = {"zstd", "libzstd-dev", decode_zstd, free_zstd, 65536},
};

/* ---- Buffers --------------------------------------------------------------------------------- */

enum { ALIGNMENT = 64, SIZE_BYTES = 8 };

pfd_status pfd_arrow_buffers_begin(const pfd_host *host, const pfd_arrow_batch *batch,
                                   pfd_arrow_buffers *out, pfd_error *err)
{
    size_t n = (size_t)batch->num_buffers + 1;
    *out = (pfd_arrow_buffers){.extents = calloc(n, sizeof *out->extents),
                               .packed = calloc(n, sizeof *out->packed),
                               .wanted = calloc(n, 1),
                               .num_buffers = batch->num_buffers};
    if (out->extents && out->packed && out->wanted) return PFD_OK;
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
    free(buffers->packed);
    free(buffers->wanted);
    free(buffers->data);
    *buffers = (pfd_arrow_buffers){0};
}

typedef struct decoding {
    const pfd_host *host;
    const pfd_file *file;
    const pfd_arrow_body *body;
    const codec *codec;
    void *context; /* of the codec; NULL: not made yet */
    pfd_scratch *scratch;
    pfd_error *err;
} decoding;

static pfd_status fail_buffer(const decoding *d, int64_t at, const char *problem)
{
    return d->host->fail_file(d->err, d->file, at,
                              problem == no_memory ? PFD_OUT_OF_MEMORY : PFD_CORRUPT_DATA,
                              "a buffer of the record batch, compressed by %s: %s", d->codec->name,
                              problem);
}

/* Finds the bytes of a buffer, and the size of its decoded bytes. */
static pfd_status find_packed(const decoding *d, int64_t number, pfd_arrow_packed *out)
{
    const uint8_t *pair = d->body->batch->buffers + 16 * number;
    int64_t offset = (int64_t)pfd_load_le64(pair), size = (int64_t)pfd_load_le64(pair + 8);
    if (offset < 0 || size < 0 || offset > d->body->size || size > d->body->size - offset)
        return fail_buffer(d, d->body->base, "it lies outside the body");
    *out = (pfd_arrow_packed){.at = d->body->base + offset};
    if (size == 0) return PFD_OK;
    if (size < SIZE_BYTES) return fail_buffer(d, out->at, "it ends in its size");
    PFD_TRY(d->host->read(d->file, out->at, size, d->scratch, &out->data, d->err));
    int64_t decoded = (int64_t)pfd_load_le64(out->data);
    out->data += SIZE_BYTES;
    out->size = size - SIZE_BYTES;
    out->is_plain = decoded == -1;
    out->decoded = out->is_plain ? out->size : decoded;
    if (out->decoded < 0 || out->decoded / d->codec->most > out->size)
        return fail_buffer(d, out->at, "it states a size that it cannot have");
    return PFD_OK;
}

static int64_t padded(int64_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static pfd_status decode_buffer(decoding *d, const pfd_arrow_packed *from, uint8_t *to)
{
    if (!from->data) return PFD_OK;
    if (from->is_plain) {
        memcpy(to, from->data, (size_t)from->size);
        return PFD_OK;
    }
    const char *problem =
        d->codec->decode(&d->context, from->data, (size_t)from->size, to, (size_t)from->decoded);
    return problem ? fail_buffer(d, from->at, problem) : PFD_OK;
}

static pfd_status decode_wanted(decoding *d, pfd_arrow_buffers *buffers)
{
    for (int64_t i = 0; i < buffers->num_buffers; i++)
        if (buffers->wanted[i])
            PFD_TRY(decode_buffer(d, &buffers->packed[i],
                                  buffers->data + buffers->extents[i].offset));
    return PFD_OK;
}

pfd_status pfd_arrow_buffers_decode(const pfd_host *host, const pfd_file *file,
                                    pfd_arrow_body *body, pfd_scratch *scratch,
                                    pfd_arrow_buffers *buffers, pfd_error *err)
{
    const codec *with = &codecs[body->batch->codec];
    decoding d = {host, file, body, with, NULL, scratch, err};
    int64_t total = ALIGNMENT; /* no buffer begins at 0, which means that nothing is null */
    if (!with->decode)
        return host->fail_file(err, file, -1, PFD_UNSUPPORTED,
                               "the record batches are compressed by %s, and pyflowdata was built "
                               "without that library: install it (Debian, Ubuntu: apt-get install "
                               "%s) and build pyflowdata again, or write the file without "
                               "compression",
                               with->name, with->package);
    for (int64_t i = 0; i < buffers->num_buffers; i++) {
        pfd_arrow_packed *packed = &buffers->packed[i];
        if (!buffers->wanted[i]) continue;
        PFD_TRY(find_packed(&d, i, packed));
        buffers->extents[i] = (pfd_arrow_extent){total, packed->decoded};
        if (packed->decoded > (INT64_MAX >> 1) - total)
            return fail_buffer(&d, packed->at, "it is too large");
        total += padded(packed->decoded);
    }
    buffers->data = malloc((size_t)total);
    if (!buffers->data)
        return host->fail(err, PFD_OUT_OF_MEMORY,
                          "no memory for a record batch of %" PRId64 " bytes", total);
    buffers->bytes = total;
    pfd_status status = decode_wanted(&d, buffers);
    with->free(d.context);
    if (status == PFD_OK) body->decoded = buffers->extents;
    return status;
}
