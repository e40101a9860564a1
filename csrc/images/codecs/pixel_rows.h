/* images/codecs/pixel_rows.h -- a row of pixels from the channels of a file to those asked for. */
#ifndef PFD_IMAGE_CODECS_PIXEL_ROWS_H
#define PFD_IMAGE_CODECS_PIXEL_ROWS_H
#include <stdint.h>

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
#endif
