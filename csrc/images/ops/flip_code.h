/* images/ops/flip_code.h -- an input that says of each image how it is mirrored. */
#ifndef PFD_IMAGE_OPS_FLIP_CODE_H
#define PFD_IMAGE_OPS_FLIP_CODE_H
#include "images/pixels/flip_pixels.h"

#define PFD_FLIP_CODE_DOC                                                                          \
    "int8, one number for each image: 0 leaves it as it is, 1 mirrors it left to right, 2 top to " \
    "bottom, 3 both; 16 and 17 are 2 and 3, as OneFlow writes them."

/* Fails unless the input 'flip_code' has one int8 for each row. */
pfd_status pfd_expect_flip_code(const pfd_infer_args *args, int32_t input, pfd_error *err);

/* A sum of PFD_FLIP_*.  PFD_CORRUPT_DATA: the number is none of these. */
pfd_status pfd_flip_code_at(const pfd_compute_args *args, int32_t input, int64_t row,
                            int32_t *flips, pfd_error *err);
#endif
