/* ExampleEncoder: the fields of each row as a tf.train.Example. */
#include "core/op_shorthand.h"
#include "sources/feature_message.h"

/* The fields of the lists of a feature. */
enum { BYTES = 1, FLOAT = 2, INT64 = 3 };

static const pfd_feature_kinds kinds = {
    .message = "an Example",
    .is_wrapped = 1,
    .list = {[PFD_BOOL] = INT64, [PFD_INT8] = INT64, [PFD_UINT8] = BYTES, [PFD_INT16] = INT64,
             [PFD_UINT16] = INT64, [PFD_INT32] = INT64, [PFD_UINT32] = INT64, [PFD_INT64] = INT64,
             [PFD_UINT64] = INT64, [PFD_FLOAT16] = FLOAT, [PFD_BFLOAT16] = FLOAT,
             [PFD_FLOAT32] = FLOAT},
};

PFD_FEATURE_MESSAGE_FUNCTIONS(kinds)

static const pfd_port inputs[] = {
    {"in", "The fields. Rows of uint8 are byte strings; other rows are lists of their numbers, in "
           "row-major order: float64 needs a Cast to float32."},
};
static const pfd_port outputs[] = {{"out", "The bytes of each message, uint8 (None,)."}};

const pfd_op pfd_op_example_encoder = {
    PFD_ROW_OP(PFD_MANY_INPUTS | PFD_TAKES_RAGGED, inputs, outputs),
    .name = "ExampleEncoder",
    .doc = "Encodes the fields of each row as a tf.train.Example, which ExampleDecoder reads. "
           "TFRecordFrame turns it into a record of a file.",
    PFD_OP_ATTRS(pfd_feature_message_attrs, pfd_feature_message_table),
};
