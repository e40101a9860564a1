/* images/ops/padding.h -- the attr `padding` of ops that put something around images. */
#ifndef PFD_IMAGE_OPS_PADDING_H
#define PFD_IMAGE_OPS_PADDING_H
#include "pyflowdata/op.h"

#define PFD_PADDING_ATTR(owner, field, default_value, doc)                                         \
    PFD_INTS_ATTR(owner, field, default_value, 0, 65535,                                           \
                  doc ": one number for all sides, two for (top and bottom, left and right), or "  \
                      "four for (top, left, bottom, right). torchvision's order of four is "       \
                      "(left, top, right, bottom).")

/* Pixels on each side. */
typedef struct pfd_padding {
    int64_t top, left, bottom, right;
} pfd_padding;

/* Fails unless the list has 0 numbers, which is no padding, or 1, 2 or 4. */
pfd_status pfd_take_padding(const pfd_host *host, const char *attr, pfd_list_int64 list,
                            pfd_padding *out, pfd_error *err);
#endif
