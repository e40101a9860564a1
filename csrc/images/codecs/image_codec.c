/* Finds the codec of an image by its first bytes, and an encoder by its name; decodes regions,
 * upright or as stored. */
#include "images/codecs/image_codec.h"

#include "core/rows.h"
#include "core/scratch.h"
#include "images/codecs/codec_table.h"
#include "parse/first_bytes.h"
#include "parse/words.h"

#include <inttypes.h>
#include <string.h>

static const pfd_image_codec *const codecs[] = {&pfd_jpeg_codec, &pfd_png_codec, &pfd_webp_codec,
                                              &pfd_bmp_codec, &pfd_pnm_codec};

pfd_image_file pfd_image_file_at(const pfd_compute_args *args, int32_t input, int64_t i)
{
    pfd_bytes bytes = pfd_row_bytes(args->inputs[input], i);
    return (pfd_image_file){.host = args->host,
                            .scratch = args->scratch,
                            .data = bytes.data,
                            .size = bytes.size,
                            .row = i,
                            .place = pfd_place_in_record(args, i, bytes.data)};
}

/* ---- Header ---------------------------------------------------------------------------------- */

static pfd_status fail_unknown(const pfd_image_file *file, pfd_error *err)
{
    char found[200];
    if (file->size == 0)
        return file->host->fail_row(err, file->row, pfd_image_byte(file, 0), PFD_CORRUPT_DATA,
                                    "the row has no bytes; it must hold an image");
    const char *other = pfd_foreign_image(file->data, file->size);
    if (!other) other = file->host->looks_like(file->data, file->size, NULL);
    return file->host->fail_row(
        err, file->row, pfd_image_byte(file, 0), PFD_CORRUPT_DATA,
        "the row is no image of a known format (JPEG, PNG, WebP, BMP, PNM): it begins with %s%s%s",
        pfd_quote_bytes(file->data, file->size < 16 ? file->size : 16, found, sizeof found),
        other ? ", which looks like " : "", other ? other : "");
}

static const pfd_image_codec *codec_of(const pfd_image_file *file)
{
    for (size_t i = 0; i < PFD_COUNT(codecs); i++)
        if (codecs[i]->matches(file->data, file->size)) return codecs[i];
    return NULL;
}

static int32_t is_turned(const pfd_image_header *header)
{
    return header->orientation >= 5;
}

void pfd_shrink_image(pfd_image_header *header, int32_t shrink)
{
    header->shrink = shrink <= header->codec->max_shrink ? shrink : 1;
    int64_t height = (header->stored_height + header->shrink - 1) / header->shrink;
    int64_t width = (header->stored_width + header->shrink - 1) / header->shrink;
    header->height = is_turned(header) ? width : height;
    header->width = is_turned(header) ? height : width;
}

pfd_status pfd_read_image_header(const pfd_image_file *file, const pfd_decode_options *options,
                                 pfd_image_header *out, pfd_error *err)
{
    *out = (pfd_image_header){.codec = codec_of(file), .orientation = 1};
    if (!out->codec) return fail_unknown(file, err);
    PFD_TRY(out->codec->read_header(file, options, out, err));
    if (out->stored_height < 1 || out->stored_width < 1)
        return file->host->fail_row(err, file->row, pfd_image_byte(file, 0), PFD_CORRUPT_DATA,
                                    "%s: the header says (%" PRId64 ", %" PRId64
                                    ") for height and width; an image has pixels",
                                    out->codec->name, out->stored_height, out->stored_width);
    if (out->stored_height > options->max_pixels / out->stored_width)
        return file->host->fail_row(err, file->row, pfd_image_byte(file, 0), PFD_CORRUPT_DATA,
                                    "%s: an image of (%" PRId64 ", %" PRId64
                                    ") has more pixels than max_pixels = %" PRId64 " allows",
                                    out->codec->name, out->stored_height, out->stored_width,
                                    options->max_pixels);
    int64_t per_byte = out->codec->most_pixels_per_byte;
    if (per_byte && options->incomplete == PFD_INCOMPLETE_ERROR &&
         out->stored_height * out->stored_width / per_byte > file->size)
        return file->host->fail_row(err, file->row, pfd_image_byte(file, 0), PFD_CORRUPT_DATA,
                                    "%s: the header says (%" PRId64 ", %" PRId64 ") for height and "
                                    "width, and %" PRId64 " bytes cannot hold that many pixels",
                                    out->codec->name, out->stored_height, out->stored_width,
                                    file->size);
    pfd_shrink_image(out, 1);
    return PFD_OK;
}

/* ---- Pixels ---------------------------------------------------------------------------------- */

/* How a delivered image lies in the stored image: by columns (turned), and from which end. */
typedef struct placing {
    int32_t is_turned, from_bottom, from_right;
} placing;

static placing placing_of(int32_t orientation)
{
    static const placing of[9] = {{0, 0, 0}, {0, 0, 0}, {0, 0, 1}, {0, 1, 1}, {0, 1, 0},
                                  {1, 0, 0}, {1, 1, 0}, {1, 1, 1}, {1, 0, 1}};
    return of[orientation];
}

static pfd_region stored_region(const pfd_image_header *header, placing by,
                                const pfd_region *region)
{
    pfd_region out = *region;
    int64_t height = by.is_turned ? header->width : header->height;
    int64_t width = by.is_turned ? header->height : header->width;
    if (by.is_turned) out = (pfd_region){region->left, region->top, region->width, region->height};
    if (by.from_bottom) out.top = height - out.top - out.height;
    if (by.from_right) out.left = width - out.left - out.width;
    return out;
}

static inline void copy_strided(const uint8_t *in, int64_t step, uint8_t *out, int64_t n,
                                int32_t channels)
{
    for (int64_t i = 0; i < n; i++)
        for (int32_t c = 0; c < channels; c++) out[i * channels + c] = in[i * step + c];
}

/* Writes the region upright; `stored` has its pixels as they are stored. */
static void turn(const pfd_pixels *stored, const pfd_region *size, placing by, int32_t channels,
                 pfd_pixels *out)
{
    int64_t down = stored->stride, right = channels;
    const uint8_t *first = stored->data;
    if (by.from_bottom) first += (size->height - 1) * down;
    if (by.from_right) first += (size->width - 1) * right;
    down = by.from_bottom ? -down : down;
    right = by.from_right ? -right : right;
    int64_t rows = by.is_turned ? size->width : size->height;
    int64_t columns = by.is_turned ? size->height : size->width;
    int64_t row_step = by.is_turned ? right : down, step = by.is_turned ? down : right;
    for (int64_t y = 0; y < rows; y++) {
        const uint8_t *in = first + y * row_step;
        uint8_t *to = out->data + y * out->stride;
        if (channels == 3) copy_strided(in, step, to, columns, 3);
        else copy_strided(in, step, to, columns, channels);
    }
}

pfd_status pfd_check_image_memory(const pfd_image_file *file, const pfd_decode_options *options,
                                  const pfd_image_header *header, const pfd_region *region,
                                  pfd_error *err)
{
    int64_t most = pfd_scratch_most_bytes(file->scratch);
    int64_t row_bytes = region->width * pfd_color_channels(options->color_space);
    if (region->height <= (most - file->size) / row_bytes) return PFD_OK;
    int64_t bytes = INT64_MAX;
    if (region->height <= (INT64_MAX - file->size) / row_bytes)
        bytes = region->height * row_bytes + file->size;
    return pfd_fail_image_memory(file, header->codec->name, bytes, err);
}

pfd_status pfd_decode_region(const pfd_image_file *file, const pfd_decode_options *options,
                             const pfd_image_header *header, const pfd_region *region,
                             pfd_pixels *out, pfd_error *err)
{
    const pfd_image_codec *codec = header->codec;
    placing by = placing_of(header->orientation);
    int32_t channels = pfd_color_channels(options->color_space);
    if (region->top < 0 || region->left < 0 || region->height < 1 || region->width < 1 ||
        region->height > header->height - region->top ||
        region->width > header->width - region->left)
        return file->host->fail_row(err, file->row, -1, PFD_INTERNAL,
                                    "a region of (%" PRId64 ", %" PRId64 ") at (%" PRId64
                                    ", %" PRId64 ") is not in an image of (%" PRId64 ", %" PRId64
                                    ")", region->height, region->width, region->top, region->left,
                                    header->height, header->width);
    if (!codec->decode)
        return file->host->fail_row(err, file->row, -1, PFD_UNSUPPORTED,
                                    "the row is a %s image, and this build of pyflowdata cannot "
                                    "decode those: install %s (apt-get install %s) and build "
                                    "pyflowdata again", codec->name, codec->package,
                                    codec->package);
    if (!out->data) PFD_TRY(pfd_check_image_memory(file, options, header, region, err));
    if (header->orientation == 1) return codec->decode(file, options, header, region, out, err);
    pfd_region stored = stored_region(header, by, region);
    pfd_pixels pixels = {0};
    PFD_TRY(codec->decode(file, options, header, &stored, &pixels, err));
    PFD_TRY(pfd_make_pixels(file, region->height, region->width * channels, out, err));
    turn(&pixels, &stored, by, channels, out);
    return PFD_OK;
}

/* ---- Encoding -------------------------------------------------------------------------------- */

static const pfd_image_encoder *encoder_of(const pfd_encode_options *options)
{
    static const pfd_image_encoder *const of[] = {&pfd_jpeg_encoder, &pfd_png_encoder,
                                                  &pfd_ppm_encoder, &pfd_bmp_encoder};
    return of[options->format];
}

pfd_status pfd_expect_encoder(const pfd_host *host, const pfd_encode_options *options,
                              int64_t channels, pfd_error *err)
{
    const pfd_image_encoder *encoder = encoder_of(options);
    if (!(encoder->channels >> channels & 1u))
        return host->fail(
            err, PFD_INVALID_ARGUMENT, "the images have %" PRId64 " channels; those of %s have %s",
            channels, encoder->name,
            encoder->channels == (PFD_ENCODES_GRAY | PFD_ENCODES_RGB) ? "1 (gray) or 3 (RGB)"
                                                                      : "1 to 4");
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
