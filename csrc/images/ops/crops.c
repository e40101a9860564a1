/* Padding as users write it; windows of images and of files. */
#include "images/ops/crops.h"

#include <inttypes.h>

pfd_status pfd_take_padding(const pfd_host *host, const char *attr, pfd_list_int64 list,
                            pfd_padding *out, pfd_error *err)
{
    const int64_t *n = list.data;
    *out = (pfd_padding){0};
    if (list.size == 1) *out = (pfd_padding){n[0], n[0], n[0], n[0]};
    if (list.size == 2) *out = (pfd_padding){n[0], n[1], n[0], n[1]};
    if (list.size == 4) *out = (pfd_padding){n[0], n[1], n[2], n[3]};
    if (list.size <= 2 || list.size == 4) return PFD_OK;
    return host->fail_attr(err, attr, NULL, PFD_INVALID_ARGUMENT,
                           " has %" PRId64 " numbers; it must have one, two for (top and bottom, "
                           "left and right), or four for (top, left, bottom, right)", list.size);
}

/* ---- Windows --------------------------------------------------------------------------------- */

static const pfd_decode_options *options_of(const pfd_input_image *image)
{
    return image->decoder->attrs;
}

pfd_status pfd_open_image(const pfd_compute_args *args, const pfd_producer *decoder, int64_t i,
                          pfd_input_image *out, pfd_error *err)
{
    out->decoder = decoder;
    if (!decoder) {
        PFD_TRY(pfd_image_with_pixels(args, 0, i, &out->pixels, err));
        out->pixel_bytes = pfd_pixel_bytes(&args->inputs[0]->type);
        out->height = out->pixels.height;
        out->width = out->pixels.width;
        return PFD_OK;
    }
    out->file = pfd_image_file_at(args, 0, i);
    if (pfd_read_image_header(&out->file, options_of(out), &out->header, err) != PFD_OK)
        return pfd_producer_failed(decoder, err);
    out->pixel_bytes = pfd_color_channels(options_of(out)->color_space);
    out->height = out->header.height;
    out->width = out->header.width;
    return PFD_OK;
}

static pfd_status decode(const pfd_input_image *image, const pfd_window *window, pfd_pixels *out,
                         pfd_error *err)
{
    pfd_region region = {window->top, window->left, window->height, window->width};
    pfd_status status = pfd_decode_region(&image->file, options_of(image), &image->header, &region,
                                          out, err);
    return status == PFD_OK ? PFD_OK : pfd_producer_failed(image->decoder, err);
}

static pfd_image_region region_of(const pfd_image *image, const pfd_window *window)
{
    pfd_image_region out = pfd_whole_image(image);
    out.data += window->top * out.stride + window->left * out.channels;
    out.height = window->height;
    out.width = window->width;
    return out;
}

pfd_status pfd_take_window(const pfd_input_image *image, const pfd_window *window,
                           pfd_image_region *out, pfd_error *err)
{
    pfd_pixels pixels = {0};
    if (!image->decoder) {
        *out = region_of(&image->pixels, window);
        return PFD_OK;
    }
    PFD_TRY(decode(image, window, &pixels, err));
    *out = (pfd_image_region){.data = pixels.data,
                              .height = window->height,
                              .width = window->width,
                              .channels = image->pixel_bytes,
                              .stride = pixels.stride};
    return PFD_OK;
}

static int32_t is_inside(const pfd_input_image *image, const pfd_window *window)
{
    return window->top >= 0 && window->left >= 0 &&
           window->top + window->height <= image->height &&
           window->left + window->width <= image->width;
}

static pfd_status decode_whole(const pfd_input_image *image, pfd_image *out, pfd_error *err)
{
    const pfd_image_file *file = &image->file;
    pfd_window whole = {.height = image->height, .width = image->width};
    int64_t bytes = image->height * image->width * image->pixel_bytes;
    pfd_pixels pixels = {.data = file->host->alloc(file->scratch, bytes),
                         .stride = image->width * image->pixel_bytes};
    if (!pixels.data)
        return file->host->fail_row(err, file->row, -1, PFD_OUT_OF_MEMORY,
                                    "no memory for the pixels of an image");
    *out = (pfd_image){.data = pixels.data,
                       .height = image->height,
                       .width = image->width,
                       .channels = image->pixel_bytes};
    return decode(image, &whole, &pixels, err);
}

pfd_status pfd_write_window(const pfd_input_image *image, const pfd_window *window,
                            const pfd_border *border, uint8_t *out, pfd_error *err)
{
    pfd_image pixels = image->pixels;
    if (image->decoder && is_inside(image, window)) {
        pfd_pixels to = {.data = out, .stride = window->width * image->pixel_bytes};
        return decode(image, window, &to, err);
    }
    if (image->decoder) PFD_TRY(decode_whole(image, &pixels, err));
    pfd_copy_window(&pixels, image->pixel_bytes, window, border, out);
    return PFD_OK;
}
