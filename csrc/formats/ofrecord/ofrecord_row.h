/* formats/ofrecord/ofrecord_row.h -- a decoder's row: the record in its input, the feature that it
 * is after, and failures that name both.
 *
 * ERRORS  PFD_CORRUPT_DATA with the row and, where it is known, the byte of its record.
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

/* PFD_INVALID_ARGUMENT where the input's rows are not bytes, or the name is empty. */
pfd_status pfd_of_check_input(const pfd_infer_args *args, const char *name, pfd_error *err);

/* The feature; a failure where it is not there. */
pfd_status pfd_of_row_find(const pfd_of_row *self, pfd_of_feature *out, pfd_error *err);

/* The only value of a bytes_list; a failure where it has none or several. */
pfd_status pfd_of_row_bytes(const pfd_of_row *self, const pfd_of_feature *feature,
                            pfd_wire_cursor *value, pfd_error *err);

/* "feature 'x': " and the text; `place` is in the record, or NULL. */
pfd_status pfd_of_row_fail(const pfd_of_row *self, const uint8_t *place, pfd_error *err,
                           const char *format, ...) __attribute__((format(printf, 4, 5)));

/* The message is damaged at a place. */
pfd_status pfd_of_row_fail_damaged(const pfd_of_row *self, const uint8_t *place, pfd_error *err);
#endif
