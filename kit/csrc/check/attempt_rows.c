/* Looks at the rows that compute() wrote: whether they are sound, and whether two are equal. */
#include "check/attempt.h"

#include "core/hash.h"

#include <inttypes.h>
#include <string.h>

static const char *shape_fault(const pfd_row_type *type, const pfd_ragged_row *row)
{
    int64_t product = 1, varying = 0, fixed = 1;
    for (int32_t i = 0; i < type->ndim; i++) {
        varying += type->shape[i] < 0;
        fixed *= type->shape[i] < 0 ? 1 : type->shape[i];
    }
    if (!row->shape) {
        if (varying > 1) return "shape is NULL, though more than one dimension varies";
        return fixed > 0 && row->num_elements % fixed != 0
                   ? "num_elements is not a multiple of the fixed dimensions"
                   : NULL;
    }
    for (int32_t i = 0; i < type->ndim; i++) {
        if (row->shape[i] < 0) return "a dimension is negative";
        if (type->shape[i] >= 0 && row->shape[i] != type->shape[i])
            return "a fixed dimension is another one than infer() said";
        product *= row->shape[i];
    }
    return product == row->num_elements ? NULL : "num_elements is not the product of the shape";
}

static const char *ragged_fault(const pfd_row_type *type, const pfd_ragged_row *row)
{
    if (row->num_elements < 0) return "num_elements is negative";
    if (row->num_elements == 0) return NULL;
    if (!row->data) return "data is NULL";
    if ((uintptr_t)row->data % (uintptr_t)pfd_dtype_size(type->dtype))
        return "data is not aligned for the dtype";
    return shape_fault(type, row);
}

static uint64_t hash_ragged(pfd_kit_call *call, const pfd_kit_attempt *a, uint32_t port,
                            int64_t row)
{
    const pfd_tensor *tensor = &a->outputs[port];
    const pfd_ragged_row *found = &tensor->rows[row];
    call->reading = "a ragged row, number";
    call->reading_index = row;
    const char *fault = ragged_fault(&tensor->type, found);
    uint64_t hash = 0;
    if (fault)
        pfd_kit_report(call->run, "ragged-row",
                       "compute() filled row %" PRId64 " of output '%s' in wrongly: %s", row,
                       a->node->op->op->outputs[port].name, fault);
    else
        hash = pfd_hash_bytes(0, found->data,
                              found->num_elements * pfd_dtype_size(tensor->type.dtype));
    call->reading = NULL;
    return pfd_hash_word(hash, (uint64_t)found->num_elements);
}

uint64_t pfd_kit_hash_row(pfd_kit_call *call, const pfd_kit_attempt *a, int64_t row)
{
    uint64_t hash = 0;
    int32_t only = call->run->options->only_output;
    for (uint32_t i = 0; i < a->node->op->op->num_outputs; i++) {
        const pfd_tensor *tensor = &a->outputs[i];
        if (only > 0 && i != (uint32_t)only - 1) continue;
        hash = pfd_hash_word(hash, tensor->is_ragged
                                       ? hash_ragged(call, a, i, row)
                                       : pfd_hash_bytes(0, tensor->data + row * tensor->row_bytes,
                                                        tensor->row_bytes));
    }
    return hash | 2;
}

static int32_t same_shape(const pfd_row_type *type, const pfd_ragged_row *a,
                          const pfd_ragged_row *b)
{
    if (a->num_elements != b->num_elements) return 0;
    return !a->shape || !b->shape ||
           !memcmp(a->shape, b->shape, (size_t)type->ndim * sizeof *a->shape);
}

void pfd_kit_check_equal_rows(pfd_kit_call *call, const pfd_kit_attempt *a)
{
    const pfd_op *op = a->node->op->op;
    for (uint32_t i = 0; op->flags & PFD_EQUAL_ROWS && i < op->num_outputs; i++) {
        const pfd_tensor *out = &a->outputs[i];
        for (int64_t row = 1; out->is_ragged && row < a->n; row++) {
            if (same_shape(&out->type, &out->rows[0], &out->rows[row])) continue;
            pfd_kit_report(call->run, "rows-not-equal",
                           "rows 0 and %" PRId64 " of output '%s' differ in shape, though the op "
                           "has PFD_EQUAL_ROWS: leave the flag out, or make the rows of each call "
                           "equal",
                           row, op->outputs[i].name);
            return;
        }
    }
}

/* ---- Rows of equal records ------------------------------------------------------------------- */
static int32_t is_nan_at(int32_t dtype, const uint8_t *at)
{
    uint64_t bits = 0;
    memcpy(&bits, at, (size_t)pfd_dtype_size(dtype)); /* little-endian */
    if (dtype == PFD_FLOAT64) return bits << 1 > UINT64_C(0x7FF0000000000000) << 1;
    if (dtype == PFD_FLOAT32) return (bits & 0x7FFFFFFF) > 0x7F800000;
    if (dtype == PFD_FLOAT16) return (bits & 0x7FFF) > 0x7C00;
    return dtype == PFD_BFLOAT16 && (bits & 0x7FFF) > 0x7F80;
}

int64_t pfd_kit_first_different(int32_t dtype, const uint8_t *one, const uint8_t *two,
                                int64_t bytes)
{
    int64_t item = pfd_dtype_size(dtype);
    if (bytes <= 0 || !memcmp(one, two, (size_t)bytes)) return -1;
    for (int64_t i = 0; i < bytes; i++) {
        int64_t begin = i - i % item;
        if (one[i] == two[i]) continue;
        if (!is_nan_at(dtype, one + begin) || !is_nan_at(dtype, two + begin)) return i;
    }
    return -1;
}

int32_t pfd_kit_outputs_differ(const pfd_kit_attempt *a, int64_t row_a, const pfd_kit_attempt *b,
                               int64_t row_b, uint32_t port, pfd_kit_difference *out)
{
    const pfd_tensor *one = &a->outputs[port], *two = &b->outputs[port];
    int32_t dtype = one->type.dtype;
    const uint8_t *data[2];
    int64_t bytes = one->row_bytes;
    *out = (pfd_kit_difference){.output = port, .byte = -1};
    if (one->is_ragged) {
        const pfd_ragged_row *rows[2] = {&one->rows[row_a], &two->rows[row_b]};
        if (ragged_fault(&one->type, rows[0]) || ragged_fault(&two->type, rows[1])) return 0;
        if (!same_shape(&one->type, rows[0], rows[1])) return 1;
        bytes = rows[0]->num_elements * pfd_dtype_size(dtype);
        data[0] = rows[0]->data, data[1] = rows[1]->data;
    } else {
        data[0] = one->data + row_a * bytes, data[1] = two->data + row_b * bytes;
    }
    int64_t byte = pfd_kit_first_different(dtype, data[0], data[1], bytes);
    if (byte < 0) return 0;
    *out = (pfd_kit_difference){port, byte, data[0][byte], data[1][byte]};
    return 1;
}

int32_t pfd_kit_rows_differ(const pfd_kit_attempt *a, int64_t row_a, const pfd_kit_attempt *b,
                            int64_t row_b, pfd_kit_difference *out)
{
    for (uint32_t port = 0; port < a->node->op->op->num_outputs; port++)
        if (pfd_kit_outputs_differ(a, row_a, b, row_b, port, out)) return 1;
    return 0;
}
