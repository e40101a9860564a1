/* formats/tfrecord/feature_spec.h -- the values of a tf.train.Feature, and the fields that a
 * decoder takes from messages.
 */
#ifndef PFD_FORMATS_TFRECORD_FEATURE_SPEC_H
#define PFD_FORMATS_TFRECORD_FEATURE_SPEC_H
#include "parse/row_type.h"
#include "parse/wire.h"
#include "pyflowdata/op.h"

/* ---- Values of a Feature --------------------------------------------------------------------- */

/*     Feature { oneof kind { BytesList = 1 | FloatList = 2 | Int64List = 3 } }
 *     BytesList { repeated bytes value = 1 }   FloatList, Int64List { repeated value = 1, packed }
 *
 * Messages are read as the protobuf library reads them: numbers may be packed or not, a message in
 * several pieces is merged, of several kinds the last one counts, unknown fields are skipped.
 *
 * OWNERSHIP  Results point into the record, or into the scratch of the call.
 * THREADS    A call belongs to one thread. */

#define PFD_FEATURE_NONE 0 /* no kind: treated as a missing feature */
#define PFD_FEATURE_BYTES 1
#define PFD_FEATURE_FLOAT 2
#define PFD_FEATURE_INT64 3
#define PFD_FEATURE_VALUE PFD_WIRE_TAG(1, PFD_WIRE_BYTES) /* of a list: packed, or a byte string */

/* The message that records should be. */
typedef struct pfd_feature_message {
    const char *name;  /* "tf.train.Example" */
    int32_t has_lists; /* 1: it has lists of steps too */
} pfd_feature_message;

/* One row of an op's compute(). */
typedef struct pfd_feature_call {
    const pfd_compute_args *args;
    pfd_error *err;
    int64_t row;
    const pfd_feature_message *message;
} pfd_feature_call;

typedef struct pfd_feature_list {
    int32_t kind;
    int32_t is_plain; /* values are packed numbers, or one byte string; else a list's fields */
    pfd_wire_cursor values;
} pfd_feature_list;

/* Fails with PFD_CORRUPT_DATA for the row; `at` is a place in the record, or NULL. */
pfd_status pfd_feature_fail(const pfd_feature_call *call, const uint8_t *at, const char *format,
                            ...) __attribute__((format(printf, 3, 4)));

/* Fails in the same way because the bytes are not the message. */
pfd_status pfd_feature_damaged(const pfd_feature_call *call, const uint8_t *at);

/* Joins the contents of all fields of a message that have this tag, which merges a message in
 * several pieces. */
pfd_status pfd_feature_gather(const pfd_feature_call *call, pfd_wire_cursor message, uint32_t tag,
                              pfd_wire_cursor *out);

/* Returns where the content of a message's only field begins.  The field has the type
 * PFD_WIRE_BYTES and ends with the message.  NULL: the message is not that simple. */
static inline const uint8_t *pfd_feature_only_content(const uint8_t *at, const uint8_t *end,
                                                      uint32_t *tag)
{
    uint64_t size;
    if (end - at < 3 || at[0] >= 0x80 || PFD_WIRE_TYPE(at[0]) != PFD_WIRE_BYTES) return NULL;
    *tag = at[0];
    if (at[1] < 0x80) {
        size = at[1];
        at += 2;
    } else if (at[2] < 0x80) {
        size = (uint64_t)at[1] - 0x80 + ((uint64_t)at[2] << 7);
        at += 3;
    } else {
        at = pfd_wire_long_varint(at + 1, end, &size);
        if (!at) return NULL;
    }
    return size == (uint64_t)(end - at) ? at : NULL;
}

/* Finds the list in the bytes of a Feature, in any form that the protobuf library reads. */
pfd_status pfd_feature_list_merge(const pfd_feature_call *call, pfd_wire_cursor feature,
                                  pfd_feature_list *out);

/* Counts the values of a list. */
pfd_status pfd_feature_list_count(const pfd_feature_call *call, const pfd_feature_list *list,
                                  int64_t *n);

/* A fast path for a list of one number: returns 1 and writes it to *out as dtype.  Returns 0 if the
 * list has another form; read it with the functions below. */
int32_t pfd_feature_list_one(const pfd_feature_list *list, int32_t dtype, void *out);

/* Finds the first byte string of a list that has at least one. */
pfd_status pfd_feature_list_string(const pfd_feature_call *call, const pfd_feature_list *list,
                                   pfd_wire_cursor *out);

/* Reads the first n values of a list of at least n numbers, as dtype: PFD_FLOAT32 and
 * PFD_FLOAT64 from floats, bool and the integers from int64.  A number outside the range of
 * dtype is PFD_CORRUPT_DATA; `key` of key_size bytes is the name of the feature. */
pfd_status pfd_feature_list_read(const pfd_feature_call *call, const pfd_feature_list *list,
                                 int64_t n, int32_t dtype, void *out, const char *key,
                                 int64_t key_size);

/* ---- Fields of a decoder --------------------------------------------------------------------- */

/* The field of an output is a field (parse/row_type.h) with a type.  Floats read a float_list,
 * bool and integers an int64_list, "bytes" a bytes_list of one value.  A raw field reads a
 * bytes_list of one value, whose bytes are little-endian numbers of the dtype. */

typedef struct pfd_feature_attrs {
    pfd_list_string features, decode_raw;
    int32_t on_mismatch;
} pfd_feature_attrs;

/* on_mismatch */
enum { PFD_MISMATCH_RAISE, PFD_MISMATCH_PAD, PFD_MISMATCH_TRUNCATE, PFD_MISMATCH_FIT };
#define PFD_MISMATCH_CHOICES "raise|pad|truncate|fit"

typedef struct pfd_feature_spec {
    pfd_field_spec field; /* without FEATURE_LISTS in its key */
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
