/* Boxes of arrays: row after row of what is contiguous. */
#include "core/array_copy.h"

#include <string.h>

void pfd_copy_box(const uint8_t *from, const int64_t *from_strides, uint8_t *to,
                  const int64_t *to_strides, const int64_t *counts, int32_t ndim,
                  int64_t run_bytes)
{
    int64_t at[PFD_MAX_DIMS] = {0};
    for (int32_t d = 0; d < ndim; d++)
        if (counts[d] <= 0) return;
    if (run_bytes <= 0) return;
    for (;;) {
        memcpy(to, from, (size_t)run_bytes);
        int32_t d = ndim - 1;
        while (d >= 0 && ++at[d] == counts[d]) {
            from -= (counts[d] - 1) * from_strides[d];
            to -= (counts[d] - 1) * to_strides[d];
            at[d--] = 0;
        }
        if (d < 0) return;
        from += from_strides[d];
        to += to_strides[d];
    }
}

void pfd_fill(void *out, int64_t n, const void *element, int64_t element_bytes)
{
    const uint8_t *bytes = element;
    uint8_t *to = out;
    int32_t is_one_byte = 1;
    for (int64_t k = 1; k < element_bytes; k++) is_one_byte &= bytes[k] == bytes[0];
    if (n <= 0) return;
    if (is_one_byte) {
        memset(to, bytes[0], (size_t)(n * element_bytes));
        return;
    }
    /* Each copy doubles the part that is filled. */
    int64_t done = element_bytes, total = n * element_bytes;
    memcpy(to, bytes, (size_t)element_bytes);
    while (done < total) {
        int64_t more = done < total - done ? done : total - done;
        memcpy(to + done, to, (size_t)more);
        done += more;
    }
}

void pfd_pad_array(const void *from, const int64_t *in, void *to, const int64_t *out, int32_t ndim,
                   const void *element, int64_t element_bytes)
{
    int64_t counts[PFD_MAX_DIMS], from_strides[PFD_MAX_DIMS], to_strides[PFD_MAX_DIMS];
    int64_t from_bytes = element_bytes, to_bytes = element_bytes, run = element_bytes;
    int32_t outer = ndim; /* dimensions to loop over; those after them form one run */
    for (int32_t d = ndim - 1; d >= 0; d--) {
        counts[d] = in[d] < out[d] ? in[d] : out[d];
        from_strides[d] = from_bytes;
        to_strides[d] = to_bytes;
        if (outer == d + 1 && from_bytes == to_bytes && from_bytes == run) {
            run = from_bytes * counts[d];
            outer = d;
        }
        from_bytes *= in[d];
        to_bytes *= out[d];
    }
    if (outer == 0) { /* only the end needs padding */
        if (run > 0) memcpy(to, from, (size_t)run);
        pfd_fill((uint8_t *)to + run, (to_bytes - run) / element_bytes, element, element_bytes);
        return;
    }
    pfd_fill(to, to_bytes / element_bytes, element, element_bytes);
    pfd_copy_box(from, from_strides, to, to_strides, counts, outer, run);
}

int32_t pfd_mask_dims(const pfd_row_type *in, const pfd_row_type *out)
{
    int32_t ndim = 1;
    for (int32_t d = 0; d < in->ndim; d++)
        if (in->shape[d] < 0 || in->shape[d] != out->shape[d]) ndim = d + 1;
    return ndim;
}

void pfd_pad_mask(const int64_t *in, uint8_t *mask, const int64_t *out, int32_t ndim)
{
    static const uint8_t one = 1;
    int64_t counts[PFD_MAX_DIMS], strides[PFD_MAX_DIMS], zeros[PFD_MAX_DIMS] = {0}, bytes = 1;
    for (int32_t d = ndim - 1; d >= 0; d--) {
        counts[d] = in[d] < out[d] ? in[d] : out[d];
        strides[d] = bytes;
        bytes *= out[d];
    }
    if (bytes <= 0) return;
    memset(mask, 0, (size_t)bytes);
    if (ndim == 1)
        memset(mask, 1, (size_t)counts[0]);
    else
        pfd_copy_box(&one, zeros, mask, strides, counts, ndim, 1);
}
