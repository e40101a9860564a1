/* BMP: palettes of 1, 4 and 8 bits, RLE, and 16, 24 and 32 bits with masks; the first or the last
 * row comes first. */
#include "images/codecs/codec_table.h"

#include "core/bytes.h"

#include <inttypes.h>
#include <string.h>

enum { FILE_HEADER = 14, CORE_HEADER = 12, INFO_HEADER = 40 };
enum { BI_RGB = 0, BI_RLE8 = 1, BI_RLE4 = 2, BI_BITFIELDS = 3, BI_ALPHABITFIELDS = 6 };

typedef struct bmp {
    const uint8_t *data;
    int64_t size;
    int64_t height, width, bits, compression;
    int64_t pixels;      /* offset of the pixels */
    int32_t is_top_down;
    const uint8_t *palette; /* blue, green, red; then 0 except with the core header */
    int64_t colors, color_bytes;
    uint32_t masks[4]; /* red, green, blue, alpha */
    const uint8_t *indices; /* decoded RLE: one byte per pixel, from the last row of the image on */
} bmp;

static int32_t is_bmp(const uint8_t *data, int64_t size)
{
    static const uint8_t headers[] = {CORE_HEADER, INFO_HEADER, 52, 56, 64, 108, 124};
    if (size < FILE_HEADER + CORE_HEADER || memcmp(data, "BM", 2) != 0) return 0;
    uint32_t header = pfd_load_le32(data + FILE_HEADER);
    return header < 256 && memchr(headers, (int)header, sizeof headers) != NULL;
}

/* ---- Header ---------------------------------------------------------------------------------- */

static pfd_status fail(const pfd_image_file *file, int64_t byte, const char *what, pfd_error *err)
{
    return pfd_fail_image(file, "BMP", byte, what, err);
}

/* Reads the masks of colours, in the header, or after a header of the usual size. */
static pfd_status read_masks(const pfd_image_file *file, int64_t header, bmp *out, pfd_error *err)
{
    int64_t has_alpha = header >= 56 || out->compression == BI_ALPHABITFIELDS;
    int64_t at = FILE_HEADER + INFO_HEADER;
    if (out->compression == BI_RGB) {
        int32_t wide = out->bits == 32;
        out->masks[0] = wide ? 0xff0000 : 0x7c00;
        out->masks[1] = wide ? 0xff00 : 0x3e0;
        out->masks[2] = wide ? 0xff : 0x1f;
        return PFD_OK;
    }
    if (at + 12 + 4 * has_alpha > file->size) return fail(file, file->size, "no masks", err);
    for (int32_t i = 0; i < 3 + has_alpha; i++)
        out->masks[i] = pfd_load_le32(file->data + at + 4 * i);
    return PFD_OK;
}

static pfd_status read_palette(const pfd_image_file *file, int64_t header, int64_t colors, bmp *out,
                               pfd_error *err)
{
    int64_t at = FILE_HEADER + header, most = INT64_C(1) << out->bits;
    if (header == INFO_HEADER && out->compression == BI_BITFIELDS) at += 12;
    out->color_bytes = header == CORE_HEADER ? 3 : 4;
    out->colors = colors < 1 || colors > most ? most : colors;
    int64_t fit = (out->pixels > at && out->pixels <= file->size ? out->pixels : file->size) - at;
    if (out->colors > fit / out->color_bytes) out->colors = fit / out->color_bytes;
    if (out->colors < 1) return fail(file, at, "no palette", err);
    out->palette = file->data + at;
    return PFD_OK;
}

static int32_t is_known(const bmp *image)
{
    switch (image->compression) {
    case BI_RGB: return image->bits == 1 || image->bits == 4 || image->bits == 8 ||
                        image->bits == 16 || image->bits == 24 || image->bits == 32;
    case BI_RLE8: return image->bits == 8 && !image->is_top_down;
    case BI_RLE4: return image->bits == 4 && !image->is_top_down;
    case BI_BITFIELDS:
    case BI_ALPHABITFIELDS: return image->bits == 16 || image->bits == 32;
    default: return 0;
    }
}

static pfd_status parse(const pfd_image_file *file, bmp *out, pfd_error *err)
{
    const uint8_t *data = file->data, *info = data + FILE_HEADER;
    int64_t header = pfd_load_le32(info), colors = 0;
    *out = (bmp){.data = data, .size = file->size, .pixels = pfd_load_le32(data + 10)};
    if (FILE_HEADER + header > file->size)
        return fail(file, file->size, "the file ends in its header", err);
    if (header == CORE_HEADER) {
        out->width = pfd_load_le16(info + 4);
        out->height = pfd_load_le16(info + 6);
        out->bits = pfd_load_le16(info + 10);
    } else {
        out->width = (int32_t)pfd_load_le32(info + 4);
        out->height = (int32_t)pfd_load_le32(info + 8);
        out->bits = pfd_load_le16(info + 14);
        out->compression = pfd_load_le32(info + 16);
        colors = pfd_load_le32(info + 32);
    }
    if (out->height < 0) {
        out->is_top_down = 1;
        out->height = -out->height;
    }
    if (!is_known(out))
        return file->host->fail_row(err, file->row, pfd_image_byte(file, FILE_HEADER + 14),
                                    PFD_CORRUPT_DATA,
                                    "BMP: pixels of %" PRId64 " bits with compression %" PRId64
                                    " are not of a kind that is known", out->bits,
                                    out->compression);
    if (out->bits <= 8) return read_palette(file, header, colors, out, err);
    return out->bits == 24 ? PFD_OK : read_masks(file, header, out, err);
}

/* The bytes of row y, counted from the top; NULL: the file ends before or in the row. */
static const uint8_t *row_at(const bmp *image, int64_t y)
{
    int64_t stored = image->is_top_down ? y : image->height - 1 - y;
    if (image->indices) return image->indices + stored * image->width;
    int64_t stride = (image->width * image->bits + 31) / 32 * 4;
    int64_t needed = (image->width * image->bits + 7) / 8;
    int64_t at = image->pixels + stored * stride;
    return image->size >= at && image->size - at >= needed ? image->data + at : NULL;
}

static pfd_status read_header(const pfd_image_file *file, const pfd_decode_options *options,
                              pfd_image_header *out, pfd_error *err)
{
    bmp image;
    PFD_TRY(parse(file, &image, err));
    int64_t last = image.is_top_down ? image.height - 1 : 0; /* the last row in the file */
    if (options->incomplete == PFD_INCOMPLETE_ERROR && image.height > 0 && image.width > 0 &&
        image.compression != BI_RLE8 && image.compression != BI_RLE4 && !row_at(&image, last))
        return fail(file, file->size, "the file ends inside the image", err);
    out->stored_height = image.height;
    out->stored_width = image.width > 0 ? image.width : 0;
    out->bits = 8;
    out->channels = image.masks[3] ? 4 : 3;
    return PFD_OK;
}

/* ---- RLE ------------------------------------------------------------------------------------- */

/* The place of the next pixel in an image of RLE. */
typedef struct cursor {
    uint8_t *indices;
    int64_t height, width, row, column;
} cursor;

static void put(cursor *at, uint8_t index)
{
    if (at->row < at->height && at->column < at->width)
        at->indices[at->row * at->width + at->column] = index;
    at->column++;
}

/* Puts n pixels, whose indices are the bytes of `from`, or its nibbles. In a run, all pixels use
 * the first byte. */
static void put_pixels(cursor *at, const uint8_t *from, int64_t n, int32_t is_nibbles,
                       int32_t is_run)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t byte = is_run ? 0 : is_nibbles ? i / 2 : i;
        if (!is_nibbles) put(at, from[byte]);
        else put(at, i % 2 ? from[byte] & 15 : from[byte] >> 4);
    }
}

/* Pixels that no code names have index 0. Returns the offset where codes end early; 0: the codes
 * are whole. */
static int64_t inflate_codes(const bmp *image, uint8_t *indices)
{
    int32_t nibbles = image->compression == BI_RLE4;
    cursor to = {indices, image->height, image->width, 0, 0};
    for (int64_t at = image->pixels; to.row < to.height;) {
        if (image->size - at < 2) return image->size;
        int64_t count = image->data[at], code = image->data[at + 1];
        at += 2;
        if (count > 0) {
            put_pixels(&to, image->data + at - 1, count, nibbles, 1);
        } else if (code == 0) {
            to.row++;
            to.column = 0;
        } else if (code == 1) {
            return 0;
        } else if (code == 2) {
            if (image->size - at < 2) return image->size;
            to.column += image->data[at];
            to.row += image->data[at + 1];
            at += 2;
        } else {
            int64_t bytes = nibbles ? (code + 1) / 2 : code;
            if (image->size - at < bytes) return image->size;
            put_pixels(&to, image->data + at, code, nibbles, 0);
            at += bytes + bytes % 2;
        }
    }
    return 0;
}

static pfd_status inflate_image(const pfd_image_file *file, const pfd_decode_options *options,
                                bmp *image, pfd_error *err)
{
    int64_t bytes = image->height * image->width;
    uint8_t *indices = file->host->alloc(file->scratch, bytes);
    if (!indices) return pfd_fail_decode_memory(file, "BMP", NULL, err);
    memset(indices, 0, (size_t)bytes);
    image->indices = indices;
    int64_t end = inflate_codes(image, indices);
    if (!end || options->incomplete == PFD_INCOMPLETE_FILL) return PFD_OK;
    return fail(file, end, "the file ends inside the image", err);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* Returns a channel of a pixel, scaled to 0 to 255. */
static uint8_t masked(uint32_t pixel, uint32_t mask)
{
    if (!mask) return 255;
    int32_t shift = __builtin_ctz(mask);
    uint64_t most = mask >> shift;
    return (uint8_t)((uint64_t)((pixel & mask) >> shift) * 255 / most);
}

static void put_color(const bmp *image, int64_t index, uint8_t *out)
{
    const uint8_t *color = image->palette + index * image->color_bytes;
    int32_t exists = index < image->colors;
    for (int32_t c = 0; c < 3; c++) out[c] = exists ? color[2 - c] : 0;
    out[3] = 255;
}

/* Converts pixel x of a row to 4 channels. */
static void put_pixel(const bmp *image, const uint8_t *row, int64_t x, uint8_t *out)
{
    int64_t bits = image->bits;
    if (bits == 24) {
        for (int32_t c = 0; c < 3; c++) out[c] = row[3 * x + 2 - c];
        out[3] = 255;
    } else if (bits > 8) {
        uint32_t pixel = bits == 16 ? pfd_load_le16(row + 2 * x) : pfd_load_le32(row + 4 * x);
        for (int32_t c = 0; c < 4; c++) out[c] = masked(pixel, image->masks[c]);
    } else if (image->indices) {
        put_color(image, row[x], out);
    } else {
        int64_t first = x * bits;
        put_color(image, row[first / 8] >> (8 - bits - first % 8) & ((1 << bits) - 1), out);
    }
}

static pfd_status decode(const pfd_image_file *file, const pfd_decode_options *options,
                         const pfd_image_header *header, const pfd_region *region, pfd_pixels *out,
                         pfd_error *err)
{
    bmp image;
    int64_t row_bytes = region->width * pfd_color_channels(options->color_space);
    (void)header;
    PFD_TRY(parse(file, &image, err));
    if (image.compression == BI_RLE8 || image.compression == BI_RLE4)
        PFD_TRY(inflate_image(file, options, &image, err));
    PFD_TRY(pfd_make_pixels(file, region->height, row_bytes, out, err));
    uint8_t *pixels = file->host->alloc(file->scratch, region->width * 4);
    if (!pixels) return pfd_fail_decode_memory(file, "BMP", NULL, err);
    for (int64_t y = 0; y < region->height; y++) {
        const uint8_t *row = row_at(&image, region->top + y);
        uint8_t *to = out->data + y * out->stride;
        for (int64_t x = 0; row && x < region->width; x++)
            put_pixel(&image, row, region->left + x, pixels + 4 * x);
        if (row)
            pfd_convert_pixels(pixels, PFD_LAYOUT_RGBA, to, options->color_space, region->width);
        else
            memset(to, 0, (size_t)row_bytes);
    }
    return PFD_OK;
}

const pfd_image_codec pfd_bmp_codec = {
    .name = "BMP",
    .max_shrink = 1,
    .matches = is_bmp,
    .read_header = read_header,
    .decode = decode,
};

/* ---- Encoding -------------------------------------------------------------------------------- */

static void put_number(uint8_t *at, int64_t value, int32_t bytes)
{
    for (int32_t i = 0; i < bytes; i++) at[i] = (uint8_t)(value >> 8 * i);
}

/* Writes the file header, the info header, and a palette of gray where the image needs one. */
static void put_bmp_header(const pfd_image *image, int64_t offset, int64_t pixels, uint8_t *to)
{
    memset(to, 0, (size_t)offset);
    memcpy(to, "BM", 2);
    put_number(to + 2, offset + pixels, 4);
    put_number(to + 10, offset, 4);
    put_number(to + 14, 40, 4);
    put_number(to + 18, image->width, 4);
    put_number(to + 22, image->height, 4);
    put_number(to + 26, 1, 2);
    put_number(to + 28, 8 * image->channels, 2);
    put_number(to + 34, pixels, 4);
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

const pfd_image_encoder pfd_bmp_encoder = {"BMP", NULL, PFD_ENCODES_GRAY | PFD_ENCODES_RGB,
                                           encode_bmp};
