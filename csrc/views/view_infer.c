/* The outputs of views: the fields that go in. */
#include "views/view_infer.h"

#include "core/error.h"
#include "parse/row_type.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

pfd_status pfd_view_infer(const pfd_infer_args *args, pfd_error *err)
{
    (void)err;
    for (int64_t i = 0; i < args->num_outputs; i++) args->outputs[i] = args->inputs[i];
    return PFD_OK;
}

static int32_t is_same(const pfd_row_type *a, const pfd_row_type *b)
{
    return a->dtype == b->dtype && a->ndim == b->ndim &&
           !memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof *a->shape);
}

/* "int64 (), uint8 (?)": the fields of a source. */
static void describe(const pfd_row_type *fields, int64_t n, char *out, size_t room)
{
    size_t used = 0;
    char one[128];
    out[0] = '\0';
    for (int64_t i = 0; i < n && used + 1 < room; i++) {
        const char *type = pfd_format_row_type(&fields[i], one, sizeof one);
        int more = snprintf(out + used, room - used, i > 0 ? "; %s" : "%s", type);
        used += more > 0 ? (size_t)more : 0;
    }
}

pfd_status pfd_choice_infer(const pfd_infer_args *args, int64_t num_sources, pfd_error *err)
{
    int64_t fields = args->num_inputs / num_sources;
    if (args->num_inputs % num_sources != 0)
        return pfd_fail_attr(err, "num_sources", NULL, PFD_INVALID_ARGUMENT,
                             " = %" PRId64 " does not divide the %" PRId64
                             " inputs, which are the fields of one source after those of another",
                             num_sources, args->num_inputs);
    for (int64_t s = 1; s < num_sources; s++) {
        for (int64_t i = 0; i < fields; i++) {
            const pfd_row_type *first = &args->inputs[i], *other = &args->inputs[s * fields + i];
            char one[400], two[400];
            if (is_same(first, other)) continue;
            describe(args->inputs, fields, one, sizeof one);
            describe(args->inputs + s * fields, fields, two, sizeof two);
            return pfd_fail(err, PFD_INVALID_ARGUMENT,
                            "field %" PRId64 " of source %" PRId64 " differs from that of source "
                            "0; source 0 has %s, source %" PRId64 " has %s",
                            i, s, one, s, two);
        }
    }
    return pfd_view_infer(args, err);
}
