/* images/ops/object_rows.h -- objects in images: rows of boxes, of points, and of what moves them.
 *
 * A box is left, top, right, bottom, a point x, y: columns and rows of pixels, float32.  Sizes and
 * scales are (height, width) and its factors, in this order as everywhere.
 */
#ifndef PFD_IMAGE_OPS_OBJECT_ROWS_H
#define PFD_IMAGE_OPS_OBJECT_ROWS_H
#include "images/pixels/image_rows.h"

/* Fails unless the rows of an input are float32 (None, columns) or (n, columns). */
pfd_status pfd_expect_float_table(const pfd_infer_args *args, int32_t input, const char *name,
                                  int32_t columns, pfd_error *err);

#define PFD_IMAGE_SIZE_DOC                                                                         \
    "Height and width of each image, int32 or int64 (2,), as COCOReader and ImageSize give them."

/* Fails unless the rows of the input 'image_size' are (2,) of int32 or int64. */
pfd_status pfd_expect_image_size(const pfd_infer_args *args, int32_t input, pfd_error *err);

/* PFD_CORRUPT_DATA: it is not that of an image. */
pfd_status pfd_image_size_at(const pfd_compute_args *args, int32_t input, int64_t row,
                             pfd_size *out, pfd_error *err);

/* x * scale[0] + shift[0], y * scale[1] + shift[1]. */
typedef struct pfd_point_map {
    float scale[2], shift[2];
} pfd_point_map;

/* The map of mirrored images, in which a column x becomes width - x, less `less`. */
pfd_point_map pfd_flip_map(const pfd_size *size, int32_t flips, float less);

/* Writes row `row` of output 0: input 0, whose numbers are x and y in turn, mapped.  Returns it;
 * NULL: out of memory, and *err says so. */
float *pfd_map_points(const pfd_compute_args *args, int64_t row, const pfd_point_map *map,
                      int64_t *num_points, pfd_error *err);

/* infer() and compute() of ops whose inputs are points, size and flip code, or points and scale. */
pfd_status pfd_infer_flipped(const pfd_infer_args *args, int32_t columns, pfd_error *err);
pfd_status pfd_infer_scaled(const pfd_infer_args *args, int32_t columns, pfd_error *err);
pfd_status pfd_scale_points(const pfd_compute_args *args, pfd_error *err);

#define PFD_SCALE_DOC                                                                              \
    "float32 (2,), by how much the height and the width of each image change, as SizeRatio makes " \
    "it."
#endif
