/* Checks ragged rows, and copies them from where an op left them to one place. */
#include "loader/rows/ragged_rows.h"
#include "core/bytes.h"
#include "core/error.h"

#include <inttypes.h>
#include <string.h>

/* No machine has this number of bytes, and sums of such numbers do not overflow. */
static const int64_t MOST_BYTES = (int64_t)1 << 46;

/* ---- Checks ---------------------------------------------------------------------------------- */

static pfd_status fail(const pfd_plan_tensor *tensor, int64_t row, const char *found, int64_t value,
                       const char *expected, pfd_error *err)
{
    return pfd_fail_row(err, row, -1, PFD_INTERNAL,
                        "compute() gave row %" PRId64 " of output '%s' %s %" PRId64 "; %s", row,
                        tensor->name, found, value, expected);
}

/* Without a shape, the only dimension that varies is computed from the number of elements. */
static pfd_status check_without_shape(const pfd_plan_tensor *tensor, const pfd_ragged_row *row,
                                      int64_t i, pfd_error *err)
{
    int64_t fixed = 1, num_varying = 0;
    if (row->num_elements == 0) return PFD_OK;
    for (int32_t d = 0; d < tensor->type.ndim; d++) {
        if (tensor->type.shape[d] < 0)
            num_varying++;
        else
            fixed *= tensor->type.shape[d];
    }
    if (num_varying > 1)
        return fail(tensor, i, "no shape, and dimensions that vary are", num_varying,
                    "shape may be NULL only if one dimension varies", err);
    if (fixed > 0 && row->num_elements % fixed == 0) return PFD_OK;
    return fail(tensor, i, "num_elements =", row->num_elements,
                "it must be a multiple of the product of the fixed dimensions", err);
}

static pfd_status check_shape(const pfd_plan_tensor *tensor, const pfd_ragged_row *row, int64_t i,
                              pfd_error *err)
{
    int64_t product = 1;
    int32_t has_zero = 0;
    for (int32_t d = 0; d < tensor->type.ndim; d++) {
        int64_t size = row->shape[d], fixed = tensor->type.shape[d];
        if (size < 0 || (fixed >= 0 && size != fixed))
            return fail(tensor, i, "a dimension of", size,
                        "those that vary must be 0 or more, the others as infer() said", err);
        has_zero |= size == 0;
        if (size > 0 && product > MOST_BYTES / size)
            return fail(tensor, i, "a dimension of", size, "the row would be above 64 TiB", err);
        if (size > 0) product *= size;
    }
    if (has_zero) product = 0;
    if (product == row->num_elements) return PFD_OK;
    return fail(tensor, i, "num_elements =", row->num_elements,
                "it must be the product of the row's shape", err);
}

/* Whether a row of bytes without a shape is as it must be. */
static inline int32_t are_bytes(const pfd_ragged_row *row)
{
    return !row->shape && row->num_elements >= 0 && row->num_elements <= MOST_BYTES &&
           (row->data || !row->num_elements);
}

static pfd_status check_row(const pfd_plan_tensor *tensor, const pfd_ragged_row *row,
                            int64_t element_bytes, int64_t i, pfd_error *err)
{
    if (row->num_elements < 0 || row->num_elements > MOST_BYTES / element_bytes)
        return fail(tensor, i, "num_elements =", row->num_elements,
                    "it must be 0 or more, and the row below 64 TiB", err);
    if (row->num_elements > 0 && !row->data)
        return fail(tensor, i, "data = NULL and num_elements =", row->num_elements,
                    "data must point to them", err);
    int64_t past = (int64_t)((uintptr_t)row->data % (uintptr_t)element_bytes);
    if (row->num_elements > 0 && past)
        return fail(tensor, i, "data that lies past an aligned address by", past,
                    "data must be aligned for the dtype: copy it to scratch", err);
    if (row->shape) return check_shape(tensor, row, i, err);
    return tensor->type.ndim == 1 ? PFD_OK : check_without_shape(tensor, row, i, err);
}

pfd_status pfd_ragged_rows_check(const pfd_plan_tensor *tensor, const pfd_ragged_row *rows,
                                 int64_t n, pfd_error *err)
{
    int64_t element_bytes = pfd_dtype_size(tensor->type.dtype);
    int32_t is_bytes = element_bytes == 1 && tensor->type.ndim == 1;
    for (int64_t i = 0; i < n; i++)
        if (!is_bytes || !are_bytes(&rows[i]))
            PFD_TRY(check_row(tensor, &rows[i], element_bytes, i, err));
    return PFD_OK;
}

/* ---- Keeping --------------------------------------------------------------------------------- */

/* Whether the row is, or is a part of, the bytes of its record. */
static int32_t is_in_record(const pfd_ragged_row *row, int64_t bytes, const pfd_record *record)
{
    uintptr_t data = (uintptr_t)row->data, begin = (uintptr_t)record->data;
    return data >= begin && bytes <= record->size &&
           data - begin <= (uintptr_t)(record->size - bytes);
}

/* Whether the row lives as long as the arena. */
static int32_t lasts(const pfd_ragged_row *row, int64_t bytes, const pfd_record *record,
                     const pfd_scratch *passing)
{
    return is_in_record(row, bytes, record) || (passing && !pfd_scratch_has(passing, row->data));
}

/* Does what memcpy() does. Most rows are short: two moves that overlap copy these. */
static inline void copy(uint8_t *to, const uint8_t *from, size_t bytes)
{
    if (bytes > 32 || bytes < 8) {
        memcpy(to, from, bytes);
    } else if (bytes >= 16) {
        uint64_t head[2], tail[2];
        memcpy(head, from, 16);
        memcpy(tail, from + bytes - 16, 16);
        memcpy(to, head, 16);
        memcpy(to + bytes - 16, tail, 16);
    } else {
        uint64_t head, tail;
        memcpy(&head, from, 8);
        memcpy(&tail, from + bytes - 8, 8);
        memcpy(to, &head, 8);
        memcpy(to + bytes - 8, &tail, 8);
    }
}

pfd_status pfd_ragged_rows_keep(const pfd_plan_tensor *tensor, pfd_ragged_row *rows, int64_t n,
                                const pfd_record *records, const pfd_scratch *passing,
                                pfd_scratch *arena, pfd_error *err)
{
    int64_t element_bytes = pfd_dtype_size(tensor->type.dtype), total = 0;
    int64_t shape_bytes = tensor->type.ndim * (int64_t)sizeof(int64_t);
    for (int64_t i = 0; i < n && total <= MOST_BYTES; i++) {
        int64_t bytes = rows[i].num_elements * element_bytes;
        if (!lasts(&rows[i], bytes, &records[i], passing)) total += (bytes + 7) / 8 * 8;
        if (rows[i].shape) total += shape_bytes;
    }
    if (total == 0) return PFD_OK;
    uint8_t *to = total <= MOST_BYTES ? pfd_scratch_alloc(arena, total) : NULL;
    if (!to) return pfd_fail_memory(err, total, "ragged rows");
    for (int64_t i = 0; i < n; i++) {
        int64_t bytes = rows[i].num_elements * element_bytes;
        if (rows[i].shape) {
            rows[i].shape = memcpy(to, rows[i].shape, (size_t)shape_bytes);
            to += shape_bytes;
        }
        if (bytes == 0 || lasts(&rows[i], bytes, &records[i], passing)) continue;
        copy(to, rows[i].data, (size_t)bytes);
        rows[i].data = to;
        to += (bytes + 7) / 8 * 8;
    }
    return PFD_OK;
}

/* ---- Joining --------------------------------------------------------------------------------- */

static pfd_ragged_row *rows_of(const pfd_row_batch *batch, const pfd_plan_tensor *tensor)
{
    return (void *)(batch->memory + tensor->offset);
}

static int64_t *splits_of(const pfd_row_batch *batch, const pfd_plan_tensor *tensor)
{
    return (void *)(batch->memory + tensor->splits_offset);
}

static pfd_ragged_batch *joined_of(const pfd_row_batch *batch, const pfd_plan_tensor *tensor)
{
    return (void *)(batch->memory + tensor->batch_offset);
}

static int32_t is_delivered(const pfd_plan_tensor *tensor)
{
    return tensor->is_ragged && tensor->is_wanted;
}

static int64_t num_units(const pfd_plan_tensor *tensor, const pfd_ragged_row *row)
{
    if (tensor->unit == 1) return row->num_elements;
    if (tensor->unit == 0) return row->shape ? row->shape[0] : 0;
    return row->num_elements / tensor->unit;
}

static int64_t align(int64_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

int64_t pfd_ragged_rows_measure(const pfd_plan *plan, pfd_row_batch *batch)
{
    int64_t total = 0;
    for (int32_t i = 0; i < plan->num_tensors; i++) {
        const pfd_plan_tensor *tensor = &plan->tensors[i];
        if (!is_delivered(tensor)) continue;
        const pfd_ragged_row *rows = rows_of(batch, tensor);
        int64_t *splits = splits_of(batch, tensor), units = 0;
        int64_t most = tensor->unit_bytes ? MOST_BYTES / tensor->unit_bytes : MOST_BYTES;
        splits[0] = 0;
        for (int64_t row = 0; row < batch->rows; row++) {
            units += num_units(tensor, &rows[row]);
            if (units > most) return -1;
            splits[row + 1] = units;
        }
        total += align(units * tensor->unit_bytes);
        if (total > MOST_BYTES) return -1;
    }
    return total;
}

void pfd_ragged_rows_place(const pfd_plan *plan, pfd_row_batch *batch)
{
    uint8_t *values = batch->values;
    for (int32_t i = 0; i < plan->num_tensors; i++) {
        const pfd_plan_tensor *tensor = &plan->tensors[i];
        if (!is_delivered(tensor)) continue;
        int64_t *splits = splits_of(batch, tensor);
        int64_t bytes = splits[batch->rows] * tensor->unit_bytes;
        *joined_of(batch, tensor) = (pfd_ragged_batch){
            .values = bytes ? values : batch->memory, /* any valid address if there are none */
            .values_bytes = bytes,
            .row_splits = splits,
            .shapes = tensor->has_shapes ? (void *)(batch->memory + tensor->shapes_offset) : NULL};
        if (bytes) values += align(bytes);
    }
}

void pfd_ragged_row_shape(const pfd_plan_tensor *tensor, const pfd_ragged_row *row,
                          int64_t *shape)
{
    if (row->shape) {
        memcpy(shape, row->shape, (size_t)tensor->type.ndim * sizeof *shape);
        return;
    }
    int64_t fixed = 1;
    for (int32_t d = 0; d < tensor->type.ndim; d++)
        if (tensor->type.shape[d] >= 0) fixed *= tensor->type.shape[d];
    for (int32_t d = 0; d < tensor->type.ndim; d++) {
        int64_t size = tensor->type.shape[d];
        shape[d] = size >= 0 ? size : fixed ? row->num_elements / fixed : 0;
    }
}

/* The first row after i that does not begin in memory where the row before it ends. */
static inline int64_t after_neighbours(const pfd_ragged_row *rows, const int64_t *splits,
                                       int64_t unit_bytes, int64_t i, int64_t end)
{
    uintptr_t data = (uintptr_t)rows[i].data;
    int64_t first = splits[i++];
    while (i < end &&
           (uintptr_t)rows[i].data == data + (uintptr_t)((splits[i] - first) * unit_bytes))
        i++;
    return i;
}

static inline int64_t bytes_of(const pfd_plan_tensor *tensor, const int64_t *splits, int64_t row)
{
    return (splits[row + 1] - splits[row]) * tensor->unit_bytes;
}

/* Rows that are no neighbours may lie anywhere in mapped files: they are prefetched. */
static void join(const pfd_row_batch *batch, const pfd_plan_tensor *tensor, int64_t begin,
                 int64_t end)
{
    const pfd_ragged_row *rows = rows_of(batch, tensor);
    const int64_t *splits = splits_of(batch, tensor);
    const pfd_ragged_batch *joined = joined_of(batch, tensor);
    enum { AHEAD = 6 }; /* rows */
    uint8_t *to = (uint8_t *)joined->values + splits[begin] * tensor->unit_bytes;
    for (int64_t i = begin, next; i < end; i = next) {
        next = after_neighbours(rows, splits, tensor->unit_bytes, i, end);
        if (next == i + 1 && next + AHEAD < end)
            pfd_prefetch(rows[next + AHEAD].data, bytes_of(tensor, splits, next + AHEAD));
        size_t bytes = (size_t)((splits[next] - splits[i]) * tensor->unit_bytes);
        if (bytes) copy(to, rows[i].data, bytes);
        to += bytes;
    }
    for (int64_t i = begin; tensor->has_shapes && i < end; i++)
        pfd_ragged_row_shape(tensor, &rows[i], joined->shapes + i * tensor->type.ndim);
}

void pfd_ragged_rows_join(const pfd_plan *plan, pfd_row_batch *batch, int64_t begin, int64_t end)
{
    for (int32_t i = 0; i < plan->num_tensors; i++)
        if (is_delivered(&plan->tensors[i])) join(batch, &plan->tensors[i], begin, end);
}
