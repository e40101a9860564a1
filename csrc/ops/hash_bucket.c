/* HashBucket: numbers of buckets from texts or integers, by a hash. */
#include "core/bytes.h"
#include "core/convert.h"
#include "core/hash.h"
#include "core/op_shorthand.h"
#include "core/rows.h"
#include "parse/row_type.h"

typedef struct hash_bucket_attrs {
    int64_t buckets, seed;
} hash_bucket_attrs;

static int32_t is_text(const pfd_row_type *type)
{
    return type->dtype == PFD_UINT8 && type->ndim == 1;
}

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const pfd_row_type *in = &args->inputs[0];
    if (in->dtype == PFD_BOOL || pfd_dtype_is_float(in->dtype))
        return pfd_refuse_rows(args, 0, "in", "they must be texts or integers: use Bucketize for "
                               "floats", err);
    args->outputs[0] = is_text(in) ? (pfd_row_type){.ndim = 0} : *in;
    args->outputs[0].dtype = PFD_INT64;
    return PFD_OK;
}

static int64_t bucket_of(const hash_bucket_attrs *attrs, const void *data, int64_t size)
{
    uint64_t hash = pfd_mix64(pfd_xxh64(data, size) ^ pfd_mix64((uint64_t)attrs->seed));
    return (int64_t)(hash % (uint64_t)attrs->buckets);
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    const hash_bucket_attrs *attrs = args->attrs;
    const pfd_tensor *in = args->inputs[0];
    int64_t bytes = pfd_dtype_size(in->type.dtype);
    for (int64_t i = 0; i < args->num_rows; i++) {
        if (is_text(&in->type)) {
            pfd_bytes text = pfd_row_bytes(in, i);
            ((int64_t *)(void *)args->outputs[0]->data)[i] = bucket_of(attrs, text.data, text.size);
            continue;
        }
        pfd_row row;
        pfd_row_at(in, i, &row);
        int64_t *out = pfd_row_to_write(args, 0, i, row.shape, err);
        if (!out) return err->status;
        for (int64_t k = 0; k < row.num_elements; k++) {
            uint8_t stored[8];
            int64_t value;
            (void)pfd_convert(in->type.dtype, row.data + k * bytes, PFD_INT64, &value, 1,
                              PFD_OVERFLOW_WRAP);
            pfd_store_le64((uint64_t)value, stored);
            out[k] = bucket_of(attrs, stored, 8);
        }
    }
    return PFD_OK;
}

static const pfd_attr attr_table[] = {
    PFD_INT_ATTR(hash_bucket_attrs, buckets, NULL, 1, 9007199254740992.0,
                 "The number of buckets, which are numbered from 0."),
    PFD_INT_ATTR(hash_bucket_attrs, seed, "0", 0, 9007199254740992.0,
                 "With another seed, other values share a bucket."),
};

static const pfd_port inputs[] = {
    {"in", "Texts, uint8 of one dimension, which may vary; or integers of any other shape or "
           "dtype."},
};
static const pfd_port outputs[] = {
    {"out", "int64: one number for each text; for integers, numbers in the shape of the input."},
};

const pfd_op pfd_op_hash_bucket = {
    PFD_ROW_OP(PFD_TAKES_RAGGED | PFD_KEEPS_EQUAL_ROWS, inputs, outputs),
    .name = "HashBucket",
    .doc = "Finds the bucket of each text or integer: a hash of its bytes, modulo buckets. A value "
           "has the same bucket on every machine, and different values can share a bucket. The "
           "hash is XXH64 of the text, or of the integer as eight little-endian bytes, mixed with "
           "the seed.",
    PFD_OP_ATTRS(hash_bucket_attrs, attr_table),
};
