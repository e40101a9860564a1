/* formats/ofrecord/ofrecord_feature.h -- one feature of an OFRecord, OneFlow's message of named
 * lists.
 *
 * OFRecord is a map from names to features, and a feature is one list: of bytes, floats, doubles
 * or integers.  The rules are those of the protobuf library: of entries with the same name the
 * last one counts, numbers may be packed or not, unknown fields are skipped, pieces of a list
 * are joined.
 *
 * OWNERSHIP  Cursors point into the record.
 * THREADS    Pure functions.
 */
#ifndef PFD_FORMATS_OFRECORD_OFRECORD_FEATURE_H
#define PFD_FORMATS_OFRECORD_OFRECORD_FEATURE_H
#include "parse/wire.h"

/* The kind of a feature's list: its field number in the message Feature. */
#define PFD_OF_BYTES 1
#define PFD_OF_FLOAT 2
#define PFD_OF_DOUBLE 3
#define PFD_OF_INT32 4
#define PFD_OF_INT64 5

enum { PFD_OF_MOST_PIECES = 4 }; /* writers make one piece; more than this count as damage */

typedef struct pfd_of_feature {
    int32_t kind; /* PFD_OF_* */
    int32_t num_pieces;
    pfd_wire_cursor pieces[PFD_OF_MOST_PIECES]; /* messages FloatList and so on */
} pfd_of_feature;

/* "int64_list" and so on. */
const char *pfd_of_kind_name(int32_t kind);

/* Finds the feature with a name.  Returns 1: found; 0: the record does not have it; -1: the
 * record is damaged at *place. */
int32_t pfd_of_find(pfd_wire_cursor record, const char *name, int64_t name_size,
                    pfd_of_feature *out, const uint8_t **place);

/* Writes the names of a record's features for a message, "'x', 'y', ..."; `capacity` >= 64. */
void pfd_of_list_names(pfd_wire_cursor record, char *out, int64_t capacity);

/* Reads the numbers of a list.  The first `most` go to `out`, as floats for PFD_OF_FLOAT,
 * doubles for PFD_OF_DOUBLE, and int64_t for the integers.  Returns how many the list has; -1:
 * it is damaged at *place. */
int64_t pfd_of_numbers(const pfd_of_feature *feature, void *out, int64_t most,
                       const uint8_t **place);

/* Reads a list of bytes; *value is its last value.  Returns how many values it has; -1: it is
 * damaged at *place. */
int64_t pfd_of_bytes(const pfd_of_feature *feature, pfd_wire_cursor *value, const uint8_t **place);
#endif
