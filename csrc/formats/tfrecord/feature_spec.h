/* formats/tfrecord/feature_spec.h -- the field of an output of a decoder of tf.train.Features.
 *
 * It is a field (parse/row_type.h) with a type.  Floats read a float_list, bool and integers
 * an int64_list, "bytes" a bytes_list of one value.  A raw field reads a bytes_list of one
 * value, whose bytes are little-endian numbers of the dtype.
 */
#ifndef PFD_FORMATS_TFRECORD_FEATURE_SPEC_H
#define PFD_FORMATS_TFRECORD_FEATURE_SPEC_H
#include "formats/tfrecord/feature_list.h"
#include "parse/row_type.h"

#define PFD_FEATURE_LISTS "feature_lists/" /* begins the key of a list of steps */

typedef struct pfd_feature_attrs {
    pfd_list_string features, decode_raw;
    int32_t on_mismatch;
} pfd_feature_attrs;

/* on_mismatch */
enum { PFD_MISMATCH_RAISE, PFD_MISMATCH_PAD, PFD_MISMATCH_TRUNCATE, PFD_MISMATCH_FIT };
#define PFD_MISMATCH_CHOICES "raise|pad|truncate|fit"

typedef struct pfd_feature_spec {
    pfd_field_spec field; /* without PFD_FEATURE_LISTS in its key */
    const char *element;  /* as the user wrote it */
    int32_t kind;         /* PFD_FEATURE_*: the list that is read */
    int32_t is_raw;       /* a byte string is read as numbers */
    int32_t is_bytes;     /* the row is a byte string */
    int32_t is_steps;     /* of a list of steps: the first dimension counts them */
    int32_t is_ragged;
    int64_t count;         /* values of a row or of a step; of the fixed dimensions together */
    int64_t element_bytes; /* of a value */
    const uint8_t *fill;   /* `count` values of the default, or zeros; NULL if the row is ragged */
} pfd_feature_spec;

/* Checks the input and the attrs, which are pfd_feature_attrs, and sets the types of all outputs.
 */
pfd_status pfd_feature_specs_infer(const pfd_infer_args *args, const pfd_feature_message *message,
                                   pfd_error *err);

/* Makes all fields, in the scratch of a call. */
pfd_status pfd_feature_specs_make(const pfd_compute_args *args, const pfd_feature_message *message,
                                  pfd_feature_spec **out, pfd_error *err);
#endif
