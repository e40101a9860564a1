/* images/codecs/codec_table.h -- what a codec is; for the codecs and image_codec.c. */
#ifndef PFD_IMAGE_CODECS_CODEC_TABLE_H
#define PFD_IMAGE_CODECS_CODEC_TABLE_H
#include "images/codecs/image_file.h"

struct pfd_image_codec {
    const char *name;
    const char *package; /* of Debian, with the library; NULL: none is needed */
    int32_t max_shrink;  /* 8 or 1 */
    int64_t most_pixels_per_byte; /* in any file that is whole; 0: any number */
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
#endif
