/* images/codecs/jpeg_markers.h -- the header of a JPEG file, up to its frame. */
#ifndef PFD_IMAGE_CODECS_JPEG_MARKERS_H
#define PFD_IMAGE_CODECS_JPEG_MARKERS_H
#include "images/codecs/image_file.h"

int32_t pfd_is_jpeg(const uint8_t *data, int64_t size);

/* As pfd_image_codec.read_header(). */
pfd_status pfd_jpeg_read_header(const pfd_image_file *file, const pfd_decode_options *options,
                                pfd_image_header *out, pfd_error *err);
#endif
