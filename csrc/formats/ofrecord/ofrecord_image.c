/* Decodes the images in a feature of OFRecords, whole or random windows of them. */
#include "formats/ofrecord/ofrecord_image.h"

#include "core/rows.h"
#include "images/pixels/image_rows.h"

#include <string.h>

const pfd_port pfd_of_image_outputs[1] = {
    {"out", "Images, uint8 (height, width, channels), of any height and width."},
};

pfd_status pfd_of_images_infer(const pfd_infer_args *args, const pfd_of_images *images,
                               pfd_error *err)
{
    int32_t channels = pfd_color_channels(images->options->color_space);
    args->outputs[0] =
        (pfd_row_type){.dtype = PFD_UINT8, .ndim = 3, .shape = {-1, -1, channels}};
    return pfd_of_check_input(args, images->feature, err);
}

static pfd_status find_file(const pfd_of_row *row, pfd_image_file *out, pfd_error *err)
{
    pfd_wire_cursor value;
    PFD_TRY(pfd_of_row_find_bytes(row, &value, err));
    *out = (pfd_image_file){.host = row->args->host,
                            .scratch = row->args->scratch,
                            .data = value.at,
                            .size = value.end - value.at,
                            .row = row->row,
                            .place = pfd_place_in_record(row->args, row->row, value.at)};
    return PFD_OK;
}

static pfd_status decode(const pfd_of_row *row, const pfd_of_images *images, pfd_error *err)
{
    pfd_image_file file;
    pfd_image_header header;
    PFD_TRY(find_file(row, &file, err));
    PFD_TRY(pfd_read_image_header(&file, images->options, &header, err));
    pfd_window window = {.height = header.height, .width = header.width};
    if (images->rule)
        window = pfd_random_window(row->args, row->row, images->rule, header.height, header.width);
    pfd_region region = {window.top, window.left, window.height, window.width};
    pfd_pixels pixels = {.stride = window.width * pfd_color_channels(images->options->color_space)};
    pixels.data = pfd_image_to_write(row->args, 0, row->row, window.height, window.width, err);
    if (!pixels.data) return err->status;
    return pfd_decode_region(&file, images->options, &header, &region, &pixels, err);
}

pfd_status pfd_of_images_decode(const pfd_compute_args *args, const pfd_of_images *images,
                                pfd_error *err)
{
    int64_t name_size = (int64_t)strlen(images->feature);
    for (int64_t i = 0; i < args->num_rows; i++) {
        pfd_of_row row = {args, i, images->feature, name_size};
        PFD_TRY(decode(&row, images, err));
    }
    return PFD_OK;
}
