/* WebP by libwebp. An animation gives its first frame, on a canvas of zeros. */
#include "images/codecs/codec_table.h"

#include "core/bytes.h"

#include <inttypes.h>
#include <string.h>

/* ---- Header ---------------------------------------------------------------------------------- */

enum { RIFF_BYTES = 12, CHUNK_BYTES = 8, FRAME_BYTES = 16 };

typedef struct chunk {
    const uint8_t *data;
    int64_t size; /* bytes of the chunk that the file has */
    int64_t next; /* offset of the next chunk */
} chunk;

/* Where the pixels are, and where on the canvas they belong. */
typedef struct webp {
    int64_t height, width; /* size of the canvas */
    int32_t has_alpha, orientation;
    const uint8_t *frame; /* a file that libwebp decodes alone */
    int64_t frame_size, top, left, frame_height, frame_width;
} webp;

static int64_t load_le24(const uint8_t *at)
{
    return pfd_load_le16(at) | at[2] << 16;
}

static int32_t is_webp(const uint8_t *data, int64_t size)
{
    return size >= RIFF_BYTES && !memcmp(data, "RIFF", 4) && !memcmp(data + 8, "WEBP", 4);
}

/* Reads the chunk at `at`; 0: it is not of this type. `type` NULL: any type. */
static int32_t is_chunk(const pfd_image_file *file, int64_t at, const char *type, chunk *out)
{
    if (file->size - at < CHUNK_BYTES || (type && memcmp(file->data + at, type, 4) != 0)) return 0;
    int64_t size = pfd_load_le32(file->data + at + 4);
    *out = (chunk){file->data + at + CHUNK_BYTES, file->size - at - CHUNK_BYTES,
                   at + CHUNK_BYTES + size + size % 2};
    if (out->size > size) out->size = size;
    return 1;
}

static int32_t read_lossy(chunk found, webp *out)
{
    if (found.size < 10 || memcmp(found.data + 3, "\x9d\x01\x2a", 3) != 0) return 0;
    out->width = pfd_load_le16(found.data + 6) & 0x3fff;
    out->height = pfd_load_le16(found.data + 8) & 0x3fff;
    return 1;
}

static int32_t read_lossless(chunk found, webp *out)
{
    if (found.size < 5 || found.data[0] != 0x2f) return 0;
    int64_t bits = pfd_load_le32(found.data + 1);
    out->width = (bits & 0x3fff) + 1;
    out->height = (bits >> 14 & 0x3fff) + 1;
    out->has_alpha = bits >> 28 & 1;
    return 1;
}

static int32_t read_canvas(chunk found, webp *out)
{
    if (found.size < 10) return 0;
    out->has_alpha = found.data[0] >> 4 & 1;
    out->width = load_le24(found.data + 4) + 1;
    out->height = load_le24(found.data + 7) + 1;
    return 1;
}

/* Finds the first frame of an animation; 0: it has none. */
static int32_t read_frame(const pfd_image_file *file, int64_t at, webp *out)
{
    chunk found;
    for (; is_chunk(file, at, NULL, &found); at = found.next) {
        if (memcmp(file->data + at, "ANMF", 4) != 0) continue;
        if (found.size < FRAME_BYTES) return 0;
        out->left = load_le24(found.data) * 2;
        out->top = load_le24(found.data + 3) * 2;
        out->frame_width = load_le24(found.data + 6) + 1;
        out->frame_height = load_le24(found.data + 9) + 1;
        out->frame = found.data + FRAME_BYTES;
        out->frame_size = found.size - FRAME_BYTES;
        return out->frame_width <= out->width - out->left &&
               out->frame_height <= out->height - out->top;
    }
    return 0;
}

static int32_t find_orientation(const pfd_image_file *file, int64_t at)
{
    chunk found;
    for (; is_chunk(file, at, NULL, &found); at = found.next)
        if (!memcmp(file->data + at, "EXIF", 4))
            return pfd_exif_orientation(found.data, found.size);
    return 1;
}

/* Returns 0 if the file is damaged. */
static int32_t parse(const pfd_image_file *file, webp *out)
{
    enum { IS_ANIMATION = 2, HAS_EXIF = 8 };
    chunk first;
    *out = (webp){.frame = file->data, .frame_size = file->size, .orientation = 1};
    int32_t is_extended = is_chunk(file, RIFF_BYTES, "VP8X", &first);
    if (is_extended ? !read_canvas(first, out)
        : is_chunk(file, RIFF_BYTES, "VP8 ", &first) ? !read_lossy(first, out)
        : is_chunk(file, RIFF_BYTES, "VP8L", &first) ? !read_lossless(first, out)
                                                     : 1)
        return 0;
    out->frame_height = out->height;
    out->frame_width = out->width;
    if (!is_extended) return 1;
    if (first.data[0] & HAS_EXIF) out->orientation = find_orientation(file, first.next);
    return !(first.data[0] & IS_ANIMATION) || read_frame(file, first.next, out);
}

static pfd_status read_header(const pfd_image_file *file, const pfd_decode_options *options,
                              pfd_image_header *out, pfd_error *err)
{
    webp image;
    if (!parse(file, &image))
        return file->host->fail_row(err, file->row, pfd_image_byte(file, RIFF_BYTES),
                                    PFD_CORRUPT_DATA, "WebP: the header is damaged, or the file of "
                                    "%" PRId64 " bytes ends in it", file->size);
    out->stored_height = image.height;
    out->stored_width = image.width;
    out->channels = image.has_alpha ? 4 : 3;
    out->bits = 8;
    if (options->apply_orientation) out->orientation = image.orientation;
    return PFD_OK;
}

#ifdef PFD_HAVE_WEBP
#include "core/scratch.h"

#include <stdlib.h>

#include <webp/decode.h>

/* ---- Decoding -------------------------------------------------------------------------------- */

static const char *text_of(VP8StatusCode status)
{
    switch (status) {
    case VP8_STATUS_NOT_ENOUGH_DATA: return "the file ends inside the image";
    case VP8_STATUS_UNSUPPORTED_FEATURE: return "a feature that is not supported";
    default: return "the data are damaged";
    }
}

/* libwebp calls some images damaged when it had no memory. So an image counts as damaged only if
 * there is as much memory as it may take, and a second decoder says the same. */
static VP8StatusCode decode_surely(const uint8_t *data, size_t size, WebPDecoderConfig *config)
{
    VP8StatusCode status = WebPDecode(data, size, config);
    if (status == VP8_STATUS_OK || status == VP8_STATUS_OUT_OF_MEMORY) return status;
    size_t pixels = (size_t)config->input.width * (size_t)config->input.height;
    void *memory = malloc(8 * pixels + (1u << 20)); /* lossless data take the most */
    if (!memory) return VP8_STATUS_OUT_OF_MEMORY;
    free(memory);
    return WebPDecode(data, size, config);
}

/* Decodes the frame to the memory at its place in `pixels`. */
static pfd_status decode_frame(const pfd_image_file *file, const webp *image, int32_t mode,
                               int32_t fills, pfd_pixels pixels, pfd_error *err)
{
    WebPDecoderConfig config;
    int64_t channels = mode == MODE_RGBA ? 4 : 3;
    (void)WebPInitDecoderConfig(&config);
    size_t size = (size_t)image->frame_size;
    VP8StatusCode status = WebPGetFeatures(image->frame, size, &config.input);
    if (status == VP8_STATUS_OK && (config.input.width != image->frame_width ||
                                    config.input.height != image->frame_height))
        status = VP8_STATUS_BITSTREAM_ERROR;
    int32_t has_begun = status == VP8_STATUS_OK;
    config.output.colorspace = (WEBP_CSP_MODE)mode;
    config.output.is_external_memory = 1;
    config.output.u.RGBA.rgba = pixels.data + image->top * pixels.stride + image->left * channels;
    config.output.u.RGBA.stride = (int)pixels.stride;
    config.output.u.RGBA.size = (size_t)((image->frame_height - 1) * pixels.stride +
                                         image->frame_width * channels);
    if (has_begun) status = decode_surely(image->frame, size, &config);
    if (status == VP8_STATUS_OUT_OF_MEMORY)
        return pfd_fail_decode_memory(file, "WebP", NULL, err);
    if (status == VP8_STATUS_OK || (fills && has_begun)) return PFD_OK;
    return file->host->fail_row(err, file->row, pfd_image_byte(file, image->frame - file->data),
                                PFD_CORRUPT_DATA, "WebP: %s, of %" PRId64 " bytes",
                                text_of(status), file->size);
}

/* Decodes to a canvas in the arena: for part of the image, for a frame that does not fill it, and
 * for gray. */
static pfd_status decode_canvas(const pfd_image_file *file, const webp *image, int32_t mode,
                                int32_t fills, pfd_scratch *arena, pfd_pixels *out, pfd_error *err)
{
    int64_t bytes = image->width * (mode == MODE_RGBA ? 4 : 3) * image->height;
    out->stride = bytes / image->height;
    out->data = pfd_scratch_alloc(arena, bytes);
    if (!out->data) return pfd_fail_decode_memory(file, "WebP", arena, err);
    memset(out->data, 0, (size_t)bytes);
    return decode_frame(file, image, mode, fills, *out, err);
}

static void copy_region(pfd_pixels canvas, const pfd_region *region, int32_t color_space,
                        pfd_pixels *out)
{
    int32_t is_gray = color_space == PFD_COLOR_GRAY;
    int64_t channels = is_gray ? 3 : pfd_color_channels(color_space);
    for (int64_t y = 0; y < region->height; y++) {
        const uint8_t *in = canvas.data + (region->top + y) * canvas.stride;
        uint8_t *to = out->data + y * out->stride;
        in += region->left * channels;
        if (is_gray) pfd_convert_pixels(in, PFD_LAYOUT_RGB, to, PFD_COLOR_GRAY, region->width);
        else memcpy(to, in, (size_t)(region->width * channels));
    }
}

static pfd_status decode_region(const pfd_image_file *file, const pfd_decode_options *options,
                                const pfd_image_header *header, const pfd_region *region,
                                pfd_pixels *out, pfd_error *err)
{
    static const int32_t modes[] = {MODE_RGB, MODE_BGR, MODE_RGB, MODE_RGBA};
    webp image;
    pfd_pixels canvas;
    int32_t fills = options->incomplete == PFD_INCOMPLETE_FILL;
    int32_t space = options->color_space, mode = modes[space];
    int64_t row_bytes = region->width * pfd_color_channels(space);
    (void)parse(file, &image); /* read_header() has parsed it without an error */
    PFD_TRY(pfd_make_pixels(file, region->height, row_bytes, out, err));
    if (image.frame_height == region->height && image.frame_width == region->width && !fills &&
        space != PFD_COLOR_GRAY && region->height == header->stored_height &&
        region->width == header->stored_width && out->stride <= INT32_MAX)
        return decode_frame(file, &image, mode, 0, *out, err);
    pfd_workspace *workspace = pfd_workspace_begin(file->scratch);
    if (!workspace) return pfd_fail_decode_memory(file, "WebP", NULL, err);
    pfd_status status =
        decode_canvas(file, &image, mode, fills, workspace->arena, &canvas, err);
    if (status == PFD_OK) copy_region(canvas, region, space, out);
    pfd_workspace_end(workspace);
    return status;
}
#else
#define decode_region NULL
#endif

const pfd_image_codec pfd_webp_codec = {
    .name = "WebP",
    .package = "libwebp-dev",
    .max_shrink = 1,
    .matches = is_webp,
    .read_header = read_header,
    .decode = decode_region,
};
