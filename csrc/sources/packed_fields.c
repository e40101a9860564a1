/* The fields of a row, written one after the other and read in place. */
#include "sources/packed_fields.h"

#include "pyflowdata/pyflowdata.h"

#include <string.h>

enum { WORD = 8 };

static int64_t padded(int64_t bytes)
{
    return (bytes + WORD - 1) / WORD * WORD;
}

/* ---- Writing --------------------------------------------------------------------------------- */

static int64_t elements_bytes(const pfd_tensor *field, int64_t row)
{
    if (!field->is_ragged) return field->row_bytes;
    return field->rows[row].num_elements * pfd_dtype_size(field->type.dtype);
}

static int64_t shape_bytes(const pfd_tensor *field)
{
    return field->is_ragged ? WORD * (int64_t)field->type.ndim : 0;
}

int64_t pfd_packed_field_bytes(const pfd_tensor *field, int64_t row)
{
    return shape_bytes(field) + padded(elements_bytes(field, row));
}

/* A row without a shape: one dimension varies, or the row is empty. */
static void find_shape(const pfd_tensor *field, int64_t num_elements, int64_t *shape)
{
    int64_t fixed = 1;
    int32_t num_varying = 0;
    for (int32_t i = 0; i < field->type.ndim; i++) {
        if (field->type.shape[i] < 0) num_varying++;
        else fixed *= field->type.shape[i];
    }
    int64_t size = num_varying == 1 && fixed > 0 ? num_elements / fixed : 0;
    for (int32_t i = 0; i < field->type.ndim; i++)
        shape[i] = field->type.shape[i] < 0 ? size : field->type.shape[i];
}

uint8_t *pfd_packed_field_write(const pfd_tensor *field, int64_t row, uint8_t *to)
{
    int64_t bytes = elements_bytes(field, row), room = padded(bytes);
    const void *data = field->data ? field->data + row * field->row_bytes : NULL;
    if (field->is_ragged) {
        const pfd_ragged_row *from = &field->rows[row];
        int64_t found[PFD_MAX_DIMS];
        if (!from->shape) find_shape(field, from->num_elements, found);
        memcpy(to, from->shape ? from->shape : found, (size_t)shape_bytes(field));
        to += shape_bytes(field);
        data = from->data;
    }
    if (bytes > 0) memcpy(to, data, (size_t)bytes);
    memset(to + bytes, 0, (size_t)(room - bytes));
    return to + room;
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* Takes n bytes, and skips those up to the next multiple of 8. */
static int32_t take(const uint8_t **data, int64_t *left, int64_t n, const uint8_t **out)
{
    if (n < 0 || n > *left || *left % WORD) return 0;
    *out = *data;
    *data += padded(n);
    *left -= padded(n);
    return 1;
}

int32_t pfd_packed_field_read(pfd_tensor *out, int64_t row, const uint8_t **data, int64_t *left)
{
    const uint8_t *found;
    if (!out->is_ragged) {
        if (!take(data, left, out->row_bytes, &found)) return 0;
        if (out->row_bytes) memcpy(out->data + row * out->row_bytes, found, (size_t)out->row_bytes);
        return 1;
    }
    const int64_t *shape;
    int64_t elements = 1, bytes;
    if (!take(data, left, out->type.ndim * (int64_t)sizeof *shape, &found)) return 0;
    shape = (const void *)found;
    for (int32_t d = 0; d < out->type.ndim; d++)
        if (__builtin_mul_overflow(elements, shape[d], &elements)) return 0;
    if (__builtin_mul_overflow(elements, pfd_dtype_size(out->type.dtype), &bytes)) return 0;
    if (!take(data, left, bytes, &found)) return 0;
    out->rows[row] = (pfd_ragged_row){found, elements, out->type.ndim > 1 ? shape : NULL};
    return 1;
}
