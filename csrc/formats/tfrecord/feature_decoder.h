/* formats/tfrecord/feature_decoder.h -- the code that the decoders of tf.train.Features share.
 *
 *     Example         { Features features = 1 }
 *     SequenceExample { Features context = 1, FeatureLists feature_lists = 2 }
 */
#ifndef PFD_FORMATS_TFRECORD_FEATURE_DECODER_H
#define PFD_FORMATS_TFRECORD_FEATURE_DECODER_H
#include "pyflowdata/op.h"

/* The message that each record is. */
typedef struct pfd_feature_message {
    const char *name;  /* "tf.train.Example" */
    int32_t has_lists; /* 1: it has lists of steps too */
} pfd_feature_message;

typedef struct pfd_feature_attrs {
    pfd_list_string features, decode_raw;
    int32_t on_mismatch;
} pfd_feature_attrs;

/* The choices of the attr on_mismatch. */
enum { PFD_MISMATCH_RAISE, PFD_MISMATCH_PAD, PFD_MISMATCH_TRUNCATE, PFD_MISMATCH_FIT };
#define PFD_MISMATCH_CHOICES "raise|pad|truncate|fit"

/* Checks the input and the attrs, a pfd_feature_attrs, and sets the types of all outputs. */
pfd_status pfd_feature_specs_infer(const pfd_infer_args *args, const pfd_feature_message *message,
                                   pfd_error *err);

/* compute() of these ops.  Their attrs are pfd_feature_attrs. */
pfd_status pfd_feature_compute(const pfd_compute_args *args, const pfd_feature_message *message,
                               pfd_error *err);

/* Defines infer() and compute() of the decoder of a message; the arguments are the members of
 * pfd_feature_message. */
#define PFD_FEATURE_DECODER_FUNCTIONS(name, has_lists)                                             \
    static const pfd_feature_message message = {name, has_lists};                                  \
                                                                                                   \
    static pfd_status infer(const pfd_infer_args *args, pfd_error *err)                            \
    {                                                                                              \
        return pfd_feature_specs_infer(args, &message, err);                                       \
    }                                                                                              \
                                                                                                   \
    static pfd_status compute(const pfd_compute_args *args, pfd_error *err)                        \
    {                                                                                              \
        return pfd_feature_compute(args, &message, err);                                           \
    }

extern const pfd_port pfd_feature_inputs[1], pfd_feature_outputs[1];

/* Their attr table; `flags` are the flags of the attr features; the other arguments complete the
 * docs. */
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
