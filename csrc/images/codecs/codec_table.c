/* What codecs share: channels of pixels, the orientation in EXIF data, a workspace per thread. */
#include "images/codecs/codec_table.h"

#include "core/bytes.h"
#include "core/cpu.h"
#include "core/scratch.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

pfd_status pfd_make_pixels(const pfd_image_file *file, int64_t height, int64_t row_bytes,
                           pfd_pixels *out, pfd_error *err)
{
    if (out->data) return PFD_OK;
    out->stride = row_bytes;
    out->data = file->host->alloc(file->scratch, height * row_bytes);
    if (out->data) return PFD_OK;
    return file->host->fail_row(err, file->row, -1, PFD_OUT_OF_MEMORY,
                                "no memory for an image of %" PRId64 " bytes", height * row_bytes);
}

pfd_status pfd_fail_image(const pfd_image_file *file, const char *format, int64_t byte,
                          const char *what, pfd_error *err)
{
    if (file->place >= 0) /* the error field has the byte */
        return file->host->fail_row(err, file->row, pfd_image_byte(file, byte), PFD_CORRUPT_DATA,
                                    "%s: %s", format, what);
    return file->host->fail_row(err, file->row, -1, PFD_CORRUPT_DATA,
                                "%s: %s (byte %" PRId64 " of %" PRId64 ")", format, what, byte,
                                file->size);
}

pfd_status pfd_fail_image_memory(const pfd_image_file *file, const char *format, int64_t bytes,
                                 pfd_error *err)
{
    return file->host->fail_row(err, file->row, pfd_image_byte(file, 0), PFD_CORRUPT_DATA,
                                "%s: the image needs %" PRId64 " bytes of memory at once, and "
                                "memory_budget allows %" PRId64 "; raise memory_budget to decode "
                                "it, or set max_pixels to leave out such images", format, bytes,
                                pfd_scratch_most_bytes(file->scratch));
}

pfd_status pfd_fail_decode_memory(const pfd_image_file *file, const char *format,
                                  pfd_scratch *arena, pfd_error *err)
{
    int64_t refused = arena ? pfd_scratch_refused(arena) : 0; /* refused to this image */
    if (refused) return pfd_fail_image_memory(file, format, refused, err);
    return file->host->fail_row(err, file->row, -1, PFD_OUT_OF_MEMORY,
                                "no memory to decode a %s image", format);
}

/* ---- Channels of pixels: inlining makes a loop for each layout and colour space -------------- */

int32_t pfd_layout_channels(int32_t layout)
{
    static const int32_t channels[] = {1, 2, 3, 4, 4};
    return channels[layout];
}

static inline uint8_t product(int32_t a, int32_t b) /* a * b / 255, rounded */
{
    int32_t scaled = a * b + 128;
    return (uint8_t)((scaled + (scaled >> 8)) >> 8);
}

PFD_INLINE void convert(const uint8_t *in, int32_t layout, uint8_t *out, int32_t color_space,
                        int64_t n)
{
    static const int32_t in_channels[] = {1, 2, 3, 4, 4};
    int32_t in_step = in_channels[layout];
    int32_t out_step = color_space == PFD_COLOR_GRAY ? 1 : color_space == PFD_COLOR_RGBA ? 4 : 3;
    for (int64_t i = 0; i < n; i++, in += in_step, out += out_step) {
        uint8_t red = in[0], green = red, blue = red, alpha = 255;
        if (layout == PFD_LAYOUT_GRAY_ALPHA) alpha = in[1];
        if (layout == PFD_LAYOUT_RGBA) alpha = in[3];
        if (layout >= PFD_LAYOUT_RGB) green = in[1];
        if (layout >= PFD_LAYOUT_RGB) blue = in[2];
        if (layout == PFD_LAYOUT_INVERTED_CMYK) {
            red = (uint8_t)(in[3] - product(255 - red, in[3]));
            green = (uint8_t)(in[3] - product(255 - green, in[3]));
            blue = (uint8_t)(in[3] - product(255 - blue, in[3]));
        }
        if (color_space == PFD_COLOR_GRAY) {
            out[0] = layout <= PFD_LAYOUT_GRAY_ALPHA
                         ? red
                         : (uint8_t)((19595u * red + 38470u * green + 7471u * blue + 32768u) >> 16);
            continue;
        }
        out[0] = color_space == PFD_COLOR_BGR ? blue : red;
        out[1] = green;
        out[2] = color_space == PFD_COLOR_BGR ? red : blue;
        if (color_space == PFD_COLOR_RGBA) out[3] = alpha;
    }
}

PFD_INLINE void convert_to(const uint8_t *in, int32_t layout, uint8_t *out, int32_t color_space,
                           int64_t n)
{
    switch (layout) {
    case PFD_LAYOUT_GRAY: convert(in, PFD_LAYOUT_GRAY, out, color_space, n); break;
    case PFD_LAYOUT_GRAY_ALPHA: convert(in, PFD_LAYOUT_GRAY_ALPHA, out, color_space, n); break;
    case PFD_LAYOUT_RGB: convert(in, PFD_LAYOUT_RGB, out, color_space, n); break;
    case PFD_LAYOUT_RGBA: convert(in, PFD_LAYOUT_RGBA, out, color_space, n); break;
    default: convert(in, PFD_LAYOUT_INVERTED_CMYK, out, color_space, n); break;
    }
}

void pfd_convert_pixels(const uint8_t *in, int32_t layout, uint8_t *out, int32_t color_space,
                        int64_t n)
{
    switch (color_space) {
    case PFD_COLOR_RGB: convert_to(in, layout, out, PFD_COLOR_RGB, n); break;
    case PFD_COLOR_BGR: convert_to(in, layout, out, PFD_COLOR_BGR, n); break;
    case PFD_COLOR_GRAY: convert_to(in, layout, out, PFD_COLOR_GRAY, n); break;
    default: convert_to(in, layout, out, PFD_COLOR_RGBA, n); break;
    }
}

/* ---- EXIF: one entry of the first directory of a TIFF header --------------------------------- */

typedef struct tiff {
    const uint8_t *data;
    int64_t size;
    int32_t is_big_endian;
} tiff;

/* A number of 2 or 4 bytes; 0 past the end. */
static uint32_t number_at(const tiff *file, int64_t at, int32_t bytes)
{
    if (at + bytes > file->size) return 0;
    const uint8_t *from = file->data + at;
    if (file->is_big_endian) return (uint32_t)pfd_load_be(from, bytes);
    return bytes == 2 ? pfd_load_le16(from) : pfd_load_le32(from);
}

int32_t pfd_exif_orientation(const uint8_t *data, int64_t size)
{
    enum { ORIENTATION = 0x112, SHORT = 3, ENTRY_BYTES = 12 };
    if (size >= 6 && !memcmp(data, "Exif\0\0", 6)) {
        data += 6;
        size -= 6;
    }
    if (size < 8 || (memcmp(data, "II*\0", 4) != 0 && memcmp(data, "MM\0*", 4) != 0)) return 1;
    tiff file = {data, size, data[0] == 'M'};
    int64_t directory = number_at(&file, 4, 4);
    int64_t entries = number_at(&file, directory, 2);
    for (int64_t i = 0; i < entries; i++) {
        int64_t at = directory + 2 + i * ENTRY_BYTES;
        if (at + ENTRY_BYTES > size) return 1;
        if (number_at(&file, at, 2) != ORIENTATION) continue;
        uint32_t value = number_at(&file, at + 2, 2) == SHORT ? number_at(&file, at + 8, 2) : 0;
        return value >= 1 && value <= 8 ? (int32_t)value : 1;
    }
    return 1;
}

/* ---- One workspace per thread, freed when the thread ends ------------------------------------ */

/* A thread keeps no more than this between two images: enough for baseline JPEG files of any size,
 * and for progressive JPEG files of some megapixels. */
static const int64_t MOST_KEPT = INT64_C(16) << 20;

static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int32_t has_key;

static void free_workspace(void *object)
{
    pfd_workspace *self = object;
    for (int32_t i = 0; i < PFD_KEEP_COUNT; i++)
        if (self->kept[i].object) self->kept[i].free(self->kept[i].object);
    pfd_scratch_free(self->arena);
    free(self);
}

static void make_key(void)
{
    has_key = pthread_key_create(&key, free_workspace) == 0;
}

static pfd_workspace *of_this_thread(void)
{
    (void)pthread_once(&once, make_key);
    pfd_workspace *self = has_key ? pthread_getspecific(key) : NULL;
    if (self || !has_key) return self;
    self = calloc(1, sizeof *self);
    if (!self || pthread_setspecific(key, self) == 0) return self;
    free(self);
    return NULL;
}

pfd_workspace *pfd_workspace_begin(const pfd_scratch *scratch)
{
    pfd_workspace *self = of_this_thread();
    if (!self) return NULL;
    if (!self->arena) self->arena = pfd_scratch_create();
    if (!self->arena) return NULL;
    pfd_scratch_inherit(self->arena, scratch);
    return self;
}

void pfd_workspace_end(pfd_workspace *self)
{
    pfd_scratch_set_bounds(self->arena, NULL);
    if (pfd_scratch_bytes(self->arena) <= MOST_KEPT) {
        pfd_scratch_reset(self->arena);
        return;
    }
    pfd_scratch_free(self->arena);
    self->arena = NULL;
}

/* ---- The bytes of a file while an encoder writes it ------------------------------------------ */

uint8_t *pfd_grow(pfd_growing *self, int64_t bytes)
{
    if (bytes > self->capacity - self->size) {
        int64_t capacity = self->size + bytes > 2 * self->capacity ? self->size + bytes
                                                                   : 2 * self->capacity;
        uint8_t *data = pfd_scratch_alloc(self->workspace->arena, capacity);
        if (!data) return NULL;
        if (self->size) memcpy(data, self->data, (size_t)self->size);
        self->data = data;
        self->capacity = capacity;
    }
    return self->data + self->size;
}

pfd_status pfd_fail_encode_memory(const pfd_encode_call *call, pfd_scratch *arena, pfd_error *err)
{
    pfd_status status = call->host->fail_row(err, call->row, -1, PFD_OUT_OF_MEMORY,
                                             "no memory to encode an image");
    return arena ? pfd_scratch_explain(arena, status, err) : status;
}
