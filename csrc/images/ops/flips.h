/* images/ops/flips.h -- mirrored images, and an input with a flip code for each image. */
#ifndef PFD_IMAGES_OPS_FLIPS_H
#define PFD_IMAGES_OPS_FLIPS_H
#include "images/pixels/image_rows.h"

/* A sum of these. */
enum { PFD_FLIP_HORIZONTAL = 1, PFD_FLIP_VERTICAL = 2 };

/* Makes output row i from row i of input 0, of the same type, with these flips. A row without flips
 * is not copied if the output is ragged. */
pfd_status pfd_flip_image(const pfd_compute_args *args, int64_t i, int32_t flips, pfd_error *err);

#define PFD_FLIP_CODE_DOC                                                                          \
    "int8, one number for each image: 0 leaves it as it is, 1 mirrors it left to right, 2 top to " \
    "bottom, 3 both; 16 and 17 are 2 and 3, as OneFlow writes them."

/* Fails unless the input 'flip_code' has one int8 for each row. */
pfd_status pfd_expect_flip_code(const pfd_infer_args *args, int32_t input, pfd_error *err);

/* Reads a sum of PFD_FLIP_*. Fails with PFD_CORRUPT_DATA for other numbers. */
pfd_status pfd_flip_code_at(const pfd_compute_args *args, int32_t input, int64_t row,
                            int32_t *flips, pfd_error *err);
#endif
