/* formats/ofrecord/ofrecord_feature.h -- one feature of an OFRecord, OneFlow's message of named
 * lists.
 *
 * OFRecord is a map from names to features, and a feature is one list: of bytes, floats, doubles or
 * integers.  The rules are those of the protobuf library: of entries with one name the last counts,
 * numbers are packed or not, what is unknown is passed over, pieces of one list are joined.
 *
 * OWNERSHIP  Cursors point into the record.
 * THREADS    Pure functions.
 */
#ifndef PFD_FORMATS_OFRECORD_OFRECORD_FEATURE_H
#define PFD_FORMATS_OFRECORD_OFRECORD_FEATURE_H
#include "parse/wire.h"

/* What a feature's list is of: its field number in the message Feature. */
#define PFD_OF_BYTES 1
#define PFD_OF_FLOAT 2
#define PFD_OF_DOUBLE 3
#define PFD_OF_INT32 4
#define PFD_OF_INT64 5

enum { PFD_OF_MOST_PIECES = 4 }; /* writers make one; more are damage */

typedef struct pfd_of_feature {
    int32_t kind; /* PFD_OF_* */
    int32_t num_pieces;
    pfd_wire_cursor pieces[PFD_OF_MOST_PIECES]; /* messages FloatList and so on */
} pfd_of_feature;

/* "int64_list" and so on. */
const char *pfd_of_kind_name(int32_t kind);

/* The feature with this name: 1 found, 0 not there, -1 the record is damaged at *place. */
int32_t pfd_of_find(pfd_wire_cursor record, const char *name, int64_t name_size,
                    pfd_of_feature *out, const uint8_t **place);

/* The names of a record's features for a message, "'x', 'y', ..."; `capacity` >= 64. */
void pfd_of_list_names(pfd_wire_cursor record, char *out, int64_t capacity);

/* The numbers of a list: the first `most` go to `out`, which holds floats for PFD_OF_FLOAT, doubles
 * for PFD_OF_DOUBLE, and int64_t for the integers.  Returns how many there are; -1: the list is
 * damaged at *place. */
int64_t pfd_of_numbers(const pfd_of_feature *feature, void *out, int64_t most,
                       const uint8_t **place);

/* The values of a list of bytes: *value is the last of them.  Returns how many there are; -1: the
 * list is damaged at *place. */
int64_t pfd_of_bytes(const pfd_of_feature *feature, pfd_wire_cursor *value, const uint8_t **place);
#endif
