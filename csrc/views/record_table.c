/* Tables with a number for each record. */
#include "views/record_table.h"

#include "core/error.h"
#include "core/radix_sort.h"
#include "core/tables.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

pfd_status pfd_record_table(const pfd_view_args *args, const char *attr, int64_t number,
                            int32_t dtype, const void **out, pfd_error *err)
{
    pfd_table table;
    PFD_TRY(pfd_table_find(number, &table, err));
    int64_t records = args->inner[0]->size;
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
    int64_t n = args->inner[0]->size;
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

/* ---- Runs ------------------------------------------------------------------------------------ */

uint32_t *pfd_sort_records(const uint64_t *keys, int64_t n)
{
    size_t bytes = ((size_t)n + 1) * sizeof(uint32_t);
    uint32_t *records = malloc(bytes), *work = malloc(bytes);
    if (records && work) pfd_radix_sort(keys, n, records, work);
    free(work);
    if (work) return records;
    free(records);
    return NULL;
}

/* ---- Lengths --------------------------------------------------------------------------------- */

static int64_t find_negative(const pfd_lengths *lengths)
{
    for (int64_t i = 0; i < lengths->count; i++)
        if (pfd_length_at(lengths, i) < 0) return i;
    return -1;
}

pfd_status pfd_lengths_find(const char *attr, int64_t number, int64_t records, pfd_lengths *out,
                            pfd_error *err)
{
    pfd_table table;
    PFD_TRY(pfd_table_find(number, &table, err));
    if (table.dtype != PFD_INT32 && table.dtype != PFD_INT64)
        return pfd_fail_attr(err, attr, NULL, PFD_INVALID_ARGUMENT,
                             " is an array of %s; lengths are int32 or int64",
                             pfd_dtype_name(table.dtype));
    if (table.count != records)
        return pfd_fail_attr(err, attr, NULL, PFD_INVALID_ARGUMENT,
                             " has %" PRId64 " elements, but the data set has %" PRId64
                             " records; each needs its length",
                             table.count, records);
    *out = (pfd_lengths){.count = table.count};
    if (table.dtype == PFD_INT32)
        out->narrow = table.data;
    else
        out->wide = table.data;
    int64_t negative = find_negative(out);
    if (negative >= 0)
        return pfd_fail_attr(err, attr, NULL, PFD_INVALID_ARGUMENT,
                             ": element %" PRId64 " is %" PRId64 "; a length is 0 or more",
                             negative, pfd_length_at(out, negative));
    return PFD_OK;
}
