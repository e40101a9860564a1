/* OFRecordBytesDecoder: takes one feature of bytes out of each record. */
#include "core/op_shorthand.h"
#include "formats/ofrecord/ofrecord_row.h"

#include <string.h>

typedef struct ofrecord_bytes_decoder_attrs {
    const char *blob_name;
} ofrecord_bytes_decoder_attrs;

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const ofrecord_bytes_decoder_attrs *attrs = args->attrs;
    args->outputs[0] = (pfd_row_type){.dtype = PFD_UINT8, .ndim = 1, .shape = {-1}};
    return pfd_of_check_input(args, attrs->blob_name, err);
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    const ofrecord_bytes_decoder_attrs *attrs = args->attrs;
    int64_t name_size = (int64_t)strlen(attrs->blob_name);
    for (int64_t i = 0; i < args->num_rows; i++) {
        pfd_of_row row = {args, i, attrs->blob_name, name_size};
        pfd_wire_cursor value;
        PFD_TRY(pfd_of_row_find_bytes(&row, &value, err));
        pfd_set_row(args, 0, i, value.at, value.end - value.at);
    }
    return PFD_OK;
}

static const pfd_attr attr_table[] = {
    PFD_STRING_ATTR(ofrecord_bytes_decoder_attrs, blob_name, NULL,
                    "Name of the feature in the record."),
};

static const pfd_port outputs[] = {
    {"out", "The bytes of each record's feature, uint8 of shape (batch, None)."},
};

const pfd_op pfd_op_ofrecord_bytes_decoder = {
    PFD_ROW_OP(PFD_TAKES_RAGGED, pfd_of_inputs, outputs),
    .name = "OFRecordBytesDecoder",
    .doc = "Takes a feature of bytes out of each OFRecord, for example an encoded image. "
           "The feature must be a bytes_list of one value. The bytes are not copied until a batch "
           "is delivered.",
    PFD_OP_ATTRS(ofrecord_bytes_decoder_attrs, attr_table),
};
