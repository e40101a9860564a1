/* AddToken: adds a number at the beginning or the end of each row. */
#include "core/op_shorthand.h"
#include "core/rows.h"
#include "parse/row_type.h"
#include "pyflowdata/pyflowdata.h"

#include <inttypes.h>
#include <string.h>

typedef struct add_token_attrs {
    int64_t token;
    int32_t begin;
} add_token_attrs;

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const add_token_attrs *attrs = args->attrs;
    pfd_row_type *out = &args->outputs[0];
    _Alignas(8) uint8_t element[8];
    *out = args->inputs[0];
    if (out->ndim != 1) return pfd_refuse_rows(args, 0, "in", "they must have one dimension", err);
    if (pfd_convert(PFD_INT64, &attrs->token, out->dtype, element, 1, PFD_OVERFLOW_RAISE) != 1)
        return args->host->fail(err, PFD_INVALID_ARGUMENT,
                                "token = %" PRId64 "; the rows are %s, which cannot hold it",
                                attrs->token, pfd_dtype_name(out->dtype));
    if (out->shape[0] >= 0) out->shape[0]++;
    return PFD_OK;
}

static pfd_status add(const pfd_compute_args *args, int64_t i, pfd_error *err)
{
    const add_token_attrs *attrs = args->attrs;
    const pfd_tensor *in = args->inputs[0];
    int64_t bytes = pfd_dtype_size(in->type.dtype);
    pfd_row row;
    pfd_row_at(in, i, &row);
    int64_t length = row.num_elements + 1, row_bytes = row.num_elements * bytes;
    uint8_t *to = pfd_row_to_write(args, 0, i, &length, err);
    if (!to) return err->status;
    if (row_bytes > 0) memcpy(to + (attrs->begin ? bytes : 0), row.data, (size_t)row_bytes);
    (void)pfd_convert(PFD_INT64, &attrs->token, in->type.dtype, to + (attrs->begin ? 0 : row_bytes),
                      1, PFD_OVERFLOW_WRAP);
    return PFD_OK;
}

PFD_COMPUTE_EACH_ROW(add)

static const pfd_attr attr_table[] = {
    PFD_INT_ATTR(add_token_attrs, token, NULL, -9007199254740992.0, 9007199254740992.0,
                 "The number of the token."),
    PFD_BOOL_ATTR(add_token_attrs, begin, "true",
                  "Whether the token is added at the beginning; else at the end."),
};

static const pfd_port inputs[] = {
    {"in", "Rows of one dimension, of any dtype, dense or ragged."},
};
static const pfd_port outputs[] = {{"out", "The rows, each with one element more."}};

const pfd_op pfd_op_add_token = {
    PFD_ROW_OP(PFD_TAKES_RAGGED, inputs, outputs),
    .name = "AddToken",
    .doc = "Adds a token, by its number, at the beginning or the end of each row.",
    PFD_OP_ATTRS(add_token_attrs, attr_table),
};
