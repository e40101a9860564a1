/* images/codecs/codec_table.h -- what a codec and an encoder are, and what they share: conversion
 * of pixels, EXIF, and the memory that a thread keeps.  For the codecs and image_codec.c. */
#ifndef PFD_IMAGES_CODECS_CODEC_TABLE_H
#define PFD_IMAGES_CODECS_CODEC_TABLE_H
#include "images/codecs/image_file.h"
#include "images/pixels/image_rows.h"

struct pfd_image_codec {
    const char *name;
    const char *package; /* Debian's package of the library; NULL: none is needed */
    int32_t max_shrink;  /* 8 or 1 */
    int64_t most_pixels_per_byte; /* the most in a whole file; 0: any number */
    int32_t (*matches)(const uint8_t *data, int64_t size);
    /* Sets stored_height, stored_width, channels and bits; and orientation where the file has one,
     * if `options` ask for it. */
    pfd_status (*read_header)(const pfd_image_file *file, const pfd_decode_options *options,
                              pfd_image_header *out, pfd_error *err);
    /* As pfd_decode_region(), the region in the stored image after shrinking.  NULL: the library is
     * not in this build. */
    pfd_status (*decode)(const pfd_image_file *file, const pfd_decode_options *options,
                         const pfd_image_header *header, const pfd_region *region, pfd_pixels *out,
                         pfd_error *err);
};

extern const pfd_image_codec pfd_jpeg_codec, pfd_png_codec, pfd_webp_codec, pfd_bmp_codec,
    pfd_pnm_codec;

/* Where out->data is NULL, memory in the scratch for `height` rows of `row_bytes` bytes. */
pfd_status pfd_make_pixels(const pfd_image_file *file, int64_t height, int64_t row_bytes,
                           pfd_pixels *out, pfd_error *err);

/* "PNG: what", PFD_CORRUPT_DATA, at that byte of the record, or "PNG: what (byte 7 of 99)" where
 * the image is not part of its record; `format` is the name of the codec. */
pfd_status pfd_fail_image(const pfd_image_file *file, const char *format, int64_t byte,
                          const char *what, pfd_error *err);

/* PFD_CORRUPT_DATA: the image alone needs more than memory_budget, so that on_error may leave it
 * out; a smaller batch would not help. */
pfd_status pfd_fail_image_memory(const pfd_image_file *file, const char *format, int64_t bytes,
                                 pfd_error *err);

/* `arena` is the one that had no room, or NULL.  pfd_fail_image_memory() where that is for the
 * bounds of the arena, which has this image alone; else PFD_OUT_OF_MEMORY. */
pfd_status pfd_fail_decode_memory(const pfd_image_file *file, const char *format,
                                  pfd_scratch *arena, pfd_error *err);

/* ---- Channels of pixels ---------------------------------------------------------------------- */

enum {
    PFD_LAYOUT_GRAY,
    PFD_LAYOUT_GRAY_ALPHA,
    PFD_LAYOUT_RGB,
    PFD_LAYOUT_RGBA,
    PFD_LAYOUT_INVERTED_CMYK, /* 255 is no ink, as in the JPEG files of Adobe's programs */
};

int32_t pfd_layout_channels(int32_t layout);

/* n pixels to PFD_COLOR_*.  Gray is (19595 R + 38470 G + 7471 B + 32768) >> 16, the weights of
 * ITU-R 601 as Pillow and libjpeg round them; CMYK goes to RGB as in Pillow.  An alpha channel that
 * is not asked for is dropped, one that the file has not is 255. */
void pfd_convert_pixels(const uint8_t *in, int32_t layout, uint8_t *out, int32_t color_space,
                        int64_t n);

/* ---- EXIF ------------------------------------------------------------------------------------ */

/* The tag Orientation, 1 to 8, of a TIFF header and its directory, which "Exif\0\0" may precede.  1
 * where there is none or the data are damaged. */
int32_t pfd_exif_orientation(const uint8_t *data, int64_t size);

/* ---- What a thread keeps from image to image ------------------------------------------------- */

enum { PFD_KEEP_JPEG_READER, PFD_KEEP_JPEG_WRITER, PFD_KEEP_COUNT };

/* An arena for the inner memory of a library, and the objects of libjpeg, which cost more to make
 * than a small image costs to decode. A workspace ends with its thread. */
typedef struct pfd_workspace {
    pfd_scratch *arena; /* emptied by the next pfd_workspace_begin() */
    struct {
        void *object;
        void (*free)(void *object);
    } kept[PFD_KEEP_COUNT]; /* objects, each freed by the codec that made it */
} pfd_workspace;

/* The workspace of this thread, its arena empty and with the bounds of `scratch`.  NULL: out of
 * memory.  Until the end, no other codec of this thread begins. */
pfd_workspace *pfd_workspace_begin(const pfd_scratch *scratch);
void pfd_workspace_end(pfd_workspace *self);

/* ---- Encoders -------------------------------------------------------------------------------- */

/* Bytes that grow in the arena of a workspace; the old ones stay there. */
typedef struct pfd_growing {
    pfd_workspace *workspace;
    uint8_t *data;
    int64_t size, capacity;
} pfd_growing;

/* Room for `bytes` more after the size; NULL: out of memory. */
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
