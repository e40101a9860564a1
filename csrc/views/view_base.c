/* What views share: types of the outputs, and ranges of records. */
#include "views/view_base.h"

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

pfd_status pfd_view_open_no_source(const pfd_open_args *args, pfd_source *out, pfd_error *err)
{
    (void)args, (void)out;
    return pfd_fail(err, PFD_INTERNAL, "a view cannot be opened as a source");
}

pfd_status pfd_view_need_end(const pfd_view_args *args, const char *what, pfd_error *err)
{
    if (args->inner[0]->size < PFD_ENDLESS) return PFD_OK;
    return pfd_fail(err, PFD_INVALID_ARGUMENT,
                    "%s, and the data set has no end, as repeat() has none: use it before "
                    "repeat(), or after take(n)",
                    what);
}

/* ---- Ranges of records ----------------------------------------------------------------------- */

typedef struct range_view {
    pfd_view base;
    int64_t first, step;
} range_view;

static void map_range(const pfd_view *view, const pfd_places *places)
{
    const int64_t first = ((const range_view *)view)->first;
    const int64_t step = ((const range_view *)view)->step;
    for (int64_t i = 0; i < places->n; i++)
        places->positions[i] = first + places->positions[i] * step;
}

pfd_status pfd_range_view_open(int64_t first, int64_t step, int64_t size, pfd_view **out,
                               pfd_error *err)
{
    static const pfd_view_methods methods = {
        .name = "a range of records", .close = pfd_view_free, .map = map_range};
    range_view *self;
    PFD_TRY(pfd_view_create(sizeof *self, &methods, &self, err));
    self->first = first;
    self->step = step;
    self->base.size = size;
    *out = &self->base;
    return PFD_OK;
}
