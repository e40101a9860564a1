/* images/codecs/codec_table.h -- the structs of a codec and of an encoder, and what these share:
 * conversion of pixels, EXIF, and the memory that a thread keeps. The codecs and image_codec.c
 * include this header. */
#ifndef PFD_IMAGES_CODECS_CODEC_TABLE_H
#define PFD_IMAGES_CODECS_CODEC_TABLE_H
#include "images/codecs/image_file.h"
#include "images/pixels/image_rows.h"

struct pfd_image_codec {
    const char *name;
    const char *package; /* Debian's package of the library; NULL: none is needed */
    int32_t max_shrink;  /* 8 or 1 */
    int64_t most_pixels_per_byte; /* bound for a whole file; 0: no bound */
    int32_t (*matches)(const uint8_t *data, int64_t size);
    /* Sets stored_height, stored_width, channels and bits. Sets orientation too if the file has one
     * and `options` ask for it. */
    pfd_status (*read_header)(const pfd_image_file *file, const pfd_decode_options *options,
                              pfd_image_header *out, pfd_error *err);
    /* As pfd_decode_region(), but the region is one of the stored image after shrinking. NULL: the
     * library is not in this build. */
    pfd_status (*decode)(const pfd_image_file *file, const pfd_decode_options *options,
                         const pfd_image_header *header, const pfd_region *region, pfd_pixels *out,
                         pfd_error *err);
};

extern const pfd_image_codec pfd_jpeg_codec, pfd_png_codec, pfd_webp_codec, pfd_bmp_codec,
    pfd_pnm_codec;

/* If out->data is NULL, takes memory in the scratch for `height` rows of `row_bytes` bytes. */
pfd_status pfd_make_pixels(const pfd_image_file *file, int64_t height, int64_t row_bytes,
                           pfd_pixels *out, pfd_error *err);

/* Fails with PFD_CORRUPT_DATA and "PNG: what" at that byte of the record, or, where the image is
 * not part of its record, "PNG: what (byte 7 of 99)"; `format` is the codec's name. */
pfd_status pfd_fail_image(const pfd_image_file *file, const char *format, int64_t byte,
                          const char *what, pfd_error *err);

/* Fails with PFD_CORRUPT_DATA, so that on_error may leave the image out: it alone needs more than
 * memory_budget, so a smaller batch would not help. */
pfd_status pfd_fail_image_memory(const pfd_image_file *file, const char *format, int64_t bytes,
                                 pfd_error *err);

/* `arena` is the arena that had no room, or NULL. Calls pfd_fail_image_memory() if the bounds of
 * the arena refused the memory, because this image alone is in it; else fails with
 * PFD_OUT_OF_MEMORY. */
pfd_status pfd_fail_decode_memory(const pfd_image_file *file, const char *format,
                                  pfd_scratch *arena, pfd_error *err);

/* ---- Channels of pixels ---------------------------------------------------------------------- */

enum {
    PFD_LAYOUT_GRAY,
    PFD_LAYOUT_GRAY_ALPHA,
    PFD_LAYOUT_RGB,
    PFD_LAYOUT_RGBA,
    PFD_LAYOUT_INVERTED_CMYK, /* 255 means no ink, as in JPEG files by Adobe's programs */
};

int32_t pfd_layout_channels(int32_t layout);

/* Converts n pixels to PFD_COLOR_*.  Gray is (19595 R + 38470 G + 7471 B + 32768) >> 16, the
 * weights of ITU-R 601 as Pillow and libjpeg round them; CMYK goes to RGB as in Pillow.  An alpha
 * channel that is not asked for is dropped; an alpha channel that the file lacks is 255. */
void pfd_convert_pixels(const uint8_t *in, int32_t layout, uint8_t *out, int32_t color_space,
                        int64_t n);

/* ---- EXIF ------------------------------------------------------------------------------------ */

/* Returns the tag Orientation, 1 to 8, of a TIFF header and its directory; "Exif\0\0" may precede
 * these. Returns 1 if there is no tag, or the data are damaged. */
int32_t pfd_exif_orientation(const uint8_t *data, int64_t size);

/* ---- What a thread keeps from image to image ------------------------------------------------- */

enum { PFD_KEEP_JPEG_READER, PFD_KEEP_JPEG_WRITER, PFD_KEEP_COUNT };

/* An arena for a library's own memory, and the objects of libjpeg: to make these costs more than to
 * decode a small image. A workspace ends with its thread. */
typedef struct pfd_workspace {
    pfd_scratch *arena; /* emptied by the next pfd_workspace_begin() */
    struct {
        void *object;
        void (*free)(void *object);
    } kept[PFD_KEEP_COUNT]; /* objects, each freed by the codec that made it */
} pfd_workspace;

/* Returns the workspace of this thread; its arena is empty, and has the bounds of `scratch`. NULL:
 * out of memory. No other codec of this thread begins before pfd_workspace_end(). */
pfd_workspace *pfd_workspace_begin(const pfd_scratch *scratch);
void pfd_workspace_end(pfd_workspace *self);

/* ---- Encoders -------------------------------------------------------------------------------- */

/* Bytes that grow in the arena of a workspace; old copies stay in the arena. */
typedef struct pfd_growing {
    pfd_workspace *workspace;
    uint8_t *data;
    int64_t size, capacity;
} pfd_growing;

/* Makes room for `bytes` more after the size; NULL: out of memory. */
uint8_t *pfd_grow(pfd_growing *self, int64_t bytes);

enum {
    PFD_ENCODES_GRAY = 1u << 1,
    PFD_ENCODES_GRAY_ALPHA = 1u << 2,
    PFD_ENCODES_RGB = 1u << 3,
    PFD_ENCODES_RGBA = 1u << 4
};

typedef struct pfd_image_encoder {
    const char *name;
    const char *package;   /* Debian's package of the library; NULL: none is needed */
    uint32_t channels;     /* channels that it writes: a sum of PFD_ENCODES_* */
    /* NULL: the library is not in this build. */
    pfd_status (*encode)(const pfd_encode_call *call, const pfd_encode_options *options,
                         const pfd_image *image, pfd_growing *out, pfd_error *err);
} pfd_image_encoder;

extern const pfd_image_encoder pfd_jpeg_encoder, pfd_png_encoder, pfd_ppm_encoder, pfd_bmp_encoder;

pfd_status pfd_fail_encode_memory(const pfd_encode_call *call, pfd_scratch *arena, pfd_error *err);
#endif
