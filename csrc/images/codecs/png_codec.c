/* PNG by libpng, whose memory is the workspace's arena.
 *
 * As in jpeg_codec.c, libpng's errors jump back into protect(), and leak nothing.
 */
#include "images/codecs/codec_table.h"

#include "core/bytes.h"

#include <inttypes.h>
#include <string.h>

/* ---- Header ---------------------------------------------------------------------------------- */

enum { SIGNATURE_BYTES = 8, CHUNK_BYTES = 12 /* length, type, checksum */, HEADER_BYTES = 33 };

static int32_t is_png(const uint8_t *data, int64_t size)
{
    return size >= SIGNATURE_BYTES && !memcmp(data, "\x89PNG\r\n\x1a\n", SIGNATURE_BYTES);
}

static int64_t number_at(const uint8_t *at)
{
    return (int64_t)pfd_load_be(at, 4);
}

static int32_t find_orientation(const pfd_image_file *file)
{
    for (int64_t at = SIGNATURE_BYTES; file->size - at >= CHUNK_BYTES;) {
        int64_t bytes = number_at(file->data + at);
        if (bytes > file->size - at - CHUNK_BYTES) return 1;
        if (!memcmp(file->data + at + 4, "eXIf", 4))
            return pfd_exif_orientation(file->data + at + 8, bytes);
        at += CHUNK_BYTES + bytes;
    }
    return 1;
}

static pfd_status read_header(const pfd_image_file *file, const pfd_decode_options *options,
                              pfd_image_header *out, pfd_error *err)
{
    static const int8_t channels[] = {1, 0, 3, 3, 2, 0, 4}; /* by colour type; 3 is a palette */
    const uint8_t *data = file->data;
    if (file->size < HEADER_BYTES || number_at(data + 8) != 13 || memcmp(data + 12, "IHDR", 4) ||
        data[25] >= PFD_COUNT(channels) || !channels[data[25]])
        return file->host->fail_row(err, file->row, pfd_image_byte(file, SIGNATURE_BYTES),
                                    PFD_CORRUPT_DATA, "PNG: no header chunk after the signature");
    out->stored_width = number_at(data + 16);
    out->stored_height = number_at(data + 20);
    out->bits = data[24];
    out->channels = channels[data[25]];
    if (options->apply_orientation) out->orientation = find_orientation(file);
    return PFD_OK;
}

#ifdef PFD_HAVE_PNG
#include "core/scratch.h"

#include <setjmp.h>
#include <stdio.h>

#include <png.h>

/* The most bytes that libpng reads at once near the end, so that it uses a cut file up to its
 * end. */
enum { LEAST_READ = 512 };

/* The first member of the structs that libpng passes to callbacks. */
typedef struct png_session {
    pfd_scratch *arena;
    int32_t lacks_memory;
    jmp_buf escape;
    char said[160];
} png_session;

/* What is decoded, and where it goes. */
typedef struct job {
    png_session session;
    const pfd_image_file *file;
    const pfd_decode_options *options;
    const pfd_image_header *header;
    const pfd_region *region;
    pfd_pixels *out;
    pfd_error *err;
    png_structp png;
    png_infop info;
    int64_t at;          /* the next byte of the file */
    pfd_status status;   /* the failure that *err has already */
    int32_t has_rows;    /* decoding of pixels has started */
    int32_t layout;      /* PFD_LAYOUT_* of the rows that libpng gives */
    int32_t is_direct;   /* 1: these rows have the wanted channels */
    pfd_pixels stored;   /* all rows of an interlaced image */
} job;

/* ---- What libpng calls ----------------------------------------------------------------------- */

static void give_up(png_structp png, png_const_charp message)
{
    png_session *self = png_get_error_ptr(png);
    (void)snprintf(self->said, sizeof self->said, "%s", message);
    longjmp(self->escape, 1);
}

static void ignore_warning(png_structp png, png_const_charp message)
{
    (void)png;
    (void)message;
}

static png_voidp allocate(png_structp png, png_alloc_size_t bytes)
{
    png_session *self = png_get_mem_ptr(png);
    void *memory =
        bytes <= INT64_MAX / 8 ? pfd_scratch_alloc(self->arena, (int64_t)bytes) : NULL;
    if (!memory) self->lacks_memory = 1;
    return memory;
}

static void free_nothing(png_structp png, png_voidp memory)
{
    (void)png;
    (void)memory;
}

static void read_bytes(png_structp png, png_bytep out, size_t bytes)
{
    job *at = png_get_io_ptr(png);
    if ((int64_t)bytes > at->file->size - at->at) {
        at->at = at->file->size;
        png_error(png, "the file ends inside the image");
    }
    memcpy(out, at->file->data + at->at, bytes);
    at->at += (int64_t)bytes;
}

static void refuse_start(png_session *self)
{
    (void)snprintf(self->said, sizeof self->said, "libpng does not start");
    longjmp(self->escape, 1);
}

/* 0: libpng gave up. */
static int32_t protect(png_session *self, void (*run)(void *), void *argument)
{
    if (setjmp(self->escape)) return 0;
    run(argument);
    return 1;
}

/* ---- Decoding -------------------------------------------------------------------------------- */

static void open_file(job *at)
{
    static const png_byte ignored[] = /* chunks that do not change the pixels */
        "bKGD\0cHRM\0eXIf\0gAMA\0hIST\0iCCP\0iTXt\0oFFs\0pCAL\0pHYs\0sBIT\0sCAL\0sPLT\0sRGB\0"
        "sTER\0tEXt\0tIME\0zTXt";
    int32_t fills = at->options->incomplete == PFD_INCOMPLETE_FILL;
    at->png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, at, give_up, ignore_warning, at,
                                       allocate, free_nothing);
    at->info = at->png ? png_create_info_struct(at->png) : NULL;
    if (!at->info) refuse_start(&at->session);
    png_set_read_fn(at->png, at, read_bytes);
    png_set_user_limits(at->png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    if (fills) png_set_compression_buffer_size(at->png, LEAST_READ);
    png_set_keep_unknown_chunks(at->png, PNG_HANDLE_CHUNK_NEVER, ignored, sizeof ignored / 5);
    png_set_crc_action(at->png, fills ? PNG_CRC_WARN_USE : PNG_CRC_ERROR_QUIT,
                       fills ? PNG_CRC_WARN_DISCARD : PNG_CRC_ERROR_QUIT);
}

/* Asks libpng for rows of 8 bits a channel, with an alpha channel only where it is wanted. */
static void set_up(job *at)
{
    static const int32_t layouts[] = {0, PFD_LAYOUT_GRAY, PFD_LAYOUT_GRAY_ALPHA, PFD_LAYOUT_RGB,
                                      PFD_LAYOUT_RGBA};
    int32_t space = at->options->color_space;
    png_read_info(at->png, at->info);
    if (png_get_image_height(at->png, at->info) != at->header->stored_height ||
        png_get_image_width(at->png, at->info) != at->header->stored_width)
        png_error(at->png, "two header chunks");
    png_set_strip_16(at->png);
    png_set_packing(at->png);
    png_set_palette_to_rgb(at->png);
    png_set_expand_gray_1_2_4_to_8(at->png);
    if (space != PFD_COLOR_RGBA) png_set_strip_alpha(at->png);
    else if (png_get_valid(at->png, at->info, PNG_INFO_tRNS)) png_set_tRNS_to_alpha(at->png);
    if (space == PFD_COLOR_BGR) png_set_bgr(at->png);
    (void)png_set_interlace_handling(at->png);
    png_read_update_info(at->png, at->info);
    int32_t channels = png_get_channels(at->png, at->info);
    at->layout = layouts[channels];
    at->is_direct = channels == pfd_color_channels(space);
}

static pfd_pixels room_for_all(job *at)
{
    int64_t row_bytes = (int64_t)png_get_rowbytes(at->png, at->info);
    pfd_pixels pixels = {.stride = row_bytes};
    pixels.data = allocate(at->png, (png_alloc_size_t)(row_bytes * at->header->stored_height));
    if (!pixels.data) longjmp(at->session.escape, 1);
    memset(pixels.data, 0, (size_t)(row_bytes * at->header->stored_height));
    return pixels;
}

/* Copies part of a row from libpng into row y of the region. */
static void put_row(const job *at, const uint8_t *row, int64_t y)
{
    int32_t space = at->options->color_space;
    const uint8_t *in = row + at->region->left * pfd_layout_channels(at->layout);
    uint8_t *out = at->out->data + y * at->out->stride;
    if (at->is_direct)
        memcpy(out, in, (size_t)(at->region->width * pfd_color_channels(space)));
    else
        pfd_convert_pixels(in, at->layout, out, space, at->region->width);
}

static void read_interlaced(job *at)
{
    at->stored = room_for_all(at);
    at->has_rows = 1;
    for (int32_t pass = 0; pass < PNG_INTERLACE_ADAM7_PASSES; pass++)
        for (int64_t y = 0; y < at->header->stored_height; y++)
            png_read_row(at->png, at->stored.data + y * at->stored.stride, NULL);
}

static void read_rows(job *at)
{
    int64_t bottom = at->region->top + at->region->height;
    int32_t in_place = at->is_direct && at->region->width == at->header->stored_width;
    uint8_t *row = png_malloc(at->png, png_get_rowbytes(at->png, at->info));
    at->has_rows = 1;
    for (int64_t y = 0; y < bottom; y++) {
        int64_t to = y - at->region->top;
        if (y % 64 == 0 && at->file->host->is_cancelled(at->file->scratch)) {
            at->status = at->file->host->fail_row(at->err, at->file->row, -1, PFD_CANCELLED,
                                                  "cancelled");
            longjmp(at->session.escape, 1);
        }
        if (in_place && to >= 0) {
            png_read_row(at->png, at->out->data + to * at->out->stride, NULL);
            continue;
        }
        png_read_row(at->png, row, NULL);
        if (to >= 0) put_row(at, row, to);
    }
}

static void decode_job(void *argument)
{
    job *at = argument;
    open_file(at);
    set_up(at);
    int64_t row_bytes = at->region->width * pfd_color_channels(at->options->color_space);
    at->status = pfd_make_pixels(at->file, at->region->height, row_bytes, at->out, at->err);
    if (at->status != PFD_OK) longjmp(at->session.escape, 1);
    for (int64_t y = 0; at->options->incomplete == PFD_INCOMPLETE_FILL && y < at->region->height;
         y++)
        memset(at->out->data + y * at->out->stride, 0, (size_t)row_bytes);
    if (png_get_interlace_type(at->png, at->info) != PNG_INTERLACE_NONE) read_interlaced(at);
    else read_rows(at);
    if (at->region->top + at->region->height == at->header->stored_height)
        png_read_end(at->png, NULL);
}

/* libpng gave up. */
static pfd_status explain(const job *at)
{
    const pfd_image_file *file = at->file;
    if (at->status != PFD_OK) return at->status;
    if (at->session.lacks_memory)
        return pfd_fail_decode_memory(file, "PNG", at->session.arena, at->err);
    if (at->options->incomplete == PFD_INCOMPLETE_FILL && at->has_rows) return PFD_OK;
    return pfd_fail_image(file, "PNG", at->at, at->session.said, at->err);
}

static pfd_status decode_region(const pfd_image_file *file, const pfd_decode_options *options,
                                const pfd_image_header *header, const pfd_region *region,
                                pfd_pixels *out, pfd_error *err)
{
    pfd_workspace *workspace = pfd_workspace_begin(file->scratch);
    if (!workspace) return pfd_fail_decode_memory(file, "PNG", NULL, err);
    job at = {.file = file, .options = options, .header = header, .region = region, .out = out,
              .err = err, .session.arena = workspace->arena};
    pfd_status status = protect(&at.session, decode_job, &at) ? PFD_OK : explain(&at);
    for (int64_t y = 0; status == PFD_OK && at.stored.data && y < region->height; y++)
        put_row(&at, at.stored.data + (region->top + y) * at.stored.stride, y);
    pfd_workspace_end(workspace);
    return status;
}
#else
#define decode_region NULL
#endif

const pfd_image_codec pfd_png_codec = {
    .name = "PNG",
    .package = "libpng-dev",
    .max_shrink = 1,
    .most_pixels_per_byte = 8 * 1100, /* deflate packs a byte into no less than 1/1032 */
    .matches = is_png,
    .read_header = read_header,
    .decode = decode_region,
};

#ifdef PFD_HAVE_PNG
/* ---- Encoding -------------------------------------------------------------------------------- */

typedef struct write_job {
    png_session session;
    const pfd_encode_options *options;
    const pfd_image *image;
    pfd_growing *out;
} write_job;

static void write_bytes(png_structp png, png_bytep data, size_t bytes)
{
    write_job *at = png_get_io_ptr(png);
    uint8_t *to = pfd_grow(at->out, (int64_t)bytes);
    if (!to) {
        at->session.lacks_memory = 1;
        longjmp(at->session.escape, 1);
    }
    memcpy(to, data, bytes);
    at->out->size += (int64_t)bytes;
}

static void flush_nothing(png_structp png)
{
    (void)png;
}

static void encode_rows(void *argument)
{
    static const int types[] = {0, PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA,
                                PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGB_ALPHA};
    write_job *at = argument;
    const pfd_image *image = at->image;
    png_structp png = png_create_write_struct_2(PNG_LIBPNG_VER_STRING, at, give_up, ignore_warning,
                                                at, allocate, free_nothing);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    if (!info) refuse_start(&at->session);
    png_set_write_fn(png, at, write_bytes, flush_nothing);
    png_set_user_limits(png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_set_compression_level(png, at->options->compression_level);
    png_set_IHDR(png, info, (png_uint_32)image->width, (png_uint_32)image->height, 8,
                 types[image->channels], PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    for (int64_t y = 0; y < image->height; y++)
        png_write_row(png, image->data + y * image->width * image->channels);
    png_write_end(png, NULL);
}

static pfd_status encode(const pfd_encode_call *call, const pfd_encode_options *options,
                         const pfd_image *image, pfd_growing *out, pfd_error *err)
{
    pfd_scratch *arena = out->workspace->arena;
    write_job at = {.options = options, .image = image, .out = out, .session.arena = arena};
    if (protect(&at.session, encode_rows, &at)) return PFD_OK;
    if (at.session.lacks_memory) return pfd_fail_encode_memory(call, arena, err);
    return call->host->fail_row(err, call->row, -1, PFD_CORRUPT_DATA,
                                "the image cannot be written as PNG: %s", at.session.said);
}
#else
#define encode NULL
#endif

const pfd_image_encoder pfd_png_encoder = {
    "PNG", "libpng-dev", 1u << 1 | 1u << 2 | 1u << 3 | 1u << 4, encode};
