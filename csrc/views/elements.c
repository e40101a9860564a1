/* Rows that are elements of a record. */
#include "views/elements.h"

#include "core/error.h"
#include "core/rows.h"
#include "dataset/view.h"
#include "parse/row_type.h"

#include <inttypes.h>
#include <string.h>

static int32_t is_divided(pfd_list_int64 divided, int64_t field)
{
    for (int64_t i = 0; i < divided.size; i++)
        if (divided.data[i] == field) return 1;
    return 0;
}

/* ---- Types ----------------------------------------------------------------------------------- */

static pfd_status infer_divided(const pfd_infer_args *args, int64_t field, const char *attr,
                                int64_t whole, pfd_error *err)
{
    const pfd_row_type *in = &args->inputs[field];
    pfd_row_type *out = &args->outputs[field];
    char found[256];
    if (whole >= 0 && (in->ndim == 0 || (in->shape[0] >= 0 && in->shape[0] != whole)))
        return pfd_fail_attr(err, attr, NULL, PFD_INVALID_ARGUMENT,
                             " = %" PRId64 "; the rows of input number %" PRId64
                             " are %s, and their first dimension must be that",
                             whole, field, pfd_format_row_type(in, found, sizeof found));
    if (in->ndim == 0)
        return pfd_fail_attr(err, "divided", NULL, PFD_INVALID_ARGUMENT,
                             ": the rows of input number %" PRId64
                             " are %s, which have no dimension to be divided along",
                             field, pfd_format_row_type(in, found, sizeof found));
    *out = *in;
    out->ndim--;
    memmove(out->shape, in->shape + 1, (size_t)out->ndim * sizeof *out->shape);
    return PFD_OK;
}

pfd_status pfd_elements_infer(const pfd_infer_args *args, pfd_list_int64 divided, const char *attr,
                              int64_t whole, pfd_error *err)
{
    for (int64_t i = 0; i < divided.size; i++)
        if (divided.data[i] < 0 || divided.data[i] >= args->num_inputs)
            return pfd_fail_attr(err, "divided", NULL, PFD_INVALID_ARGUMENT,
                                 ": element %" PRId64 " = %" PRId64 "; there are %" PRId64
                                 " inputs, numbered from 0",
                                 i, divided.data[i], args->num_inputs);
    for (int64_t i = 0; i < args->num_inputs; i++) {
        args->outputs[i] = args->inputs[i];
        if (is_divided(divided, i)) PFD_TRY(infer_divided(args, i, attr, whole, err));
    }
    return PFD_OK;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* Writes a row of a field: one of `count` equal elements of a record's row. */
static pfd_status write_element(const pfd_compute_args *args, int32_t field, int64_t row,
                                const pfd_row *from, int32_t drops, int64_t element, int64_t count,
                                pfd_error *err)
{
    const pfd_tensor *out = args->outputs[field];
    int64_t bytes = from->num_elements / count * pfd_dtype_size(out->type.dtype);
    const uint8_t *data = bytes ? from->data + element * bytes : from->data;
    if (out->is_ragged)
        return pfd_row_points_at(args, field, row, data, from->shape + drops, err) ? PFD_OK
                                                                                   : err->status;
    if (bytes) memcpy(out->data + row * out->row_bytes, data, (size_t)bytes);
    return PFD_OK;
}

static const char *name_of(pfd_list_string fields, int64_t field)
{
    return field < fields.size ? fields.data[field] : "without a name";
}

/* A record has `found` elements in a divided field, and another number was expected: that of
 * another divided field, or else what the attr says. */
static pfd_status fail_count(const pfd_compute_args *args, pfd_list_string fields,
                             pfd_list_int64 divided, const char *attr, int64_t field, int64_t k,
                             int64_t found, pfd_error *err)
{
    const pfd_piece *piece = &((const pfd_join_args *)args->source)->pieces[k];
    for (int64_t i = 0; i < divided.size; i++) {
        pfd_row other;
        pfd_row_at(args->inputs[divided.data[i]], k, &other);
        if (other.shape[0] == piece->whole)
            return args->host->fail_row(
                err, piece->row, -1, PFD_CORRUPT_DATA,
                "the field '%s' has %" PRId64 " elements in this record, and '%s' has %" PRId64
                ": fields that are divided together have equally many",
                name_of(fields, field), found, name_of(fields, divided.data[i]), piece->whole);
    }
    return args->host->fail_row(err, piece->row, -1, PFD_CORRUPT_DATA,
                                "the field '%s' has %" PRId64
                                " elements in this record; attr '%s' says %" PRId64,
                                name_of(fields, field), found, attr, piece->whole);
}

pfd_status pfd_elements_write(const pfd_compute_args *args, pfd_list_string fields,
                              pfd_list_int64 divided, const char *attr, pfd_error *err)
{
    const pfd_join_args *join = args->source;
    for (int32_t field = 0; field < args->num_inputs; field++) {
        const int32_t drops = is_divided(divided, field);
        for (int64_t k = 0; k < join->num_pieces; k++) {
            const pfd_piece *piece = &join->pieces[k];
            pfd_row from;
            pfd_row_at(args->inputs[field], k, &from);
            if (drops && from.shape[0] != piece->whole)
                return fail_count(args, fields, divided, attr, field, k, from.shape[0], err);
            for (int64_t i = 0; i < piece->length; i++)
                PFD_TRY(write_element(args, field, piece->row + i, &from, drops,
                                      drops ? piece->begin + i : 0, drops ? piece->whole : 1, err));
        }
    }
    return PFD_OK;
}
