/* images/codecs/encode_image.h -- images to the bytes of a file.
 *
 * The same image and options give the same bytes with the same libraries.
 * MEMORY   The bytes are in the scratch; all else is in the thread's workspace.
 */
#ifndef PFD_IMAGE_CODECS_ENCODE_IMAGE_H
#define PFD_IMAGE_CODECS_ENCODE_IMAGE_H
#include "images/codecs/encoder_table.h"

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
