/* The element types: their NumPy names and sizes. */
#include "core/dtype.h"

#include <string.h>

const char pfd_dtype_choices[] =
    "bool|int8|uint8|int16|uint16|int32|uint32|int64|uint64|float16|float32|float64|"
    "bfloat16";

static const struct {
    const char *name;
    int64_t bytes;
} dtypes[] = {
    [PFD_BOOL] = {"bool", 1},       [PFD_INT8] = {"int8", 1},       [PFD_UINT8] = {"uint8", 1},
    [PFD_INT16] = {"int16", 2},     [PFD_UINT16] = {"uint16", 2},   [PFD_INT32] = {"int32", 4},
    [PFD_UINT32] = {"uint32", 4},   [PFD_INT64] = {"int64", 8},     [PFD_UINT64] = {"uint64", 8},
    [PFD_FLOAT16] = {"float16", 2}, [PFD_FLOAT32] = {"float32", 4}, [PFD_FLOAT64] = {"float64", 8},
    [PFD_BFLOAT16] = {"bfloat16", 2},
};

static int32_t is_dtype(int32_t dtype)
{
    return dtype >= PFD_BOOL && dtype <= PFD_BFLOAT16;
}

const char *pfd_dtype_name(int32_t dtype)
{
    return is_dtype(dtype) ? dtypes[dtype].name : NULL;
}

int64_t pfd_dtype_size(int32_t dtype)
{
    return is_dtype(dtype) ? dtypes[dtype].bytes : 0;
}

int32_t pfd_dtype_parse(const char *name)
{
    for (int32_t dtype = PFD_BOOL; dtype <= PFD_BFLOAT16; dtype++)
        if (strcmp(name, dtypes[dtype].name) == 0) return dtype;
    return 0;
}
