/* images/image_codec.h -- images in the bytes of a file: what they are, their size and pixels.
 *
 *   pfd_image_file file = pfd_image_file_at(args, i);
 *   pfd_image_header header;
 *   pfd_pixels pixels = {0};
 *   PFD_TRY(pfd_read_image_header(&file, options, &header, err));
 *   PFD_TRY(pfd_decode_region(&file, options, &header, &region, &pixels, err));
 *
 * The codec is found by the first bytes.  Sizes are (height, width) as the pixels are delivered:
 * upright where the options ask for it, and shrunk.  A region decodes to the same pixels, bit for
 * bit, as the whole image does.  Of a JPEG file, of a PNG file without interlacing, and of BMP and
 * PNM files, only what the region needs is decoded: damage after its last row is not looked at.
 *
 * ERRORS   Of the bytes: host->fail_row(PFD_CORRUPT_DATA), so that on_error may leave out the row;
 *          this includes files that are whole, and of a kind that is not decoded.  PFD_UNSUPPORTED:
 *          the library that decodes the format is not in this build.
 * MEMORY   Pixels and what they need are in the call's scratch.  A decoder's inner memory belongs to
 *          the thread, is reused for the next image, and counts against the same bounds.  WebP's
 *          library allocates its own.
 */
#ifndef PFD_IMAGES_IMAGE_CODEC_H
#define PFD_IMAGES_IMAGE_CODEC_H
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
    int64_t row;   /* of the range, for errors */
    int64_t place; /* of data in the row's record, for errors; -1: not in it */
} pfd_image_file;

/* What a user asks for; the attrs are in decode_attrs.h. */
typedef struct pfd_decode_options {
    int32_t color_space;       /* PFD_COLOR_* */
    int32_t apply_orientation; /* 1: upright, as the EXIF orientation says */
    int32_t incomplete;        /* PFD_INCOMPLETE_* */
    int32_t reserved;          /* 0 */
    int64_t max_pixels;        /* of the stored image */
} pfd_decode_options;

typedef struct pfd_image_header {
    const pfd_image_codec *codec;
    int64_t height, width;               /* as delivered */
    int64_t stored_height, stored_width; /* as the file has them */
    int32_t channels;    /* that are stored, alpha counted: 1 to 4; a palette counts as its colours */
    int32_t bits;        /* of a stored sample */
    int32_t orientation; /* that is applied: 1 to 8, as EXIF counts; 1: none */
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

/* Row i of an op's input whose rows are bytes. */
pfd_image_file pfd_image_file_at(const pfd_compute_args *args, int32_t input, int64_t i);

/* 1 for PFD_COLOR_GRAY, 4 for PFD_COLOR_RGBA, else 3. */
int32_t pfd_color_channels(int32_t color_space);

/* "JPEG". */
const char *pfd_image_codec_name(const pfd_image_codec *codec);

/* Reads the file's header, and no pixels. */
pfd_status pfd_read_image_header(const pfd_image_file *file, const pfd_decode_options *options,
                                 pfd_image_header *out, pfd_error *err);

/* Asks for the image at 1/shrink of its size (1, 2, 4, 8), which is rounded up, and sets height and
 * width.  JPEG decodes so at less cost, each pixel about the mean of a block of shrink * shrink.
 * Other codecs keep the size: header->shrink is then 1. */
void pfd_shrink_image(pfd_image_header *header, int32_t shrink);

/* Decodes a region of the image with this header.  Where out->data is NULL, data and stride are set
 * to memory in the scratch; else the pixels are written there.  After a failure they are
 * unspecified. */
pfd_status pfd_decode_region(const pfd_image_file *file, const pfd_decode_options *options,
                             const pfd_image_header *header, const pfd_region *region,
                             pfd_pixels *out, pfd_error *err);
#endif
