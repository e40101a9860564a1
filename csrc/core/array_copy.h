/* core/array_copy.h -- copying parts of arrays, and padding around them. */
#ifndef PFD_CORE_ARRAY_COPY_H
#define PFD_CORE_ARRAY_COPY_H
#include "pyflowdata/op.h"

/* Copies a box of runs: for every index below `counts` (each > 0 or nothing is copied) run_bytes
 * from `from` plus index times from_strides to `to` plus index times to_strides, in bytes. */
void pfd_copy_box(const uint8_t *from, const int64_t *from_strides, uint8_t *to,
                  const int64_t *to_strides, const int64_t *counts, int32_t ndim,
                  int64_t run_bytes);

/* n copies of an element. */
void pfd_fill(void *out, int64_t n, const void *element, int64_t element_bytes);

/* Writes an array of shape `in` into the corner of one of shape `out`, both C-contiguous; elements
 * outside `out` are dropped, and the rest of `out` is set to the element. */
void pfd_pad_array(const void *from, const int64_t *in, void *to, const int64_t *out, int32_t ndim,
                   const void *element, int64_t element_bytes);

/* The dimensions of the mask that belongs to rows padded from one type to another: up to the last
 * dimension that may be padded, at least one. */
int32_t pfd_mask_dims(const pfd_row_type *in, const pfd_row_type *out);

/* Writes the mask of an array padded that way: true for its own elements. */
void pfd_pad_mask(const int64_t *in, uint8_t *mask, const int64_t *out, int32_t ndim);
#endif
