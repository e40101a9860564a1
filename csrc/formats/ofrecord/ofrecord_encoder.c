/* OFRecordEncoder: the fields of each row as an OFRecord of OneFlow. */
#include "core/op_shorthand.h"
#include "sources/feature_message.h"

/* The fields of the lists of a feature. */
enum { BYTES = 1, FLOAT = 2, DOUBLE = 3, INT32 = 4, INT64 = 5 };

static const pfd_feature_kinds kinds = {
    .message = "an OFRecord",
    .is_wrapped = 0,
    .list = {[PFD_BOOL] = INT32, [PFD_INT8] = INT32, [PFD_UINT8] = BYTES, [PFD_INT16] = INT32,
             [PFD_UINT16] = INT32, [PFD_INT32] = INT32, [PFD_UINT32] = INT64, [PFD_INT64] = INT64,
             [PFD_UINT64] = INT64, [PFD_FLOAT16] = FLOAT, [PFD_BFLOAT16] = FLOAT,
             [PFD_FLOAT32] = FLOAT, [PFD_FLOAT64] = DOUBLE},
};

PFD_FEATURE_MESSAGE_FUNCTIONS(kinds)

static const pfd_port inputs[] = {
    {"in", "The fields. Rows of uint8 are byte strings; other rows are lists of their numbers, in "
           "row-major order: int32 and float64 are kept as they are."},
};
static const pfd_port outputs[] = {{"out", "The bytes of each message, uint8 (None,)."}};

const pfd_op pfd_op_ofrecord_encoder = {
    PFD_ROW_OP(PFD_MANY_INPUTS | PFD_TAKES_RAGGED, inputs, outputs),
    .name = "OFRecordEncoder",
    .doc = "Encodes the fields of each row as a OneFlow OFRecord, which OFRecordRawDecoder and "
           "OFRecordBytesDecoder read. OFRecordFrame turns it into a record of a file.",
    PFD_OP_ATTRS(pfd_feature_message_attrs, pfd_feature_message_table),
};
