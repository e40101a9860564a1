/* Encoders of images by their names; PPM and BMP. */
#include "images/codecs/encode_image.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { GRAY = 1u << 1, RGB = 1u << 3 };

/* ---- PPM and PGM ----------------------------------------------------------------------------- */

static pfd_status encode_ppm(const pfd_encode_call *call, const pfd_encode_options *options,
                             const pfd_image *image, pfd_growing *out, pfd_error *err)
{
    enum { HEADER = 64 };
    int64_t bytes = image->height * image->width * image->channels;
    uint8_t *to = pfd_grow(out, HEADER + bytes);
    (void)options;
    if (!to) return pfd_fail_encode_memory(call, out->workspace->arena, err);
    int header = snprintf((char *)to, HEADER, "P%d\n%" PRId64 " %" PRId64 "\n255\n",
                          image->channels == 1 ? 5 : 6, image->width, image->height);
    memcpy(to + header, image->data, (size_t)bytes);
    out->size += header + bytes;
    return PFD_OK;
}

/* ---- BMP ------------------------------------------------------------------------------------- */

static void put(uint8_t *at, int64_t value, int32_t bytes)
{
    for (int32_t i = 0; i < bytes; i++) at[i] = (uint8_t)(value >> 8 * i);
}

/* The file header, the info header, and a palette of gray where that is needed. */
static void put_bmp_header(const pfd_image *image, int64_t offset, int64_t pixels, uint8_t *to)
{
    memset(to, 0, (size_t)offset);
    memcpy(to, "BM", 2);
    put(to + 2, offset + pixels, 4);
    put(to + 10, offset, 4);
    put(to + 14, 40, 4);
    put(to + 18, image->width, 4);
    put(to + 22, image->height, 4);
    put(to + 26, 1, 2);
    put(to + 28, 8 * image->channels, 2);
    put(to + 34, pixels, 4);
    for (int64_t at = 54, gray = 0; at < offset; at += 4, gray++) memset(to + at, (int)gray, 3);
}

static pfd_status encode_bmp(const pfd_encode_call *call, const pfd_encode_options *options,
                             const pfd_image *image, pfd_growing *out, pfd_error *err)
{
    int64_t row_bytes = image->width * image->channels, stride = (row_bytes + 3) / 4 * 4;
    int64_t offset = image->channels == 1 ? 54 + 4 * 256 : 54, pixels = stride * image->height;
    (void)options;
    if (offset + pixels > INT32_MAX)
        return call->host->fail_row(err, call->row, -1, PFD_CORRUPT_DATA,
                                    "an image of (%" PRId64 ", %" PRId64
                                    ") is too large for BMP", image->height, image->width);
    uint8_t *to = pfd_grow(out, offset + pixels);
    if (!to) return pfd_fail_encode_memory(call, out->workspace->arena, err);
    put_bmp_header(image, offset, pixels, to);
    for (int64_t y = 0; y < image->height; y++) {
        const uint8_t *in = image->data + (image->height - 1 - y) * row_bytes;
        uint8_t *row = to + offset + y * stride;
        memset(row + row_bytes, 0, (size_t)(stride - row_bytes));
        if (image->channels == 1) memcpy(row, in, (size_t)row_bytes);
        for (int64_t i = 0; image->channels == 3 && i < row_bytes; i += 3)
            for (int32_t c = 0; c < 3; c++) row[i + c] = in[i + 2 - c];
    }
    out->size += offset + pixels;
    return PFD_OK;
}

/* ---- All of them ----------------------------------------------------------------------------- */

static const pfd_image_encoder ppm_encoder = {"PPM", NULL, GRAY | RGB, encode_ppm};
static const pfd_image_encoder bmp_encoder = {"BMP", NULL, GRAY | RGB, encode_bmp};

static const pfd_image_encoder *encoder_of(const pfd_encode_options *options)
{
    static const pfd_image_encoder *const of[] = {&pfd_jpeg_encoder, &pfd_png_encoder,
                                                  &ppm_encoder, &bmp_encoder};
    return of[options->format];
}

pfd_status pfd_expect_encoder(const pfd_host *host, const pfd_encode_options *options,
                              int64_t channels, pfd_error *err)
{
    const pfd_image_encoder *encoder = encoder_of(options);
    if (!(encoder->channels >> channels & 1u))
        return host->fail(err, PFD_INVALID_ARGUMENT,
                          "the images have %" PRId64 " channels; those of %s have %s", channels,
                          encoder->name,
                          encoder->channels == (GRAY | RGB) ? "1 (gray) or 3 (RGB)" : "1 to 4");
    if (encoder->encode) return PFD_OK;
    return host->fail(err, PFD_UNSUPPORTED,
                      "pyflowdata was built without the library that writes %s: install it "
                      "(Debian, Ubuntu: apt-get install %s) and build pyflowdata again, or write "
                      "'ppm' or 'bmp'", encoder->name, encoder->package);
}

pfd_status pfd_encode_image(const pfd_encode_call *call, const pfd_encode_options *options,
                            const pfd_image *image, pfd_encoded *out, pfd_error *err)
{
    if (image->height < 1 || image->width < 1)
        return call->host->fail_row(err, call->row, -1, PFD_CORRUPT_DATA,
                                    "an image of (%" PRId64 ", %" PRId64
                                    ") has no pixels to encode", image->height, image->width);
    pfd_workspace *workspace = pfd_workspace_begin(call->scratch);
    if (!workspace) return pfd_fail_encode_memory(call, NULL, err);
    pfd_growing bytes = {.workspace = workspace};
    pfd_status status = encoder_of(options)->encode(call, options, image, &bytes, err);
    if (status == PFD_OK) {
        uint8_t *kept = call->host->alloc(call->scratch, bytes.size);
        *out = (pfd_encoded){kept, bytes.size};
        if (kept) memcpy(kept, bytes.data, (size_t)bytes.size);
        else status = pfd_fail_encode_memory(call, NULL, err);
    }
    pfd_workspace_end(workspace);
    return status;
}
