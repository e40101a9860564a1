/* Checks flip codes. */
#include "images/ops/flip_code.h"

#include "parse/row_type.h"

pfd_status pfd_expect_flip_code(const pfd_infer_args *args, int32_t input, pfd_error *err)
{
    const pfd_row_type *code = &args->inputs[input];
    if (code->dtype == PFD_INT8 && (code->ndim == 0 || (code->ndim == 1 && code->shape[0] == 1)))
        return PFD_OK;
    return pfd_refuse_rows(args, input, "flip_code",
                           "they must be one number of int8, as CoinFlip makes it", err);
}

/* 0 to 3, a sum of PFD_FLIP_*; -1: unknown.  OneFlow writes 16 and 17 for 2 and 3. */
static int32_t flips_of(int8_t code)
{
    if (code >= 0 && code <= 3) return code;
    return code == 16   ? PFD_FLIP_VERTICAL
           : code == 17 ? PFD_FLIP_VERTICAL | PFD_FLIP_HORIZONTAL
                        : -1;
}

pfd_status pfd_flip_code_at(const pfd_compute_args *args, int32_t input, int64_t row,
                            int32_t *flips, pfd_error *err)
{
    int8_t code = ((const int8_t *)(const void *)args->inputs[input]->data)[row];
    *flips = flips_of(code);
    if (*flips >= 0) return PFD_OK;
    return args->host->fail_row(err, row, -1, PFD_CORRUPT_DATA,
                                "flip_code is %d; it must be 0 (as it is), 1 (left to right), 2 "
                                "(top to bottom) or 3 (both)", code);
}
