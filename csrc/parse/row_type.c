/* The type of a row in a message, written as NumPy would write dtype and shape;
 * None stands for a dimension that varies. */
#include "parse/row_type.h"

#include "pyflowdata/pyflowdata.h"

#include <inttypes.h>
#include <stdio.h>

const char *pfd_format_row_type(const pfd_row_type *type, char *out, size_t capacity)
{
    const char *dtype = pfd_dtype_name(type->dtype);
    size_t used = (size_t)snprintf(out, capacity, "%s (", dtype ? dtype : "unknown");
    for (int32_t i = 0; i < type->ndim && i < PFD_MAX_DIMS && used < capacity; i++) {
        const char *comma = i ? ", " : "";
        used += (size_t)(type->shape[i] < 0
                             ? snprintf(out + used, capacity - used, "%sNone", comma)
                             : snprintf(out + used, capacity - used, "%s%" PRId64, comma,
                                        type->shape[i]));
    }
    if (used < capacity) (void)snprintf(out + used, capacity - used, type->ndim == 1 ? ",)" : ")");
    return out;
}

pfd_status pfd_refuse_rows(const pfd_infer_args *args, int32_t input, const char *name,
                           const char *expected, pfd_error *err)
{
    char found[256];
    return args->host->fail(err, PFD_INVALID_ARGUMENT, "the rows of input '%s' are %s; %s", name,
                            pfd_format_row_type(&args->inputs[input], found, sizeof found),
                            expected);
}

pfd_status pfd_expect_bytes(const pfd_infer_args *args, pfd_error *err)
{
    const pfd_row_type *in = &args->inputs[0];
    if (in->dtype == PFD_UINT8 && in->ndim == 1) return PFD_OK;
    return pfd_refuse_rows(args, 0, "in", "they must be bytes: uint8 (None,) or uint8 (n,)", err);
}
