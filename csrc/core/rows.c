/* Rows, whether their tensor is dense or ragged. */
#include "core/rows.h"

#include "pyflowdata/pyflowdata.h"

#include <string.h>

int32_t pfd_is_ragged(const pfd_row_type *type)
{
    for (int32_t d = 0; d < type->ndim; d++)
        if (type->shape[d] < 0) return 1;
    return 0;
}

int64_t pfd_row_elements(const pfd_row_type *type)
{
    int64_t n = 1;
    for (int32_t d = 0; d < type->ndim; d++) n *= type->shape[d];
    return n;
}

void pfd_row_at(const pfd_tensor *tensor, int64_t i, pfd_row *out)
{
    const pfd_row_type *type = &tensor->type;
    size_t shape_bytes = (size_t)type->ndim * sizeof *out->shape;
    if (!tensor->is_ragged) {
        out->data = tensor->data + i * tensor->row_bytes;
        out->num_elements = pfd_row_elements(type);
        memcpy(out->shape, type->shape, shape_bytes);
        return;
    }
    const pfd_ragged_row *row = &tensor->rows[i];
    int64_t fixed = 1;
    out->data = row->data;
    out->num_elements = row->num_elements;
    if (row->shape) {
        memcpy(out->shape, row->shape, shape_bytes);
        return;
    }
    for (int32_t d = 0; d < type->ndim; d++)
        if (type->shape[d] >= 0) fixed *= type->shape[d];
    for (int32_t d = 0; d < type->ndim; d++)
        out->shape[d] = type->shape[d] >= 0 ? type->shape[d]
                        : fixed > 0         ? row->num_elements / fixed
                                            : 0;
}

int64_t pfd_place_in_record(const pfd_compute_args *args, int64_t i, const void *place)
{
    const pfd_record *record = &args->records[i];
    uintptr_t distance = (uintptr_t)place - (uintptr_t)record->data;
    return place && record->data && distance <= (uintptr_t)record->size ? (int64_t)distance : -1;
}

/* A copy of the shape in the scratch, where the number of elements does not determine it. */
static int32_t keep_shape(const pfd_compute_args *args, const pfd_row_type *type,
                          pfd_ragged_row *row, const int64_t *shape, pfd_error *err)
{
    int64_t bytes = type->ndim * (int64_t)sizeof *shape;
    if (type->ndim == 1) return 1;
    void *kept = args->host->alloc(args->scratch, bytes);
    if (!kept) {
        (void)args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for the shape of a row");
        return 0;
    }
    row->shape = memcpy(kept, shape, (size_t)bytes);
    return 1;
}

int32_t pfd_row_points_at(const pfd_compute_args *args, int32_t output, int64_t i,
                          const void *data, const int64_t *shape, pfd_error *err)
{
    const pfd_tensor *out = args->outputs[output];
    pfd_ragged_row row = {.data = data, .num_elements = 1};
    for (int32_t d = 0; d < out->type.ndim; d++) row.num_elements *= shape[d];
    if (!keep_shape(args, &out->type, &row, shape, err)) return 0;
    out->rows[i] = row;
    return 1;
}

void *pfd_row_to_write(const pfd_compute_args *args, int32_t output, int64_t i,
                       const int64_t *shape, pfd_error *err)
{
    const pfd_tensor *out = args->outputs[output];
    int64_t bytes = pfd_dtype_size(out->type.dtype);
    if (!out->is_ragged) return out->data + i * out->row_bytes;
    int32_t overflow = 0;
    for (int32_t d = 0; d < out->type.ndim; d++)
        overflow |= __builtin_mul_overflow(bytes, shape[d], &bytes);
    void *data = overflow ? NULL : args->host->alloc(args->scratch, bytes);
    if (!data) {
        (void)args->host->fail_row(err, i, -1, PFD_OUT_OF_MEMORY,
                                   "no memory for a row of %lld bytes", (long long)bytes);
        return NULL;
    }
    return pfd_row_points_at(args, output, i, data, shape, err) ? data : NULL;
}
