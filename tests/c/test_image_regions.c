/* Regions of JPEG images against libjpeg's own decode of the whole image, bit for bit. */
#include "check.h"

#include "core/error.h"
#include "core/scratch.h"
#include "images/codecs/image_codec.h"
#include "registry/registry.h"

#ifdef PFD_HAVE_JPEG
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

/* ---- Files, and their pixels as libjpeg gives them ------------------------------------------- */

typedef struct sample {
    int32_t height, width, components; /* 1 or 3 */
    int32_t h[3], v[3];                /* sampling factors */
    int32_t form;
} sample;

enum { SEQUENTIAL, PROGRESSIVE, PARTIAL, SPLIT, RESTARTS, FORMS };

typedef struct jpeg {
    unsigned char *data;
    unsigned long size;
} jpeg;

/* Smooth, with edges, and different in each channel. */
static uint8_t value_at(int32_t y, int32_t x, int32_t c)
{
    uint32_t hash = (uint32_t)(y * 7919 + x * 104729 + c * 1299709);
    int32_t edge = (x / 5 + y / 7 + c) % 3 * 60;
    return (uint8_t)(40 + edge + (x * 3 + y * 5 + c * 11) % 64 + (int32_t)(hash >> 7) % 24);
}

static jpeg encode(const sample *of)
{
    struct jpeg_compress_struct cinfo;
    struct jpeg_error_mgr errors;
    jpeg out = {NULL, 0};
    uint8_t row[3 * 512], *rows[] = {row};
    /* Without all frequencies: libjpeg guesses those that are absent. */
    static const jpeg_scan_info partial[] = {{3, {0, 1, 2}, 0, 0, 0, 0}, {1, {0}, 1, 5, 0, 2}};
    static const jpeg_scan_info split[] = {
        {1, {0}, 0, 63, 0, 0}, {1, {1}, 0, 63, 0, 0}, {1, {2}, 0, 63, 0, 0}};
    cinfo.err = jpeg_std_error(&errors);
    jpeg_create_compress(&cinfo);
    jpeg_mem_dest(&cinfo, &out.data, &out.size);
    cinfo.image_height = (JDIMENSION)of->height;
    cinfo.image_width = (JDIMENSION)of->width;
    cinfo.input_components = of->components;
    cinfo.in_color_space = of->components == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&cinfo);
    jpeg_set_quality(&cinfo, 85, TRUE);
    for (int c = 0; c < of->components; c++) {
        cinfo.comp_info[c].h_samp_factor = of->h[c];
        cinfo.comp_info[c].v_samp_factor = of->v[c];
    }
    if (of->form == RESTARTS) cinfo.restart_in_rows = 1;
    if (of->form == PROGRESSIVE) jpeg_simple_progression(&cinfo);
    if (of->form == SPLIT || (of->form == PARTIAL && of->components == 3)) {
        cinfo.scan_info = of->form == SPLIT ? split : partial;
        cinfo.num_scans = of->form == SPLIT ? of->components : 2;
    }
    jpeg_start_compress(&cinfo, TRUE);
    for (int32_t y = 0; y < of->height; y++) {
        for (int32_t i = 0; i < of->width * of->components; i++)
            row[i] = value_at(y, i / of->components, i % of->components);
        (void)jpeg_write_scanlines(&cinfo, rows, 1);
    }
    jpeg_finish_compress(&cinfo);
    jpeg_destroy_compress(&cinfo);
    return out;
}

/* All pixels, with libjpeg's defaults: those are the accurate ones. */
static uint8_t *decode_whole(jpeg file, J_COLOR_SPACE space, int32_t shrink, int32_t *height,
                             int32_t *width)
{
    struct jpeg_decompress_struct cinfo;
    struct jpeg_error_mgr errors;
    cinfo.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&cinfo);
    jpeg_mem_src(&cinfo, file.data, file.size);
    (void)jpeg_read_header(&cinfo, TRUE);
    cinfo.out_color_space = space;
    cinfo.scale_num = 1;
    cinfo.scale_denom = (unsigned)shrink;
    (void)jpeg_start_decompress(&cinfo);
    size_t row_bytes = cinfo.output_width * (size_t)cinfo.output_components;
    uint8_t *pixels = malloc(row_bytes * cinfo.output_height);
    *height = (int32_t)cinfo.output_height;
    *width = (int32_t)cinfo.output_width;
    while (cinfo.output_scanline < cinfo.output_height) {
        uint8_t *rows[] = {pixels + cinfo.output_scanline * row_bytes};
        (void)jpeg_read_scanlines(&cinfo, rows, 1);
    }
    (void)jpeg_finish_decompress(&cinfo);
    jpeg_destroy_decompress(&cinfo);
    return pixels;
}

/* ---- Regions --------------------------------------------------------------------------------- */

typedef struct decoder {
    pfd_image_file file;
    pfd_decode_options options;
    pfd_image_header header;
    const uint8_t *whole;
    const char *about;
} decoder;

static int32_t is_equal(const pfd_pixels *found, const decoder *at, const pfd_region *region)
{
    int64_t channels = pfd_color_channels(at->options.color_space);
    for (int64_t y = 0; y < region->height; y++) {
        const uint8_t *expected =
            at->whole + ((region->top + y) * at->header.width + region->left) * channels;
        if (memcmp(found->data + y * found->stride, expected, (size_t)(region->width * channels)))
            return 0;
    }
    return 1;
}

static void check_region(const decoder *at, pfd_region region)
{
    static uint8_t room[512 * 512 * 4];
    pfd_error err;
    pfd_pixels inside = {0}, given = {room, region.width * 4};
    char what[200];
    pfd_error_init(&err);
    (void)snprintf(what, sizeof what, "%s: region of (%d, %d) at (%d, %d), shrink %d, color %d",
                   at->about, (int)region.height, (int)region.width, (int)region.top,
                   (int)region.left, at->header.shrink, at->options.color_space);
    if (pfd_decode_region(&at->file, &at->options, &at->header, &region, &inside, &err) ||
        pfd_decode_region(&at->file, &at->options, &at->header, &region, &given, &err))
        check(0, what, err.message, __FILE__, __LINE__);
    else
        check(is_equal(&inside, at, &region) && is_equal(&given, at, &region), what, NULL, __FILE__,
              __LINE__);
    pfd_scratch_reset(at->file.scratch);
}

/* Every beginning and end near a block's edge, in both directions. */
static void check_regions(const decoder *at, int32_t step)
{
    int64_t height = at->header.height, width = at->header.width;
    for (int64_t top = 0; top < height; top += step)
        for (int64_t bottom = top + 1; bottom <= height; bottom += 1 + step)
            check_region(at, (pfd_region){top, width / 3, bottom - top, width - width / 3});
    for (int64_t left = 0; left < width; left += step)
        for (int64_t right = left + 1; right <= width; right += 1 + step)
            check_region(at, (pfd_region){height / 3, left, height - height / 3, right - left});
    check_region(at, (pfd_region){0, 0, height, width});
}

static void check_file(pfd_scratch *scratch, const sample *of, const char *about, int32_t step)
{
    static const J_COLOR_SPACE spaces[] = {JCS_RGB, JCS_EXT_BGR, JCS_GRAYSCALE, JCS_EXT_RGBA};
    jpeg file = encode(of);
    pfd_error err;
    decoder at = {.file = {pfd_host_table(), scratch, file.data, (int64_t)file.size, 0, -1},
                  .options = {.max_pixels = 1 << 20},
                  .about = about};
    pfd_error_init(&err);
    for (int32_t shrink = 1; shrink <= 8; shrink *= 2)
        for (int32_t space = 0; space < 4; space++) {
            if (space > 0 && shrink > 1) continue;
            int32_t height, width;
            at.options.color_space = space;
            uint8_t *whole = decode_whole(file, spaces[space], shrink, &height, &width);
            at.whole = whole;
            if (pfd_read_image_header(&at.file, &at.options, &at.header, &err))
                check(0, about, err.message, __FILE__, __LINE__);
            pfd_shrink_image(&at.header, shrink);
            CHECK(at.header.height == height && at.header.width == width);
            check_regions(&at, shrink > 1 || space > 0 ? step * 3 : step);
            free(whole);
        }
    free(file.data);
}

static const struct {
    const char *name;
    int32_t components, h[3], v[3];
} samplings[] = {
    {"4:4:4", 3, {1, 1, 1}, {1, 1, 1}}, {"4:2:2", 3, {2, 1, 1}, {1, 1, 1}},
    {"4:2:0", 3, {2, 1, 1}, {2, 1, 1}}, {"4:4:0", 3, {1, 1, 1}, {2, 1, 1}},
    {"4:1:1", 3, {4, 1, 1}, {1, 1, 1}}, {"4:1:0", 3, {4, 1, 1}, {2, 1, 1}},
    {"3:1:1", 3, {3, 1, 1}, {1, 1, 1}}, {"2:2:1", 3, {2, 2, 1}, {1, 1, 1}},
    {"tall", 3, {1, 1, 1}, {4, 1, 2}},  {"chroma", 3, {1, 2, 2}, {1, 2, 1}},
    {"mixed", 3, {2, 2, 1}, {2, 1, 2}}, {"gray", 1, {1, 1, 1}, {1, 1, 1}},
    {"gray 2x2", 1, {2, 1, 1}, {2, 1, 1}},
};

static void *check_all(void *step)
{
    static const int32_t sizes[][2] = {{1, 1}, {2, 3}, {17, 31}, {37, 50}, {64, 48}};
    pfd_scratch *scratch = pfd_scratch_create();
    for (size_t s = 0; s < sizeof samplings / sizeof *samplings; s++)
        for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++)
            for (int32_t form = 0; form < FORMS; form++) {
                char about[100];
                sample of = {.height = sizes[n][0], .width = sizes[n][1],
                             .components = samplings[s].components, .form = form};
                memcpy(of.h, samplings[s].h, sizeof of.h);
                memcpy(of.v, samplings[s].v, sizeof of.v);
                (void)snprintf(about, sizeof about, "%s of (%d, %d), form %d", samplings[s].name,
                               of.height, of.width, form);
                check_file(scratch, &of, about, *(int32_t *)step);
            }
    pfd_scratch_free(scratch);
    return NULL;
}

#ifdef __SANITIZE_THREAD__ /* one thread reads all: few regions show as much of it */
enum { usual_step = 20 };
#else
enum { usual_step = 7 };
#endif

/* On a separate thread, whose workspace ends with it.  An argument is the distance between the
 * places where regions begin: 1 is all of them. */
int main(int argc, char **argv)
{
    int32_t step = argc > 1 ? atoi(argv[1]) : usual_step;
    pthread_t thread;
    int failure = pthread_create(&thread, NULL, check_all, &step);
    if (!failure) failure = pthread_join(thread, NULL);
    REQUIRE(!failure); /* the thread counts what passes, and has ended now */
    return report();
}
#else
int main(void)
{
    return report();
}
#endif
