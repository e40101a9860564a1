/* Rows, whether their tensor is dense or ragged; their copies and their form in files. */
#include "core/rows.h"

#include "core/convert.h"
#include "core/error.h"
#include "core/hash.h"
#include "pyflowdata/pyflowdata.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- Rows of a tensor ------------------------------------------------------------------------ */

void pfd_copy_rows(const pfd_ragged_row *rows, int64_t n, int64_t element_bytes, void *to)
{
    uint8_t *at = to;
    for (int64_t i = 0; i < n; i++) {
        size_t bytes = (size_t)(rows[i].num_elements * element_bytes);
        if (bytes) memcpy(at, rows[i].data, bytes);
        at += bytes;
    }
}

void pfd_split_rows(const pfd_ragged_row *rows, int64_t n, int64_t *splits)
{
    splits[0] = 0;
    for (int64_t i = 0; i < n; i++) splits[i + 1] = splits[i] + rows[i].num_elements;
}

int64_t pfd_count_distinct(const uint8_t *values, const int64_t *splits, int64_t n,
                           int64_t *firsts, int64_t *counts)
{
    enum { NONE = -1 };
    uint64_t places = 2;
    while (places < 2 * (uint64_t)n) places *= 2;
    int64_t *table = malloc(places * sizeof *table), found = 0; /* indices into firsts */
    if (!table) return -1;
    memset(table, NONE, places * sizeof *table);
    for (int64_t i = 0; i < n; i++) {
        const uint8_t *row = values + splits[i];
        int64_t bytes = splits[i + 1] - splits[i];
        uint64_t place = pfd_xxh64(row, bytes) & (places - 1);
        for (; table[place] != NONE; place = (place + 1) & (places - 1)) {
            int64_t first = firsts[table[place]];
            if (splits[first + 1] - splits[first] == bytes &&
                !memcmp(values + splits[first], row, (size_t)bytes))
                break;
        }
        if (table[place] == NONE) {
            firsts[found] = i;
            counts[found] = 0;
            table[place] = found++;
        }
        counts[table[place]]++;
    }
    free(table);
    return found;
}

void pfd_place_rows(const void *values, int64_t element_bytes, const int64_t *splits, int64_t n,
                    pfd_ragged_row *rows)
{
    for (int64_t i = 0; i < n; i++)
        rows[i] = (pfd_ragged_row){.data = (const uint8_t *)values + splits[i] * element_bytes,
                                   .num_elements = splits[i + 1] - splits[i]};
}

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

/* Copies the shape into the scratch, where the number of elements does not determine it. */
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

uint8_t *pfd_equal_rows_to_write(const pfd_compute_args *args, int32_t output,
                                 const int64_t *shape, int64_t *row_bytes)
{
    const pfd_tensor *out = args->outputs[output];
    int64_t elements = 1, total;
    for (int32_t d = 0; d < out->type.ndim; d++)
        if (__builtin_mul_overflow(elements, shape[d], &elements)) return NULL;
    if (__builtin_mul_overflow(elements, pfd_dtype_size(out->type.dtype), row_bytes) ||
        __builtin_mul_overflow(*row_bytes, args->num_rows, &total))
        return NULL;
    uint8_t *data = args->host->alloc(args->scratch, total);
    for (int64_t i = 0; data && i < args->num_rows; i++)
        out->rows[i] = (pfd_ragged_row){data + i * *row_bytes, elements, shape};
    return data;
}

/* ---- Parts of arrays, and padding ------------------------------------------------------------ */

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

pfd_status pfd_infer_padding(const pfd_infer_args *args, double value, pfd_error *err)
{
    const pfd_row_type *in = &args->inputs[0], *out = &args->outputs[0];
    pfd_row_type *mask = &args->outputs[1], *lengths = &args->outputs[2];
    if (!pfd_dtype_is_float(in->dtype) && !pfd_is_exact(value, in->dtype))
        return pfd_fail(err, PFD_INVALID_ARGUMENT, "value = %g; the rows are %s, which holds %s",
                        value, pfd_dtype_name(in->dtype), pfd_dtype_limits(in->dtype));
    *mask = *out;
    mask->dtype = PFD_BOOL;
    mask->ndim = 1;
    for (int32_t d = 0; d < in->ndim; d++)
        if (in->shape[d] < 0 || in->shape[d] != out->shape[d]) mask->ndim = d + 1;
    *lengths = (pfd_row_type){.dtype = PFD_INT64, .ndim = mask->ndim > 1, .shape = {mask->ndim}};
    return PFD_OK;
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

/* ---- Rows as files store them ---------------------------------------------------------------- */

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
    return pfd_dtype_size(type->dtype) * pfd_row_elements(type);
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
    int64_t item = pfd_dtype_size(out->type.dtype), bytes = out->row_bytes, end;
    int32_t is_as_stored = out->type.dtype != PFD_BOOL && !(swap && item > 1);
    for (int64_t row = 0; row < args->num_rows; row = end) {
        const pfd_record *record = &args->records[row];
        if (record->size < offset + bytes)
            return pfd_fail_row(err, row, record->size, PFD_CORRUPT_DATA,
                                "the record ends after %" PRId64 " bytes of %" PRId64, record->size,
                                offset + bytes);
        end = row + 1;
        if (out->rows && is_as_stored) {
            out->rows[row].data = record->data + offset;
            continue;
        }
        /* Rows that follow each other in a file are copied at once. */
        for (; end < args->num_rows; end++)
            if (args->records[end].data != args->records[end - 1].data + bytes ||
                args->records[end].size < offset + bytes)
                break;
        pfd_copy_stored(out->data + row * bytes, record->data + offset, (end - row) * bytes / item,
                        out->type.dtype, swap);
    }
    return PFD_OK;
}
