/* Windows of images. */
#include "images/image_windows.h"

#include "images/image_codec.h"

static pfd_status decode_window(const pfd_compute_args *args, const pfd_decode_options *options,
                                int64_t i, pfd_choose_window choose, const void *rule,
                                pfd_image_part *out, pfd_error *err)
{
    pfd_image_file file = pfd_image_file_at(args, 0, i);
    pfd_image_header header;
    PFD_TRY(pfd_read_image_header(&file, options, &header, err));
    pfd_window window = choose(args, i, rule, header.height, header.width);
    pfd_region region = {window.top, window.left, window.height, window.width};
    pfd_pixels pixels = {0};
    PFD_TRY(pfd_decode_region(&file, options, &header, &region, &pixels, err));
    *out = (pfd_image_part){.data = pixels.data,
                            .height = window.height,
                            .width = window.width,
                            .channels = pfd_color_channels(options->color_space),
                            .stride = pixels.stride};
    return PFD_OK;
}

pfd_status pfd_take_window(const pfd_compute_args *args, const pfd_producer *decoder, int64_t i,
                           pfd_choose_window choose, const void *rule, pfd_image_part *out,
                           pfd_error *err)
{
    if (decoder) {
        pfd_status status = decode_window(args, decoder->attrs, i, choose, rule, out, err);
        return status == PFD_OK ? PFD_OK : pfd_fail_producer(decoder, err);
    }
    pfd_image image;
    PFD_TRY(pfd_image_with_pixels(args, 0, i, &image, err));
    pfd_window window = choose(args, i, rule, image.height, image.width);
    *out = pfd_image_window(&image, &window);
    return PFD_OK;
}
