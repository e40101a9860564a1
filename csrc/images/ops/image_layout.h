/* images/ops/image_layout.h -- images of one of two layouts: channels, rows, columns, or rows,
 * columns, channels. */
#ifndef PFD_IMAGE_OPS_IMAGE_LAYOUT_H
#define PFD_IMAGE_OPS_IMAGE_LAYOUT_H
#include "pyflowdata/op.h"

/* The attr `layout`. */
enum { PFD_CHW, PFD_HWC };
#define PFD_LAYOUT_ATTR(owner)                                                                     \
    PFD_CHOICE_ATTR(owner, layout, "CHW", "CHW|HWC",                                               \
                    "Whether images are (channels, height, width), as of Normalize, or "           \
                    "(height, width, channels), as of decoders.")

/* An image's size, and the distances between its elements, in elements. */
typedef struct pfd_image_grid {
    int64_t channels, height, width;
    int64_t channel_step, row_step, pixel_step;
} pfd_image_grid;

/* `shape` has three dimensions. */
pfd_image_grid pfd_image_grid_of(int32_t layout, const int64_t *shape);

/* infer(): fails unless the rows of an input are images of this layout; ragged ones have a fixed
 * number of channels. */
pfd_status pfd_expect_layout(const pfd_infer_args *args, int32_t input, const char *name,
                             int32_t layout, pfd_error *err);
#endif
