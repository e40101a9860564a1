/* ExampleDecoder: takes the features of tf.train.Examples, one output each. */
#include "core/op_shorthand.h"
#include "formats/tfrecord/feature_decoder.h"

PFD_FEATURE_DECODER_FUNCTIONS("tf.train.Example", 0)

static const pfd_attr attr_table[] = {
    PFD_FEATURE_ATTR_ROWS(
        PFD_ATTR_FOUND,
        "'x:float32[64]' has a fixed number of values, 'ids:int64[?]' any number, "
        "'image/encoded:bytes' one byte string. If left out, all features of the first records, in "
        "the order of their names.",
        "feature is one byte string of", " with another number of values than its shape has:"),
};

const pfd_op pfd_op_example_decoder = {
    PFD_ROW_OP(PFD_TAKES_RAGGED, pfd_feature_inputs, pfd_feature_outputs),
    .name = "ExampleDecoder",
    .doc =
        "Decodes tf.train.Examples, with one output for each field. "
        "A float dtype reads a float_list, bool and integers an int64_list. A number outside the "
        "range of the dtype is an error, for example 2 for a bool. A missing feature gets its "
        "default; without a default it is an error, or an empty row if the number of values "
        "varies. Other features are skipped. Records are read by the rules of the protobuf "
        "library: the last of equal keys counts, numbers may be packed or not.",
    PFD_OP_ATTRS(pfd_feature_attrs, attr_table),
    .outputs_attr = "features",
    .same_without = pfd_always_same,
};
