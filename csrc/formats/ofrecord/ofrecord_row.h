/* formats/ofrecord/ofrecord_row.h -- one row of an OFRecord decoder: the record in the input, the
 * feature that the decoder wants, and errors about them.
 *
 * ERRORS  PFD_CORRUPT_DATA with the row and, if it is known, the byte in the record.
 */
#ifndef PFD_FORMATS_OFRECORD_OFRECORD_ROW_H
#define PFD_FORMATS_OFRECORD_OFRECORD_ROW_H
#include "parse/wire.h"
#include "pyflowdata/op.h"

/* ---- A feature of an OFRecord, OneFlow's message of named lists ------------------------------ */

/* OFRecord is a map from names to features, and a feature is one list: of bytes, floats, doubles
 * or integers.  The rules are those of the protobuf library: the last of several entries with the
 * same name counts, numbers may be packed or not, unknown fields are skipped, pieces of a list
 * are joined.
 *
 * OWNERSHIP  Cursors point into the record.
 * THREADS    Pure functions. */

/* The kind of a feature's list: its field number in the message Feature. */
#define PFD_OF_BYTES 1
#define PFD_OF_FLOAT 2
#define PFD_OF_DOUBLE 3
#define PFD_OF_INT32 4
#define PFD_OF_INT64 5

enum { PFD_OF_MOST_PIECES = 4 }; /* writers make one piece; more pieces than this are damage */

typedef struct pfd_of_feature {
    int32_t kind; /* PFD_OF_* */
    int32_t num_pieces;
    pfd_wire_cursor pieces[PFD_OF_MOST_PIECES]; /* messages FloatList and so on */
} pfd_of_feature;

/* Reads the numbers of a list.  The first `most` go to `out`, as floats for PFD_OF_FLOAT, doubles
 * for PFD_OF_DOUBLE, and int64_t for the integers.  Returns the number of numbers in the list; -1:
 * it is damaged at *place. */
int64_t pfd_of_numbers(const pfd_of_feature *feature, void *out, int64_t most,
                       const uint8_t **place);

/* ---- A row of a decoder ---------------------------------------------------------------------- */

typedef struct pfd_of_row {
    const pfd_compute_args *args;
    int64_t row;
    const char *name; /* the feature's name */
    int64_t name_size;
} pfd_of_row;

extern const pfd_port pfd_of_inputs[1];

/* PFD_INVALID_ARGUMENT: the rows of the input are not bytes, or the name is empty. */
pfd_status pfd_of_check_input(const pfd_infer_args *args, const char *name, pfd_error *err);

/* Finds the feature.  Fails if the record does not have it. */
pfd_status pfd_of_row_find(const pfd_of_row *self, pfd_of_feature *out, pfd_error *err);

/* Reads the only value of a bytes_list.  Fails if it has no values or several. */
pfd_status pfd_of_row_bytes(const pfd_of_row *self, const pfd_of_feature *feature,
                            pfd_wire_cursor *value, pfd_error *err);

/* Finds the feature and reads its only value.  Fails if it is not a bytes_list of one value. */
pfd_status pfd_of_row_find_bytes(const pfd_of_row *self, pfd_wire_cursor *value, pfd_error *err);

/* Fails with "feature 'x': " and the text; `place` is in the record, or NULL. */
pfd_status pfd_of_row_fail(const pfd_of_row *self, const uint8_t *place, pfd_error *err,
                           const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Fails because the message is damaged at a place. */
pfd_status pfd_of_row_fail_damaged(const pfd_of_row *self, const uint8_t *place, pfd_error *err);
#endif
