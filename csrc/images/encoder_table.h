/* images/encoder_table.h -- what an encoder is; for the encoders and encode_image.c. */
#ifndef PFD_IMAGES_ENCODER_TABLE_H
#define PFD_IMAGES_ENCODER_TABLE_H
#include "images/encode_image.h"
#include "images/workspace.h"

/* Bytes that grow in the arena of a workspace; the old ones stay there. */
typedef struct pfd_growing {
    pfd_workspace *workspace;
    uint8_t *data;
    int64_t size, capacity;
} pfd_growing;

/* Room for `bytes` more behind the size; NULL: out of memory. */
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
