/* Rows of numbers as files store them. */
#include "core/stored_rows.h"

#include "core/error.h"
#include "pyflowdata/pyflowdata.h"

#include <inttypes.h>
#include <string.h>

static const int64_t most_row_bytes = (int64_t)1 << 46;

int32_t pfd_order_is_foreign(int32_t order)
{
    const uint16_t one = 1;
    uint8_t first;
    memcpy(&first, &one, 1);
    return (order == PFD_ORDER_LITTLE) != (first == 1);
}

pfd_status pfd_stored_row_type(int32_t dtype, pfd_list_int64 shape, pfd_row_type *out,
                               pfd_error *err)
{
    *out = (pfd_row_type){.dtype = dtype, .ndim = (int32_t)shape.size};
    int64_t bytes = pfd_dtype_size(dtype);
    for (int64_t i = 0; i < shape.size; i++) {
        out->shape[i] = shape.data[i];
        if (shape.data[i] < 1)
            return pfd_fail_attr(err, "shape", NULL, PFD_INVALID_ARGUMENT,
                                 " has the dimension %" PRId64 "; each must be at least 1",
                                 shape.data[i]);
        if (shape.data[i] > most_row_bytes / bytes)
            return pfd_fail_attr(err, "shape", NULL, PFD_INVALID_ARGUMENT,
                                 ": a row would have more than %" PRId64 " bytes", most_row_bytes);
        bytes *= shape.data[i];
    }
    return PFD_OK;
}

int64_t pfd_stored_row_bytes(const pfd_row_type *type)
{
    int64_t bytes = pfd_dtype_size(type->dtype);
    for (int32_t i = 0; i < type->ndim; i++) bytes *= type->shape[i];
    return bytes;
}

/* ---- Copies ---------------------------------------------------------------------------------- */

/* Loops over memcpy() of one number each: compilers make vector code of them. */
#define SWAP_LOOP(type, swap)                                                                      \
    for (int64_t i = 0; i < n; i++) {                                                              \
        type value;                                                                                \
        memcpy(&value, from + i * (int64_t)sizeof value, sizeof value);                            \
        value = swap(value);                                                                       \
        memcpy(to + i * (int64_t)sizeof value, &value, sizeof value);                              \
    }

static void copy_swapped(uint8_t *to, const uint8_t *from, int64_t n, int64_t item)
{
    switch (item) {
    case 2: SWAP_LOOP(uint16_t, __builtin_bswap16) break;
    case 4: SWAP_LOOP(uint32_t, __builtin_bswap32) break;
    default: SWAP_LOOP(uint64_t, __builtin_bswap64) break;
    }
}

void pfd_copy_stored(void *to, const uint8_t *from, int64_t n, int32_t dtype, int32_t swap)
{
    int64_t item = pfd_dtype_size(dtype);
    uint8_t *out = to;
    if (dtype == PFD_BOOL)
        for (int64_t i = 0; i < n; i++) out[i] = from[i] != 0;
    else if (swap && item > 1)
        copy_swapped(out, from, n, item);
    else if (n > 0)
        memcpy(out, from, (size_t)(n * item));
}

pfd_status pfd_copy_stored_rows(const pfd_compute_args *args, int64_t offset, int32_t swap,
                                pfd_tensor *out, pfd_error *err)
{
    int64_t bytes = out->row_bytes, n = bytes / pfd_dtype_size(out->type.dtype);
    for (int64_t row = 0; row < args->num_rows; row++) {
        const pfd_record *record = &args->records[row];
        if (record->size < offset + bytes)
            return pfd_fail_row(err, row, record->size, PFD_CORRUPT_DATA,
                                "the record ends after %" PRId64 " bytes of %" PRId64, record->size,
                                offset + bytes);
        pfd_copy_stored(out->data + row * bytes, record->data + offset, n, out->type.dtype, swap);
    }
    return PFD_OK;
}
