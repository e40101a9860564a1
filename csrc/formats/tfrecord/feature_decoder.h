/* formats/tfrecord/feature_decoder.h -- the code that the decoders of tf.train.Features share.
 *
 *     Example         { Features features = 1 }
 *     SequenceExample { Features context = 1, FeatureLists feature_lists = 2 }
 */
#ifndef PFD_FORMATS_TFRECORD_FEATURE_DECODER_H
#define PFD_FORMATS_TFRECORD_FEATURE_DECODER_H
#include "formats/tfrecord/feature_spec.h"

/* compute() of these ops.  Their attrs are pfd_feature_attrs, and their infer() is
 * pfd_feature_specs_infer(). */
pfd_status pfd_feature_compute(const pfd_compute_args *args, const pfd_feature_message *message,
                               pfd_error *err);

extern const pfd_port pfd_feature_inputs[1], pfd_feature_outputs[1];

/* Their attrs; `flags` are of the first one, and the other arguments complete the docs. */
#define PFD_FEATURE_ATTR_ROWS(flags, features_doc, raw_doc, mismatch_doc)                          \
    PFD_ATTR_ROW_WITH(pfd_feature_attrs, features, PFD_ATTR_LIST_STRING, NULL, 0, 0, NULL,         \
                      "The features to read, each as [NAME=]KEY:TYPE[=DEFAULT]: " features_doc,    \
                      flags),                                                                      \
    PFD_STRINGS_ATTR(pfd_feature_attrs, decode_raw, "",                                            \
                     "The names of those fields whose " raw_doc                                    \
                     " little-endian numbers of the field's dtype."),                              \
    PFD_CHOICE_ATTR(pfd_feature_attrs, on_mismatch, "raise", PFD_MISMATCH_CHOICES,                 \
                    "How to handle a feature" mismatch_doc                                         \
                    " raise an error, pad short ones with the default or 0, truncate long ones, "  \
                    "or do both (fit).")
#endif
