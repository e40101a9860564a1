/* The lengths of a data set's records. */
#include "views/lengths.h"

#include "core/error.h"
#include "core/tables.h"
#include "pyflowdata/pyflowdata.h"

#include <inttypes.h>

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
