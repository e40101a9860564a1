/* formats/ofrecord/ofrecord_row.h -- one row of an OFRecord decoder: the record in the input, the
 * feature that the decoder wants, and errors about them.
 *
 * ERRORS  PFD_CORRUPT_DATA with the row and, if it is known, the byte in the record.
 */
#ifndef PFD_FORMATS_OFRECORD_OFRECORD_ROW_H
#define PFD_FORMATS_OFRECORD_OFRECORD_ROW_H
#include "formats/ofrecord/ofrecord_feature.h"
#include "pyflowdata/op.h"

typedef struct pfd_of_row {
    const pfd_compute_args *args;
    int64_t row;
    const char *name; /* of the feature */
    int64_t name_size;
} pfd_of_row;

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
