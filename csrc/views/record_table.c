/* Tables with a number for each record. */
#include "views/record_table.h"

#include "core/convert.h"
#include "core/error.h"
#include "core/tables.h"

#include <inttypes.h>
#include <math.h>

pfd_status pfd_record_table(const pfd_view_args *args, const char *attr, int64_t number,
                            int32_t dtype, const void **out, pfd_error *err)
{
    pfd_table table;
    PFD_TRY(pfd_table_find(number, &table, err));
    int64_t records = pfd_view_size(args->inner[0]);
    if (table.dtype != dtype)
        return pfd_fail_attr(err, attr, NULL, PFD_INVALID_ARGUMENT, " has %s, not %s",
                             pfd_dtype_name(table.dtype), pfd_dtype_name(dtype));
    if (table.count != records)
        return pfd_fail_attr(err, attr, NULL, PFD_INVALID_ARGUMENT,
                             " has %" PRId64 " numbers for %" PRId64
                             " records; it needs one for each",
                             table.count, records);
    if (records > UINT32_MAX)
        return pfd_fail_attr(err, attr, NULL, PFD_UNSUPPORTED,
                             " has %" PRId64 " numbers; at most %" PRIu32 " are possible", records,
                             UINT32_MAX);
    *out = table.data;
    return PFD_OK;
}

pfd_status pfd_record_weights(const pfd_view_args *args, const char *attr, int64_t number,
                              const double **out, pfd_error *err)
{
    const void *data;
    PFD_TRY(pfd_record_table(args, attr, number, PFD_FLOAT64, &data, err));
    const double *weights = data;
    int64_t n = pfd_view_size(args->inner[0]);
    int32_t has_weight = 0;
    for (int64_t i = 0; i < n; i++) {
        if (!(weights[i] >= 0) || isinf(weights[i]))
            return pfd_fail_attr(err, attr, NULL, PFD_INVALID_ARGUMENT,
                                 ": record %" PRId64
                                 " has %g; the numbers are finite, and none is negative",
                                 i, weights[i]);
        has_weight |= weights[i] > 0;
    }
    if (!has_weight)
        return pfd_fail_attr(err, attr, NULL, PFD_INVALID_ARGUMENT,
                             ": no record has more than 0");
    *out = weights;
    return PFD_OK;
}
