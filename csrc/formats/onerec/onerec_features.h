/* formats/onerec/onerec_features.h -- finds the features of a OneRec message, a FlatBuffer:
 *
 *     Example {features: [Feature]; ...}   Feature {name: string; tensor: Tensor}
 *     Tensor {shape: [int32]; data: union of lists}   each list {values: [...]}
 *
 * THREADS  Pure functions.
 * ERRORS   -1: the message is damaged at buffer->damage.
 */
#ifndef PFD_FORMATS_ONEREC_ONEREC_FEATURES_H
#define PFD_FORMATS_ONEREC_ONEREC_FEATURES_H
#include "formats/onerec/flatbuffer.h"

/* The members of the union. */
#define PFD_ONEREC_NONE 0
#define PFD_ONEREC_INT8 1
#define PFD_ONEREC_INT16 2
#define PFD_ONEREC_INT32 3
#define PFD_ONEREC_INT64 4
#define PFD_ONEREC_FLOAT32 5
#define PFD_ONEREC_FLOAT64 6
#define PFD_ONEREC_STRINGS 7
#define PFD_ONEREC_BINARIES 8

typedef struct pfd_onerec_feature {
    int32_t kind;           /* PFD_ONEREC_* */
    pfd_flat_vector shape;  /* of int32 */
    pfd_flat_vector values; /* of strings and binaries: of offsets */
} pfd_onerec_feature;

/* "int64" and so on, for messages. */
const char *pfd_onerec_kind_name(int32_t kind);

/* Finds the list of a message's features. */
int32_t pfd_onerec_open(pfd_flatbuffer *buffer, pfd_flat_vector *features);

/* Finds the feature with a name.  Returns 1: found; 0: the message does not have it. */
int32_t pfd_onerec_find(pfd_flatbuffer *buffer, const pfd_flat_vector *features, const char *name,
                        int64_t name_size, pfd_onerec_feature *out);

/* The name of feature i. */
int32_t pfd_onerec_name(pfd_flatbuffer *buffer, const pfd_flat_vector *features, int64_t i,
                        pfd_flat_vector *name);

/* The bytes of value i of a list of strings or binaries. */
int32_t pfd_onerec_bytes(pfd_flatbuffer *buffer, const pfd_onerec_feature *feature, int64_t i,
                         pfd_flat_vector *out);

/* Dimension i of a tensor's shape. */
int64_t pfd_onerec_dimension(const pfd_flatbuffer *buffer, const pfd_onerec_feature *feature,
                             int64_t i);
#endif
