/* DecodeNpy: decodes the bytes of a .npy file into an array. */
#include "core/op_shorthand.h"
#include "core/rows.h"
#include "formats/npy/npy_header.h"
#include "parse/row_type.h"
#include "pyflowdata/pyflowdata.h"

#include <inttypes.h>

typedef struct decode_npy_attrs {
    int32_t dtype;
    pfd_list_int64 shape;
} decode_npy_attrs;

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const decode_npy_attrs *attrs = args->attrs;
    pfd_row_type *out = &args->outputs[0];
    PFD_TRY(pfd_expect_bytes(args, err));
    *out = (pfd_row_type){.dtype = attrs->dtype, .ndim = (int32_t)attrs->shape.size};
    for (int32_t d = 0; d < out->ndim; d++) out->shape[d] = attrs->shape.data[d];
    return PFD_OK;
}

static pfd_status check_header(const pfd_compute_args *args, int64_t i, pfd_bytes row,
                               const pfd_npy_header *header, pfd_error *err)
{
    const pfd_row_type *type = &args->outputs[0]->type;
    char found[256], expected[256];
    pfd_row_type own = {.dtype = header->dtype, .ndim = header->ndim};
    int32_t fits = header->dtype == type->dtype && header->ndim == type->ndim;
    for (int32_t d = 0; d < header->ndim && d < PFD_MAX_DIMS; d++) {
        own.shape[d] = header->shape[d];
        fits &= d >= type->ndim || type->shape[d] < 0 || type->shape[d] == header->shape[d];
    }
    if (!fits)
        return args->host->fail_row(err, i, pfd_place_in_record(args, i, row.data),
                                    PFD_CORRUPT_DATA,
                                    "the array is %s, but the attrs dtype and shape say %s",
                                    pfd_format_row_type(&own, found, sizeof found),
                                    pfd_format_row_type(type, expected, sizeof expected));
    int64_t follow = row.size - header->header_bytes;
    if (header->num_bytes == follow) return PFD_OK;
    return args->host->fail_row(err, i,
                                pfd_place_in_record(args, i, row.data + header->header_bytes),
                                PFD_CORRUPT_DATA,
                                "%" PRId64 " bytes follow the header; an array of %s has %" PRId64,
                                follow,
                                pfd_format_row_type(&own, found, sizeof found), header->num_bytes);
}

/* Copies an array from Fortran order, in which the first index changes fastest, to C order. */
static void copy_transposed(const uint8_t *from, uint8_t *to, const int64_t *shape, int32_t ndim,
                            int64_t element_bytes)
{
    int64_t from_strides[PFD_MAX_DIMS], to_strides[PFD_MAX_DIMS];
    int64_t from_bytes = element_bytes, to_bytes = element_bytes;
    for (int32_t d = 0; d < ndim; d++) {
        from_strides[d] = from_bytes;
        from_bytes *= shape[d];
        to_strides[ndim - 1 - d] = to_bytes;
        to_bytes *= shape[ndim - 1 - d];
    }
    pfd_copy_box(from, from_strides, to, to_strides, shape, ndim, element_bytes);
}

static pfd_status decode(const pfd_compute_args *args, int64_t i, pfd_error *err)
{
    const pfd_tensor *out = args->outputs[0];
    int64_t element_bytes = pfd_dtype_size(out->type.dtype);
    pfd_npy_header header;
    pfd_bytes row = pfd_row_bytes(args->inputs[0], i);
    pfd_status status = pfd_npy_header_read(args->host, row.data, row.size, &header, err);
    if (status != PFD_OK) {
        err->row = i;
        err->byte = pfd_place_in_record(args, i, row.data + (err->byte > 0 ? err->byte : 0));
        err->status = PFD_CORRUPT_DATA;
        return PFD_CORRUPT_DATA;
    }
    PFD_TRY(check_header(args, i, row, &header, err));
    const uint8_t *from = row.data + header.header_bytes;
    int64_t n = header.num_bytes / element_bytes;
    int32_t swap = pfd_order_is_foreign(header.byte_order) && element_bytes > 1;
    int32_t is_usable = args->inputs[0]->is_ragged && !swap && !header.is_fortran &&
                        header.dtype != PFD_BOOL && (uintptr_t)from % (uintptr_t)element_bytes == 0;
    if (out->is_ragged && is_usable)
        return pfd_row_points_at(args, 0, i, from, header.shape, err) ? PFD_OK : err->status;
    uint8_t *to = pfd_row_to_write(args, 0, i, header.shape, err);
    if (!to) return err->status;
    if (!header.is_fortran) {
        pfd_copy_stored(to, from, n, header.dtype, swap);
        return PFD_OK;
    }
    uint8_t *copy = args->host->alloc(args->scratch, header.num_bytes);
    if (!copy) return args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for an array");
    pfd_copy_stored(copy, from, n, header.dtype, swap);
    copy_transposed(copy, to, header.shape, header.ndim, element_bytes);
    return PFD_OK;
}

PFD_COMPUTE_EACH_ROW(decode)

static const pfd_attr attr_table[] = {
    PFD_DTYPE_ATTR(decode_npy_attrs, dtype, NULL, NULL, "The dtype of every array."),
    PFD_RAGGED_SHAPE_ATTR(decode_npy_attrs, shape, NULL,
                          "The shape of every array, empty for a number; -1, or None in Python, "
                          "for a dimension that varies."),
};

static const pfd_port inputs[] = {{"in", "Rows of bytes, uint8 of one dimension, which may vary."}};
static const pfd_port outputs[] = {{"out", "The arrays; ragged where a dimension varies."}};

const pfd_op pfd_op_decode_npy = {
    PFD_ROW_OP(PFD_TAKES_RAGGED, inputs, outputs),
    .name = "DecodeNpy",
    .doc = "Decodes each row as the bytes of a .npy file, as numpy.save writes it. "
           "An array with another dtype or shape counts as damaged; so does one with too few or "
           "too many bytes. Both byte orders, and C and Fortran order, are accepted.",
    PFD_OP_ATTRS(decode_npy_attrs, attr_table),
};
