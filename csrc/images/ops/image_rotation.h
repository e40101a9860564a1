/* images/ops/image_rotation.h -- what ops that rotate images share: angles, and the rotation of
 * a row. */
#ifndef PFD_IMAGE_OPS_IMAGE_ROTATION_H
#define PFD_IMAGE_OPS_IMAGE_ROTATION_H
#include "images/ops/warp_attrs.h"

/* A range of degrees in a list of one number, which is (-n, n), or of two. Fails unless it is. */
pfd_status pfd_take_degrees(const pfd_host *host, const char *attr, pfd_list_float64 list,
                            double out[2], pfd_error *err);

/* The type of rotated images. */
pfd_row_type pfd_rotated_type(const pfd_row_type *in, int32_t expand);

/* Output row i: that of input 0 rotated around its middle, counter-clockwise.  `expand`: in the
 * size that holds all of it, as Pillow counts; else in its own. */
pfd_status pfd_rotate_image(const pfd_compute_args *args, int64_t i, double degrees,
                            int32_t expand, const pfd_warp_style *style, pfd_error *err);
#endif
