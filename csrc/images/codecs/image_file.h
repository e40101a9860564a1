/* images/codecs/image_file.h -- an image file in memory, and the options of decoding and encoding;
 * image_codec.h has the functions. */
#ifndef PFD_IMAGES_CODECS_IMAGE_FILE_H
#define PFD_IMAGES_CODECS_IMAGE_FILE_H
#include "pyflowdata/op.h"

enum { PFD_COLOR_RGB, PFD_COLOR_BGR, PFD_COLOR_GRAY, PFD_COLOR_RGBA };
enum { PFD_INCOMPLETE_ERROR, PFD_INCOMPLETE_FILL };

typedef struct pfd_image_codec pfd_image_codec;

/* The bytes of one file; borrowed. */
typedef struct pfd_image_file {
    const pfd_host *host;
    pfd_scratch *scratch;
    const uint8_t *data;
    int64_t size;
    int64_t row;   /* number in the range, for errors */
    int64_t place; /* place of `data` in the row's record, for errors; -1: outside it */
} pfd_image_file;

/* The options of decoding; image_codec.h has the attrs for them. */
typedef struct pfd_decode_options {
    int32_t color_space;       /* PFD_COLOR_* */
    int32_t apply_orientation; /* 1: upright, as the EXIF orientation says */
    int32_t incomplete;        /* PFD_INCOMPLETE_* */
    int32_t reserved;          /* 0 */
    int64_t max_pixels;        /* the most pixels of a stored image */
} pfd_decode_options;

typedef struct pfd_image_header {
    const pfd_image_codec *codec;
    int64_t height, width;               /* as delivered */
    int64_t stored_height, stored_width; /* as the file has them */
    int32_t channels;    /* stored channels, alpha counted: 1 to 4; a palette has 3 */
    int32_t bits;        /* bits of a stored sample */
    int32_t orientation; /* the orientation that is applied, 1 to 8 as in EXIF; 1: none */
    int32_t shrink;      /* 1, 2, 4 or 8 */
} pfd_image_header;

typedef struct pfd_region {
    int64_t top, left, height, width; /* in the delivered image; not empty */
} pfd_region;

/* Pixels of 8 bits a channel.  What is between the rows is unspecified. */
typedef struct pfd_pixels {
    uint8_t *data;
    int64_t stride; /* bytes from row to row */
} pfd_pixels;

/* 1 for PFD_COLOR_GRAY, 4 for PFD_COLOR_RGBA, else 3. */
static inline int32_t pfd_color_channels(int32_t color_space)
{
    return color_space == PFD_COLOR_GRAY ? 1 : color_space == PFD_COLOR_RGBA ? 4 : 3;
}

/* Converts a byte of the image to a place in its record, for host->fail_row(). */
static inline int64_t pfd_image_byte(const pfd_image_file *file, int64_t byte)
{
    return file->place < 0 ? -1 : file->place + byte;
}

/* ---- Encoding -------------------------------------------------------------------------------- */

enum { PFD_ENCODE_JPEG, PFD_ENCODE_PNG, PFD_ENCODE_PPM, PFD_ENCODE_BMP };
enum { PFD_SUBSAMPLING_420, PFD_SUBSAMPLING_422, PFD_SUBSAMPLING_440, PFD_SUBSAMPLING_444 };

typedef struct pfd_encode_options {
    int32_t format;      /* PFD_ENCODE_* */
    int32_t quality;     /* JPEG: 1 to 100 */
    int32_t subsampling; /* JPEG: PFD_SUBSAMPLING_* */
    int32_t compression_level; /* PNG: 0 to 9 */
} pfd_encode_options;

/* The call of an op that encodes an image. */
typedef struct pfd_encode_call {
    const pfd_host *host;
    pfd_scratch *scratch;
    int64_t row; /* number in the range, for errors */
} pfd_encode_call;
#endif
