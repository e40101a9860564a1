/* formats/tfrecord/feature_decoder.h -- what the decoders of tf.train.Features have in common.
 *
 *     Example         { Features features = 1 }
 *     SequenceExample { Features context = 1, FeatureLists feature_lists = 2 }
 */
#ifndef PFD_FORMATS_TFRECORD_FEATURE_DECODER_H
#define PFD_FORMATS_TFRECORD_FEATURE_DECODER_H
#include "formats/tfrecord/feature_spec.h"

/* compute() of such an op, whose attrs are pfd_feature_attrs; its infer() is
 * pfd_feature_specs_infer(). */
pfd_status pfd_feature_compute(const pfd_compute_args *args, const pfd_feature_message *message,
                               pfd_error *err);

extern const pfd_port pfd_feature_inputs[1], pfd_feature_outputs[1];

/* Its attrs; the docs end what they say of all such ops. */
#define PFD_FEATURE_ATTR_ROWS(features_doc, raw_doc, mismatch_doc)                                 \
    PFD_STRINGS_ATTR(pfd_feature_attrs, features, NULL,                                            \
                     "The features to read, each as [NAME=]KEY:TYPE[=DEFAULT]: " features_doc),    \
    PFD_STRINGS_ATTR(pfd_feature_attrs, decode_raw, "",                                            \
                     "The names of those fields whose " raw_doc                                    \
                     " little-endian numbers of the field's dtype."),                              \
    PFD_CHOICE_ATTR(pfd_feature_attrs, on_mismatch, "raise", PFD_MISMATCH_CHOICES,                 \
                    "What becomes of a feature" mismatch_doc                                       \
                    " an error, or what is too short is padded with the default or 0, what is "    \
                    "too long is cut, or both (fit).")
#endif
