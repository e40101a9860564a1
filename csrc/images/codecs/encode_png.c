/* PNG by libpng, whose memory is the workspace's arena; its errors jump back as in png_codec.c. */
#include "images/codecs/encoder_table.h"

#ifdef PFD_HAVE_PNG
#include "core/scratch.h"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <png.h>

typedef struct job {
    const pfd_encode_options *options;
    const pfd_image *image;
    pfd_growing *out;
    int32_t lacks_memory;
    jmp_buf escape;
    char said[160];
} job;

static void give_up(png_structp png, png_const_charp message)
{
    job *at = png_get_error_ptr(png);
    (void)snprintf(at->said, sizeof at->said, "%s", message);
    longjmp(at->escape, 1);
}

static void ignore_warning(png_structp png, png_const_charp message)
{
    (void)png;
    (void)message;
}

static png_voidp allocate(png_structp png, png_alloc_size_t bytes)
{
    job *at = png_get_mem_ptr(png);
    pfd_scratch *arena = at->out->workspace->arena;
    void *memory = bytes <= INT64_MAX / 8 ? pfd_scratch_alloc(arena, (int64_t)bytes) : NULL;
    if (!memory) at->lacks_memory = 1;
    return memory;
}

static void free_nothing(png_structp png, png_voidp memory)
{
    (void)png;
    (void)memory;
}

static void write_bytes(png_structp png, png_bytep data, size_t bytes)
{
    job *at = png_get_io_ptr(png);
    uint8_t *to = pfd_grow(at->out, (int64_t)bytes);
    if (!to) {
        at->lacks_memory = 1;
        longjmp(at->escape, 1);
    }
    memcpy(to, data, bytes);
    at->out->size += (int64_t)bytes;
}

static void flush_nothing(png_structp png)
{
    (void)png;
}

static void encode_rows(job *at)
{
    static const int types[] = {0, PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA,
                                PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGB_ALPHA};
    const pfd_image *image = at->image;
    png_structp png = png_create_write_struct_2(PNG_LIBPNG_VER_STRING, at, give_up, ignore_warning,
                                                at, allocate, free_nothing);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    if (!info) {
        (void)snprintf(at->said, sizeof at->said, "libpng does not start");
        longjmp(at->escape, 1);
    }
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

/* 0: libpng gave up. */
static int32_t protect(job *at, void (*run)(job *at))
{
    if (setjmp(at->escape)) return 0;
    run(at);
    return 1;
}

static pfd_status encode(const pfd_encode_call *call, const pfd_encode_options *options,
                         const pfd_image *image, pfd_growing *out, pfd_error *err)
{
    job at = {.options = options, .image = image, .out = out};
    if (protect(&at, encode_rows)) return PFD_OK;
    if (at.lacks_memory) return pfd_fail_encode_memory(call, out->workspace->arena, err);
    return call->host->fail_row(err, call->row, -1, PFD_CORRUPT_DATA,
                                "the image cannot be written as PNG: %s", at.said);
}
#else
#define encode NULL
#endif

const pfd_image_encoder pfd_png_encoder = {
    "PNG", "libpng-dev", 1u << 1 | 1u << 2 | 1u << 3 | 1u << 4, encode};
