/* images/codecs/image_codec.h -- images in the bytes of a file: their format, size and pixels.
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
 * MEMORY   Pixels and what they need are in the call's scratch.  A decoder's inner memory belongs
 *          to the thread, is reused for the next image, and counts against the same bounds.
 *          libwebp allocates its own.
 */
#ifndef PFD_IMAGE_CODECS_IMAGE_CODEC_H
#define PFD_IMAGE_CODECS_IMAGE_CODEC_H
#include "images/codecs/image_file.h"

/* Row i of an op's input whose rows are bytes. */
pfd_image_file pfd_image_file_at(const pfd_compute_args *args, int32_t input, int64_t i);

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
