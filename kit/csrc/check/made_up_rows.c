/* Makes up rows: each is of one kind of numbers, such as all NaN. */
#include "check/made_up_rows.h"

#include "core/convert.h"
#include "core/narrow_floats.h"
#include "core/random.h"

#include <math.h>
#include <string.h>

const char *const pfd_kit_made_words[PFD_KIT_MADE_ROWS] = {
    "small numbers",
    "all 0",
    "all NaN (integers: -1)",
    "all infinite (integers: the largest)",
    "all -infinite (integers: the smallest)",
    "all -0.0 (integers: 1)",
    "denormal numbers (integers: 2)",
    "the largest numbers",
    "the smallest numbers",
    "the largest and the smallest in turn",
    "small numbers, the last one NaN (integers: the largest)",
    "random bytes",
    "small numbers and 0 in turn",
};

static double small_number(int64_t i)
{
    return (double)(pfd_random_bits(11, (uint64_t)i) % 17) - 4;
}

/* ---- Floats ---------------------------------------------------------------------------------- */
static double limit_of(int32_t dtype)
{
    if (dtype == PFD_FLOAT64) return 1.7976931348623157e308;
    if (dtype == PFD_FLOAT16) return 65504;
    return dtype == PFD_BFLOAT16 ? 3.3895313892515355e38 : 3.4028234663852886e38;
}

static double denormal_of(int32_t dtype)
{
    if (dtype == PFD_FLOAT64) return 4.9406564584124654e-324 * 3;
    return dtype == PFD_FLOAT16 ? 5.9604644775390625e-08 * 3 : 1e-39;
}

static double float_at(int32_t kind, int64_t i, int64_t n, int32_t dtype)
{
    switch (kind) {
    case 1:
        return 0;
    case 2:
        return (double)NAN;
    case 3:
        return (double)INFINITY;
    case 4:
        return -(double)INFINITY;
    case 5:
        return -0.0;
    case 6:
        return i % 2 ? -denormal_of(dtype) : denormal_of(dtype);
    case 7:
        return limit_of(dtype);
    case 8:
        return -limit_of(dtype);
    case 9:
        return i % 2 ? -limit_of(dtype) : limit_of(dtype);
    case 10:
        return i == n - 1 ? (double)NAN : small_number(i);
    case 12:
        return i % 2 ? 0 : small_number(i);
    default:
        return small_number(i);
    }
}

static void store_float(int32_t dtype, double value, uint8_t *at)
{
    float single = dtype == PFD_FLOAT32 ? (float)value : 0;
    uint16_t narrow = 0;
    if (dtype == PFD_FLOAT16) pfd_float16_from_float64(&value, &narrow, 1);
    if (dtype == PFD_BFLOAT16) pfd_bfloat16_from_float64(&value, &narrow, 1);
    if (dtype == PFD_FLOAT64)
        memcpy(at, &value, sizeof value);
    else if (dtype == PFD_FLOAT32)
        memcpy(at, &single, sizeof single);
    else
        memcpy(at, &narrow, sizeof narrow);
}

/* ---- Integers -------------------------------------------------------------------------------- */
static int32_t is_signed(int32_t dtype)
{
    return dtype == PFD_INT8 || dtype == PFD_INT16 || dtype == PFD_INT32 || dtype == PFD_INT64;
}

static uint64_t largest_of(int32_t dtype)
{
    uint64_t all = UINT64_MAX >> (64 - 8 * pfd_dtype_size(dtype));
    return dtype == PFD_BOOL ? 1 : is_signed(dtype) ? all >> 1 : all;
}

/* The lower bytes are those of the number. */
static uint64_t integer_at(int32_t kind, int64_t i, int64_t n, int32_t dtype)
{
    uint64_t largest = largest_of(dtype), smallest = is_signed(dtype) ? largest + 1 : 0;
    int64_t small = (int64_t)small_number(i) + (is_signed(dtype) ? 0 : 4);
    switch (kind) {
    case 1:
        return 0;
    case 2:
        return UINT64_MAX;
    case 3:
    case 7:
        return largest;
    case 4:
    case 8:
        return smallest;
    case 5:
        return 1;
    case 6:
        return 2;
    case 9:
        return i % 2 ? smallest : largest;
    case 10:
        return i == n - 1 ? largest : (uint64_t)small;
    case 12:
        return i % 2 ? 0 : (uint64_t)small;
    default:
        return (uint64_t)small;
    }
}

static int32_t is_float(int32_t dtype)
{
    return dtype >= PFD_FLOAT16 && dtype <= PFD_BFLOAT16;
}

static void fill(uint8_t *data, int64_t n, int32_t dtype, int32_t kind)
{
    int64_t item = pfd_dtype_size(dtype);
    for (int64_t i = 0; i < n; i++) {
        uint8_t *at = data + i * item;
        uint64_t bits = pfd_random_bits(7, (uint64_t)(kind + i));
        if (kind != 11 && is_float(dtype)) {
            store_float(dtype, float_at(kind, i, n, dtype), at);
            continue;
        }
        if (kind != 11) bits = integer_at(kind, i, n, dtype);
        if (dtype == PFD_BOOL) bits &= 1;
        memcpy(at, &bits, (size_t)item);
    }
}

/* ---- Tensors --------------------------------------------------------------------------------- */
static const int64_t sizes[PFD_KIT_MADE_ROWS] = {5,  0,  1,   2,   3,    8,   16,
                                                 17, 63, 255, 257, 1025, 4099};

/* The dimensions of a ragged row with about so many elements; returns how many they are. */
static int64_t choose_shape(const pfd_row_type *type, int64_t wanted, int64_t *shape)
{
    int64_t product = 1, left = wanted;
    for (int32_t i = 0; i < type->ndim; i++)
        if (type->shape[i] > 0) left /= type->shape[i];
    if (wanted > 0 && left == 0) left = 1;
    for (int32_t i = 0; i < type->ndim; i++) {
        shape[i] = type->shape[i] < 0 ? left : type->shape[i];
        if (type->shape[i] < 0 && left > 1) left = 1; /* the first one that varies has them all */
        product *= shape[i];
    }
    return product;
}

static int32_t make_ragged(pfd_tensor *tensor, int64_t n, int64_t large, int64_t most_bytes,
                           pfd_scratch *scratch)
{
    int64_t item = pfd_dtype_size(tensor->type.dtype);
    tensor->rows = pfd_scratch_alloc(scratch, n * (int64_t)sizeof *tensor->rows);
    for (int64_t i = 0; tensor->rows && i < n; i++) {
        int64_t *shape = pfd_scratch_alloc(scratch, PFD_MAX_DIMS * (int64_t)sizeof *shape);
        if (!shape) return 0;
        int64_t count = choose_shape(&tensor->type, large ? large : sizes[i], shape);
        uint8_t *data =
            count * item > most_bytes ? NULL : pfd_scratch_alloc(scratch, count * item + 1);
        if (!data) return 0;
        fill(data, count, tensor->type.dtype, (int32_t)i);
        tensor->rows[i] = (pfd_ragged_row){count ? data : NULL, count, count ? shape : NULL};
    }
    return tensor->rows != NULL;
}

static int32_t make_dense(pfd_tensor *tensor, int64_t n, int64_t most_bytes, pfd_scratch *scratch)
{
    int64_t elements = 1, item = pfd_dtype_size(tensor->type.dtype);
    for (int32_t i = 0; i < tensor->type.ndim; i++) {
        elements *= tensor->type.shape[i];
        if (elements > most_bytes) return 0;
    }
    if (elements * item > most_bytes) return 0;
    tensor->row_bytes = elements * item;
    tensor->data = pfd_scratch_alloc(scratch, n * tensor->row_bytes + 1);
    for (int64_t i = 0; tensor->data && i < n; i++)
        fill(tensor->data + i * tensor->row_bytes, elements, tensor->type.dtype, (int32_t)i);
    return tensor->data != NULL;
}

const pfd_tensor *pfd_kit_make_up(const pfd_row_type *type, int64_t n, int64_t large,
                                  int64_t most_bytes, pfd_scratch *scratch)
{
    pfd_tensor *tensor = pfd_scratch_alloc(scratch, sizeof *tensor);
    if (!tensor) return NULL;
    *tensor = (pfd_tensor){.struct_size = sizeof *tensor, .type = *type};
    for (int32_t i = 0; i < type->ndim; i++) tensor->is_ragged |= type->shape[i] < 0;
    int32_t made = tensor->is_ragged ? make_ragged(tensor, n, large, most_bytes, scratch)
                                     : make_dense(tensor, n, most_bytes, scratch);
    return made ? tensor : NULL;
}
