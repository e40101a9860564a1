/* PNM: the files of Netpbm, P1 to P6: PBM, PGM and PPM as text and as bytes. */
#include "images/codecs/codec_table.h"
#include "parse/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct pnm {
    const uint8_t *data;
    int64_t size;
    int64_t height, width, most; /* `most`: the largest value of a sample */
    int64_t at;                  /* the next byte; after the header, of the pixels */
    int32_t kind;                /* the digit after the P */
    int32_t channels;
} pnm;

static int32_t is_pnm(const uint8_t *data, int64_t size)
{
    return size >= 3 && data[0] == 'P' && data[1] >= '1' && data[1] <= '6' &&
           (pfd_is_space(data[2]) || data[2] == '#');
}

/* ---- Header ---------------------------------------------------------------------------------- */

static pfd_status fail(const pfd_image_file *file, int64_t byte, const char *what, pfd_error *err)
{
    return pfd_fail_image(file, "PNM", byte, what, err);
}

static void skip_blanks(pnm *image)
{
    while (image->at < image->size) {
        if (image->data[image->at] == '#')
            while (image->at < image->size && image->data[image->at] != '\n') image->at++;
        else if (!pfd_is_space(image->data[image->at]))
            return;
        else
            image->at++;
    }
}

/* Reads a decimal number of at most `digits` digits; -1: there is none. */
static int64_t read_number(pnm *image, int32_t digits)
{
    int64_t value = 0, first;
    skip_blanks(image);
    for (first = image->at; image->at < image->size && image->at - first < digits; image->at++) {
        uint8_t byte = image->data[image->at];
        if (byte < '0' || byte > '9') break;
        value = value * 10 + byte - '0';
    }
    return image->at > first ? value : -1;
}

static pfd_status parse(const pfd_image_file *file, pnm *out, pfd_error *err)
{
    *out = (pnm){.data = file->data, .size = file->size, .at = 2, .most = 1,
                 .kind = file->data[1] - '0'};
    out->channels = out->kind == 3 || out->kind == 6 ? 3 : 1;
    out->width = read_number(out, 9);
    if (out->width >= 0) out->height = read_number(out, 9);
    if (out->width >= 0 && out->height >= 0 && out->kind != 1 && out->kind != 4)
        out->most = read_number(out, 9);
    if (out->width < 0 || out->height < 0 || out->most < 0)
        return fail(file, out->at, "a number was expected in the header", err);
    if (out->most < 1 || out->most > 65535)
        return fail(file, out->at, "the largest value must be in [1, 65535]", err);
    if (out->at >= out->size || !pfd_is_space(out->data[out->at]))
        return fail(file, out->at, "a blank was expected after the header", err);
    out->at++;
    return PFD_OK;
}

static pfd_status read_header(const pfd_image_file *file, const pfd_decode_options *options,
                              pfd_image_header *out, pfd_error *err)
{
    pnm image;
    PFD_TRY(parse(file, &image, err));
    int64_t least = image.kind <= 3   ? image.height * image.width
                    : image.kind == 4 ? (image.width + 7) / 8 * image.height
                                      : image.height * image.width * image.channels;
    if (options->incomplete == PFD_INCOMPLETE_ERROR && least > file->size - image.at)
        return fail(file, file->size, "samples are missing in the image", err);
    out->stored_height = image.height;
    out->stored_width = image.width;
    out->bits = image.most > 255 ? 16 : 8;
    out->channels = image.channels;
    return PFD_OK;
}

/* ---- Samples --------------------------------------------------------------------------------- */

static uint8_t scaled(int64_t value, int64_t most)
{
    if (value >= most) return 255;
    return (uint8_t)((value * 510 + most) / (2 * most));
}

/* Reads n samples of text. Returns how many there are. */
static int64_t read_text(pnm *image, uint8_t *out, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t value = read_number(image, image->kind == 1 ? 1 : 9);
        if (value < 0) return i;
        out[i] = image->kind == 1 ? (value ? 0 : 255) : scaled(value, image->most);
    }
    return n;
}

static int64_t read_bits(const pnm *image, int64_t at, uint8_t *out, int64_t n)
{
    int64_t there = image->size > at ? (image->size - at) * 8 : 0;
    if (there < n) n = there;
    for (int64_t i = 0; i < n; i++) out[i] = image->data[at + i / 8] >> (7 - i % 8) & 1 ? 0 : 255;
    return n;
}

static int64_t read_bytes(const pnm *image, int64_t at, uint8_t *out, int64_t n)
{
    int64_t bytes = image->most > 255 ? 2 : 1;
    int64_t there = image->size > at ? (image->size - at) / bytes : 0;
    const uint8_t *in = image->data + at;
    if (there < n) n = there;
    if (n < 1) return 0;
    if (image->most == 255) memcpy(out, in, (size_t)n);
    else
        for (int64_t i = 0; i < n; i++)
            out[i] = scaled(bytes == 2 ? in[2 * i] * 256 + in[2 * i + 1] : in[i], image->most);
    return n;
}

/* Reads the samples of row y; the caller reads rows of text in order. Returns the number of
 * samples. */
static int64_t read_row(pnm *image, int64_t y, uint8_t *out)
{
    int64_t n = image->width * image->channels;
    if (image->kind <= 3) return read_text(image, out, n);
    if (image->kind == 4) return read_bits(image, image->at + y * ((n + 7) / 8), out, n);
    return read_bytes(image, image->at + y * n * (image->most > 255 ? 2 : 1), out, n);
}

static pfd_status decode(const pfd_image_file *file, const pfd_decode_options *options,
                         const pfd_image_header *header, const pfd_region *region, pfd_pixels *out,
                         pfd_error *err)
{
    pnm image;
    (void)header;
    PFD_TRY(parse(file, &image, err));
    int32_t layout = image.channels == 3 ? PFD_LAYOUT_RGB : PFD_LAYOUT_GRAY;
    int64_t out_channels = pfd_color_channels(options->color_space);
    int64_t samples = image.width * image.channels;
    PFD_TRY(pfd_make_pixels(file, region->height, region->width * out_channels, out, err));
    uint8_t *row = file->host->alloc(file->scratch, samples);
    if (!row) return pfd_fail_decode_memory(file, "PNM", NULL, err);
    for (int64_t y = image.kind <= 3 ? 0 : region->top; y < region->top + region->height; y++) {
        int64_t found = read_row(&image, y, row);
        if (found < samples && options->incomplete == PFD_INCOMPLETE_ERROR)
            return fail(file, image.kind <= 3 ? image.at : file->size,
                        "samples are missing in the image", err);
        memset(row + found, 0, (size_t)(samples - found));
        if (y < region->top) continue;
        pfd_convert_pixels(row + region->left * image.channels, layout,
                           out->data + (y - region->top) * out->stride, options->color_space,
                           region->width);
    }
    return PFD_OK;
}

const pfd_image_codec pfd_pnm_codec = {
    .name = "PNM",
    .max_shrink = 1,
    .matches = is_pnm,
    .read_header = read_header,
    .decode = decode,
};

/* ---- Encoding: PPM and PGM ------------------------------------------------------------------- */

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

const pfd_image_encoder pfd_ppm_encoder = {"PPM", NULL, PFD_ENCODES_GRAY | PFD_ENCODES_RGB,
                                           encode_ppm};
