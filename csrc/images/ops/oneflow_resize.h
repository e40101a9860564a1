/* images/ops/oneflow_resize.h -- what OneFlow's three ops that resize images share. */
#ifndef PFD_IMAGES_OPS_ONEFLOW_RESIZE_H
#define PFD_IMAGES_OPS_ONEFLOW_RESIZE_H
#include "images/pixels/image_rows.h"
#include "images/pixels/resample.h"

/* The attr `interpolation_type`. */
#define PFD_ONEFLOW_INTERPOLATIONS "bilinear|nearest_neighbor|nn|bicubic|area|auto"
#define PFD_ONEFLOW_INTERPOLATION_DOC                                                              \
    "'bilinear' and 'bicubic' use 2 x 2 or 4 x 4 pixels, without antialias; 'nearest_neighbor' "   \
    "or 'nn' takes the pixel that contains the centre of the output pixel; 'area' averages the "   \
    "pixels that the output pixel covers; 'auto' is 'area' if the image gets fewer pixels, "       \
    "otherwise 'bilinear'."

/* The filter for one image. */
int32_t pfd_oneflow_filter(int32_t interpolation, const pfd_image *image, const pfd_size *size);

/* n, rounded to the nearest integer, ties to even, as OneFlow does; at least one pixel. */
int64_t pfd_whole_pixels(double n);

/* The outputs out, size and scale, of an op that gives each image its own size. */
extern const pfd_port pfd_sized_outputs[3];
void pfd_infer_sized_images(const pfd_infer_args *args);

/* Writes the ratio of `size` to the image's size, (height, width). */
void pfd_write_scale(const pfd_image *image, const pfd_size *size, float scale[2]);

/* Writes the three outputs of row i, whose types pfd_infer_sized_images() has set. */
pfd_status pfd_resize_sized_row(const pfd_compute_args *args, pfd_resampler *resampler, int64_t i,
                                const pfd_image *image, const pfd_size *size, int32_t filter,
                                pfd_error *err);
#endif
