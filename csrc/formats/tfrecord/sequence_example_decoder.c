/* SequenceExampleDecoder: decodes context and lists of steps of tf.train.SequenceExamples. */
#include "core/op_shorthand.h"
#include "formats/tfrecord/feature_decoder.h"

PFD_FEATURE_DECODER_FUNCTIONS("tf.train.SequenceExample", 1)

static const pfd_attr attr_table[] = {
    PFD_FEATURE_ATTR_ROWS(0, "'label:int64' is one of the context, "
                          "'frames=feature_lists/frames:float32[?,3]' a list of steps with three "
                          "values each; a list that may be missing ends with '='.",
                          "features are one byte string, of each step, with",
                          ", or of the steps of a list, with another number of values than the "
                          "shape has:"),
};

const pfd_op pfd_op_sequence_example_decoder = {
    PFD_ROW_OP(PFD_TAKES_RAGGED, pfd_feature_inputs, pfd_feature_outputs),
    .name = "SequenceExampleDecoder",
    .doc = "Decodes tf.train.SequenceExamples, with one output for each field. "
           "Features of the context are read like those of ExampleDecoder. The prefix "
           "feature_lists/ before a key means a list of steps: the first dimension of its shape "
           "counts the steps, and all steps have the same number of values.",
    PFD_OP_ATTRS(pfd_feature_attrs, attr_table),
    .outputs_attr = "features",
    .same_without = pfd_always_same,
};
