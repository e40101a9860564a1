/* images/ops/each_image.h -- ops that make, of each image, another image of the same type and
 * size. */
#ifndef PFD_IMAGES_OPS_EACH_IMAGE_H
#define PFD_IMAGES_OPS_EACH_IMAGE_H
#include "images/pixels/colours.h"
#include "images/pixels/image_rows.h"

/* Memory that the images of a range use one after the other: temporary memory of an op. */
typedef struct pfd_room {
    void *data;
    int64_t bytes;
} pfd_room;

/* At least `bytes` of memory, uninitialised, valid until the next call. NULL: out of memory, and
 * *err says so. */
void *pfd_room_for(const pfd_compute_args *args, pfd_room *room, int64_t bytes, pfd_error *err);

/* Makes `out`, which has the size of `in`, an image that is not empty. */
typedef pfd_status (*pfd_image_function)(const pfd_compute_args *args, int64_t row,
                                         const pfd_image *in, uint8_t *out, pfd_room *room,
                                         pfd_error *err);

/* infer() of ops for images of uint8 with 1 or 3 channels, whose outputs are of the same type. */
pfd_status pfd_infer_same_colours(const pfd_infer_args *args, pfd_error *err);

/* compute() of ops that change images: calls the function with this probability, by draw 0 of the
 * row; other images are passed on unchanged. */
pfd_status pfd_each_image(const pfd_compute_args *args, double probability,
                          pfd_image_function function, pfd_error *err);

/* Defines compute() as pfd_each_image(), for an op with a function change() and attrs `type` that
 * have a probability. */
#define PFD_EACH_IMAGE_COMPUTE(type)                                                               \
    static pfd_status compute(const pfd_compute_args *args, pfd_error *err)                        \
    {                                                                                              \
        const type *attrs = args->attrs;                                                           \
        return pfd_each_image(args, attrs->probability, change, err);                              \
    }

/* The row of the attr table, for a struct with a member `probability` of type double. */
#define PFD_PROBABILITY_ATTR(owner)                                                                \
    PFD_FLOAT_ATTR(owner, probability, "1", 0, 1,                                                  \
                   "The probability that an image is changed, drawn for each record; other "       \
                   "images are passed on as they are.")

/* The attrs of an op that has no others. */
typedef struct pfd_probability_attrs {
    double probability;
} pfd_probability_attrs;

extern const pfd_attr pfd_probability_table[1];

/* ---- Ops that change colours ----------------------------------------------------------------- */

/* Defines compute() of an op with the attrs `type`, which have a probability.  `call` makes the
 * numbers `out` from the image `in` with `attrs`. */
#define PFD_COLOUR_COMPUTE(type, call)                                                             \
    static pfd_status change(const pfd_compute_args *args, int64_t row, const pfd_image *in,       \
                             uint8_t *out, pfd_room *room, pfd_error *err)                         \
    {                                                                                              \
        const type *attrs = args->attrs;                                                           \
        (void)attrs, (void)row, (void)room, (void)err;                                             \
        call;                                                                                      \
        return PFD_OK;                                                                             \
    }                                                                                              \
                                                                                                   \
    PFD_EACH_IMAGE_COMPUTE(type)

/* The members that the descriptors of such ops share. */
#define PFD_COLOUR_OP                                                                              \
    PFD_OP_SIZES, .flags = PFD_TAKES_RAGGED, PFD_OP_INPUTS(pfd_colour_images),                     \
                  PFD_OP_OUTPUTS(pfd_same_images), .infer = pfd_infer_same_colours,                \
                  .compute = compute
#endif
