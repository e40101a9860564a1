/* images/encode_image.h -- images to the bytes of a file.
 *
 * The same image and options give the same bytes with the same libraries.
 * MEMORY   The bytes are in the scratch; all else is in the thread's workspace.
 */
#ifndef PFD_IMAGES_ENCODE_IMAGE_H
#define PFD_IMAGES_ENCODE_IMAGE_H
#include "images/image_rows.h"

enum { PFD_ENCODE_JPEG, PFD_ENCODE_PNG, PFD_ENCODE_PPM, PFD_ENCODE_BMP };
enum { PFD_SUBSAMPLING_420, PFD_SUBSAMPLING_422, PFD_SUBSAMPLING_440, PFD_SUBSAMPLING_444 };

typedef struct pfd_encode_options {
    int32_t format;      /* PFD_ENCODE_* */
    int32_t quality;     /* JPEG: 1 to 100 */
    int32_t subsampling; /* JPEG: PFD_SUBSAMPLING_* */
    int32_t compression; /* PNG: 0 to 9 */
} pfd_encode_options;

/* Where an image is encoded. */
typedef struct pfd_encode_call {
    const pfd_host *host;
    pfd_scratch *scratch;
    int64_t row; /* of the range, for errors */
} pfd_encode_call;

typedef struct pfd_encoded {
    const uint8_t *data;
    int64_t size;
} pfd_encoded;

/* Fails where no image with so many channels can be written in the format, or the library for it is
 * not in this build. */
pfd_status pfd_expect_encoder(const pfd_host *host, const pfd_encode_options *options,
                              int64_t channels, pfd_error *err);

/* Encodes an image of uint8, RGB where it has colours, with a number of channels that
 * pfd_expect_encoder() accepts. */
pfd_status pfd_encode_image(const pfd_encode_call *call, const pfd_encode_options *options,
                            const pfd_image *image, pfd_encoded *out, pfd_error *err);
#endif
