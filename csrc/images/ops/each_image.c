/* Runs an op that makes an image of each image, one image after the other. */
#include "images/ops/each_image.h"

#include "images/pixels/random_draws.h"
#include "parse/row_type.h"

#include <inttypes.h>

void *pfd_room_for(const pfd_compute_args *args, pfd_room *room, int64_t bytes, pfd_error *err)
{
    if (room->data && bytes <= room->bytes) return room->data;
    room->bytes = bytes + bytes / 2; /* images of a range are often of similar sizes */
    room->data = args->host->alloc(args->scratch, room->bytes);
    if (!room->data)
        (void)args->host->fail(err, PFD_OUT_OF_MEMORY,
                               "no memory to work on an image: %" PRId64 " bytes", room->bytes);
    return room->data;
}

pfd_status pfd_infer_same_colours(const pfd_infer_args *args, pfd_error *err)
{
    PFD_TRY(pfd_expect_images(args, 0, "in", 1u << PFD_UINT8, err));
    int64_t channels = pfd_image_channels(&args->inputs[0]);
    if (channels != 1 && channels != 3)
        return pfd_refuse_rows(args, 0, "in", "they must have 1 or 3 channels, grey or RGB", err);
    args->outputs[0] = args->inputs[0];
    return PFD_OK;
}

pfd_status pfd_each_image(const pfd_compute_args *args, double probability,
                          pfd_image_function function, pfd_error *err)
{
    pfd_room room = {0};
    for (int64_t i = 0; i < args->num_rows; i++) {
        pfd_image in = pfd_image_at(args->inputs[0], i);
        if (in.height == 0 || in.width == 0 || !pfd_bernoulli(args, i, 0, probability)) {
            PFD_TRY(pfd_image_pass(args, 0, 0, i, err));
            continue;
        }
        uint8_t *out = pfd_image_to_write(args, 0, i, in.height, in.width, err);
        if (!out) return err->status;
        PFD_TRY(function(args, i, &in, out, &room, err));
    }
    return PFD_OK;
}

const pfd_attr pfd_probability_table[1] = {PFD_PROBABILITY_ATTR(pfd_probability_attrs)};
