/* images/codecs/encoder_table.h -- what an encoder is and gets, for encode_image.h and
 * the encoders. */
#ifndef PFD_IMAGE_CODECS_ENCODER_TABLE_H
#define PFD_IMAGE_CODECS_ENCODER_TABLE_H
#include "images/pixels/image_rows.h"
#include "images/codecs/workspace.h"

enum { PFD_ENCODE_JPEG, PFD_ENCODE_PNG, PFD_ENCODE_PPM, PFD_ENCODE_BMP };
enum { PFD_SUBSAMPLING_420, PFD_SUBSAMPLING_422, PFD_SUBSAMPLING_440, PFD_SUBSAMPLING_444 };

typedef struct pfd_encode_options {
    int32_t format;      /* PFD_ENCODE_* */
    int32_t quality;     /* JPEG: 1 to 100 */
    int32_t subsampling; /* JPEG: PFD_SUBSAMPLING_* */
    int32_t compression_level; /* PNG: 0 to 9 */
} pfd_encode_options;

/* Where an image is encoded. */
typedef struct pfd_encode_call {
    const pfd_host *host;
    pfd_scratch *scratch;
    int64_t row; /* of the range, for errors */
} pfd_encode_call;

/* Bytes that grow in the arena of a workspace; the old ones stay there. */
typedef struct pfd_growing {
    pfd_workspace *workspace;
    uint8_t *data;
    int64_t size, capacity;
} pfd_growing;

/* Room for `bytes` more after the size; NULL: out of memory. */
uint8_t *pfd_grow(pfd_growing *self, int64_t bytes);

typedef struct pfd_image_encoder {
    const char *name;
    const char *package;   /* of Debian; NULL: none is needed */
    uint32_t channels;     /* that it writes: a sum of 1 << number */
    /* NULL: the library is not in this build. */
    pfd_status (*encode)(const pfd_encode_call *call, const pfd_encode_options *options,
                         const pfd_image *image, pfd_growing *out, pfd_error *err);
} pfd_image_encoder;

extern const pfd_image_encoder pfd_jpeg_encoder, pfd_png_encoder;

pfd_status pfd_fail_encode_memory(const pfd_encode_call *call, pfd_scratch *arena, pfd_error *err);
#endif
