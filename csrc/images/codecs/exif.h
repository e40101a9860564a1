/* images/codecs/exif.h -- the orientation in EXIF data. */
#ifndef PFD_IMAGE_CODECS_EXIF_H
#define PFD_IMAGE_CODECS_EXIF_H
#include <stdint.h>

/* The tag Orientation, 1 to 8, of a TIFF header and its directory, which "Exif\0\0" may precede.  1
 * where there is none or the data are damaged. */
int32_t pfd_exif_orientation(const uint8_t *data, int64_t size);
#endif
