/* images/ops/object_rows.h -- objects in images: rows of boxes and of points, and the inputs that
 * move them.
 *
 * A box is left, top, right, bottom; a point is x, y: columns and rows of pixels, float32. Sizes
 * are (height, width), and scales are factors in this order.
 */
#ifndef PFD_IMAGES_OPS_OBJECT_ROWS_H
#define PFD_IMAGES_OPS_OBJECT_ROWS_H
#include "images/pixels/image_rows.h"

/* Fails unless the rows of an input are float32 (None, columns) or (n, columns). */
pfd_status pfd_expect_float_table(const pfd_infer_args *args, int32_t input, const char *name,
                                  int32_t columns, pfd_error *err);

#define PFD_IMAGE_SIZE_DOC                                                                         \
    "Height and width of each image, int32 or int64 (2,), as COCOReader and ImageSize give them."

/* Fails unless the rows of the input 'image_size' are (2,) of int32 or int64. */
pfd_status pfd_expect_image_size(const pfd_infer_args *args, int32_t input, pfd_error *err);

/* Reads the row's height and width. PFD_CORRUPT_DATA: no image has this size. */
pfd_status pfd_image_size_at(const pfd_compute_args *args, int32_t input, int64_t row,
                             pfd_size *out, pfd_error *err);

/* Makes row `row` of an op whose inputs are points, size and flip code: the points in the mirrored
 * image, where a column x becomes width - x - less. NULL: *err says why. */
float *pfd_flip_points(const pfd_compute_args *args, int64_t row, float less, int32_t *flips,
                       int64_t *num_points, pfd_error *err);

/* infer() and compute() of ops whose inputs are points, size and flip code, or points and scale. */
pfd_status pfd_infer_flipped(const pfd_infer_args *args, int32_t columns, pfd_error *err);
pfd_status pfd_infer_scaled(const pfd_infer_args *args, int32_t columns, pfd_error *err);
pfd_status pfd_scale_points(const pfd_compute_args *args, pfd_error *err);

#define PFD_SCALE_DOC                                                                              \
    "float32 (2,), by how much the height and the width of each image change, as SizeRatio makes " \
    "it."
#endif
