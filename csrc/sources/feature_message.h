/* sources/feature_message.h -- encodes rows as messages of named lists of bytes or numbers, as a
 * tf.train.Example and an OFRecord are:
 *
 *     map<string, Feature> feature = 1        Feature: one list, whose field says the kind
 *                                             list:    repeated value = 1, numbers packed
 *
 * A row of uint8 is one byte string, a row of another dtype a list of its numbers.  Equal rows have
 * equal bytes: entries stand in the order of the inputs.
 */
#ifndef PFD_SOURCES_FEATURE_MESSAGE_H
#define PFD_SOURCES_FEATURE_MESSAGE_H
#include "pyflowdata/op.h"

typedef struct pfd_feature_kinds {
    const char *message; /* with its article: "an Example" */
    int32_t is_wrapped;  /* the map is field 1 of a message inside the record */
    uint8_t list[PFD_BFLOAT16 + 1]; /* dtype -> field of its list; 0: it cannot be held.  Floats
                                       of 16 bits are widened, and integers are varints. */
} pfd_feature_kinds;

/* The attrs of the ops, and their table. */
typedef struct pfd_feature_message_attrs {
    pfd_list_string names;
} pfd_feature_message_attrs;

extern const pfd_attr pfd_feature_message_table[1];

/* One name for each input, whose dtypes a message can hold; the output is bytes. */
pfd_status pfd_feature_message_infer(const pfd_infer_args *args, const pfd_feature_kinds *kinds,
                                     pfd_error *err);

/* Encodes the rows of a call. */
pfd_status pfd_feature_message_encode(const pfd_compute_args *args, const pfd_feature_kinds *kinds,
                                      pfd_error *err);

/* Defines infer() and compute() of an op. */
#define PFD_FEATURE_MESSAGE_FUNCTIONS(kinds)                                                       \
    static pfd_status infer(const pfd_infer_args *args, pfd_error *err)                            \
    {                                                                                              \
        return pfd_feature_message_infer(args, &(kinds), err);                                     \
    }                                                                                              \
                                                                                                   \
    static pfd_status compute(const pfd_compute_args *args, pfd_error *err)                        \
    {                                                                                              \
        return pfd_feature_message_encode(args, &(kinds), err);                                    \
    }
#endif
