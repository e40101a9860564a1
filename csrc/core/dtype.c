/* The element types: their NumPy names and sizes. */
#include "core/dtype.h"

#include <string.h>

/* In the order of their numbers. */
#define DTYPES(X)                                                                                  \
    X(PFD_BOOL, "bool", 1)                                                                         \
    X(PFD_INT8, "int8", 1)                                                                         \
    X(PFD_UINT8, "uint8", 1)                                                                       \
    X(PFD_INT16, "int16", 2)                                                                       \
    X(PFD_UINT16, "uint16", 2)                                                                     \
    X(PFD_INT32, "int32", 4)                                                                       \
    X(PFD_UINT32, "uint32", 4)                                                                     \
    X(PFD_INT64, "int64", 8)                                                                       \
    X(PFD_UINT64, "uint64", 8)                                                                     \
    X(PFD_FLOAT16, "float16", 2)                                                                   \
    X(PFD_FLOAT32, "float32", 4)                                                                   \
    X(PFD_FLOAT64, "float64", 8)                                                                   \
    X(PFD_BFLOAT16, "bfloat16", 2)

#define CHOICE(number, name, bytes) "|" name
#define ROW(number, name, bytes) [number] = {name, bytes},

const char *const pfd_dtype_choices = &(DTYPES(CHOICE))[1];

static const struct {
    const char *name;
    int64_t bytes;
} dtypes[] = {DTYPES(ROW)};

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
