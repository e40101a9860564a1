/* Rows that are pieces of a record. */
#include "views/pieces.h"

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

pfd_status pfd_pieces_infer(const pfd_infer_args *args, pfd_list_int64 divided, const char *attr,
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

/* Writes a row of a field: one of `count` equal pieces of a record's row. */
static pfd_status write_piece(const pfd_compute_args *args, int32_t field, int64_t row,
                              const pfd_row *from, int32_t drops, int64_t piece, int64_t count,
                              pfd_error *err)
{
    const pfd_tensor *out = args->outputs[field];
    int64_t bytes = from->num_elements / count * pfd_dtype_size(out->type.dtype);
    const uint8_t *data = bytes ? from->data + piece * bytes : from->data;
    if (out->is_ragged)
        return pfd_row_points_at(args, field, row, data, from->shape + drops, err) ? PFD_OK
                                                                                   : err->status;
    if (bytes) memcpy(out->data + row * out->row_bytes, data, (size_t)bytes);
    return PFD_OK;
}

static pfd_status write_field(const pfd_compute_args *args, int32_t field, int32_t divided,
                              const char *attr, pfd_error *err)
{
    const pfd_join_args *join = args->source;
    for (int64_t k = 0; k < join->num_parts; k++) {
        const pfd_part *part = &join->parts[k];
        pfd_row from;
        pfd_row_at(args->inputs[field], k, &from);
        if (divided && from.shape[0] != part->whole)
            return args->host->fail_row(err, part->row, -1, PFD_CORRUPT_DATA,
                                        "input number %d has %" PRId64
                                        " parts in this record; attr '%s' says %" PRId64,
                                        field, from.shape[0], attr, part->whole);
        for (int64_t i = 0; i < part->length; i++)
            PFD_TRY(write_piece(args, field, part->row + i, &from, divided,
                                divided ? part->begin + i : 0, divided ? part->whole : 1, err));
    }
    return PFD_OK;
}

pfd_status pfd_pieces_write(const pfd_compute_args *args, pfd_list_int64 divided, const char *attr,
                            pfd_error *err)
{
    for (int32_t i = 0; i < args->num_inputs; i++)
        PFD_TRY(write_field(args, i, is_divided(divided, i), attr, err));
    return PFD_OK;
}
