/* formats/tfrecord/feature_list.h -- the values of a tf.train.Feature.
 *
 *     Feature { oneof kind { BytesList = 1 | FloatList = 2 | Int64List = 3 } }
 *     BytesList { repeated bytes value = 1 }   FloatList, Int64List { repeated value = 1, packed }
 *
 * Messages are read as the protobuf library reads them: numbers packed or one by one, a message in
 * several pieces is merged, of several kinds the last one counts, unknown fields are passed over.
 *
 * OWNERSHIP  Results point into the record, or into the scratch of the call.
 * THREADS    A call belongs to one thread.
 */
#ifndef PFD_FORMATS_TFRECORD_FEATURE_LIST_H
#define PFD_FORMATS_TFRECORD_FEATURE_LIST_H
#include "parse/wire.h"
#include "pyflowdata/op.h"

#define PFD_FEATURE_NONE 0 /* no kind: as good as a missing feature */
#define PFD_FEATURE_BYTES 1
#define PFD_FEATURE_FLOAT 2
#define PFD_FEATURE_INT64 3

#define PFD_FEATURE_VALUE PFD_WIRE_TAG(1, PFD_WIRE_BYTES) /* of a list: packed, or a byte string */

/* What the records should be. */
typedef struct pfd_feature_message {
    const char *name;  /* "tf.train.Example" */
    int32_t has_lists; /* 1: it has lists of steps beside features */
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

/* PFD_CORRUPT_DATA for the row; `at` is a place in the record, or NULL. */
pfd_status pfd_feature_fail(const pfd_feature_call *call, const uint8_t *at, const char *format,
                            ...) __attribute__((format(printf, 3, 4)));

/* The same, for bytes that are not the message. */
pfd_status pfd_feature_damaged(const pfd_feature_call *call, const uint8_t *at);

/* The contents of all fields of a message that have this tag, one after the other: so a message in
 * several pieces is merged. */
pfd_status pfd_feature_gather(const pfd_feature_call *call, pfd_wire_cursor message, uint32_t tag,
                              pfd_wire_cursor *out);

/* Where the content of a message's only field begins, which is of type PFD_WIRE_BYTES and ends with
 * the message; NULL where the message is not so simple. */
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

/* Finds the list that a Feature's bytes hold, in whatever form they are. */
pfd_status pfd_feature_list_merge(const pfd_feature_call *call, pfd_wire_cursor feature,
                                  pfd_feature_list *out);

/* How many values a list has. */
pfd_status pfd_feature_list_count(const pfd_feature_call *call, const pfd_feature_list *list,
                                  int64_t *n);

/* The quick way for the usual list: 1, and its only number is in *out, as dtype; else 0, and the
 * list has to be read as any other. */
int32_t pfd_feature_list_one(const pfd_feature_list *list, int32_t dtype, void *out);

/* The first byte string of a list that has one. */
pfd_status pfd_feature_list_string(const pfd_feature_call *call, const pfd_feature_list *list,
                                   pfd_wire_cursor *out);

/* The first n values of a list of numbers that has so many, as dtype: PFD_FLOAT32 and PFD_FLOAT64
 * of floats, bool and the integers of int64.  A number that dtype does not hold is
 * PFD_CORRUPT_DATA; `key` of key_size bytes is its feature's name. */
pfd_status pfd_feature_list_read(const pfd_feature_call *call, const pfd_feature_list *list,
                                 int64_t n, int32_t dtype, void *out, const char *key,
                                 int64_t key_size);
#endif
