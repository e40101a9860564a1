/* A decoder's row of an OFRecord, and its failures. */
#include "proto/of_record_row.h"

#include "core/error.h"
#include "text/row_type.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

pfd_status pfd_of_check_input(const pfd_row_type *in, const char *name, pfd_error *err)
{
    char found[256];
    if (!name[0])
        return pfd_fail(err, PFD_INVALID_ARGUMENT,
                        "attr 'blob_name' is empty; it must be the name of a feature");
    if (in->dtype == PFD_UINT8 && in->ndim == 1) return PFD_OK;
    return pfd_fail(err, PFD_INVALID_ARGUMENT,
                    "the rows of input 'in' are %s; they must be the bytes of a message, "
                    "uint8 (None,), such as OFRecordReader gives",
                    pfd_format_row_type(in, found, sizeof found));
}

/* The row's message: a row of a ragged or of a dense input. */
static pfd_wire_cursor message(const pfd_of_row *self)
{
    const pfd_tensor *in = self->args->inputs[0];
    const uint8_t *data = in->is_ragged ? in->rows[self->row].data
                                        : in->data + self->row * in->row_bytes;
    int64_t size = in->is_ragged ? in->rows[self->row].num_elements : in->row_bytes;
    return (pfd_wire_cursor){data, data + (data ? size : 0)};
}

/* -1 where the message is not the record's own bytes. */
static int64_t place_in_record(const pfd_of_row *self, const uint8_t *place)
{
    const pfd_record *record = &self->args->records[self->row];
    uintptr_t begin = (uintptr_t)record->data, at = (uintptr_t)place;
    return place && at >= begin && at - begin <= (uintptr_t)record->size ? (int64_t)(at - begin)
                                                                        : -1;
}

pfd_status pfd_of_row_fail(const pfd_of_row *self, const uint8_t *place, pfd_error *err,
                           const char *format, ...)
{
    char text[700];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return pfd_fail_row(err, self->row, place_in_record(self, place), PFD_CORRUPT_DATA,
                        "feature '%.100s': %s", self->name, text);
}

pfd_status pfd_of_row_fail_damaged(const pfd_of_row *self, const uint8_t *place, pfd_error *err)
{
    return pfd_of_row_fail(self, place, err,
                           "the message is damaged at its byte %" PRId64
                           ": it is no OFRecord, or its bytes were changed",
                           (int64_t)(place - message(self).at));
}

pfd_status pfd_of_row_find(const pfd_of_row *self, pfd_of_feature *out, pfd_error *err)
{
    const uint8_t *place;
    pfd_wire_cursor record = message(self);
    int32_t found = pfd_of_find(record, self->name, self->name_size, out, &place);
    if (found > 0) return PFD_OK;
    if (found < 0) return pfd_of_row_fail_damaged(self, place, err);
    char names[500];
    pfd_of_list_names(record, names, sizeof names);
    return pfd_of_row_fail(self, NULL, err, "the record does not have it; it has %s",
                           names[0] ? names : "no features");
}

pfd_status pfd_of_row_bytes(const pfd_of_row *self, const pfd_of_feature *feature,
                            pfd_wire_cursor *value, pfd_error *err)
{
    const uint8_t *place;
    int64_t count = pfd_of_bytes(feature, value, &place);
    if (count == 1) return PFD_OK;
    if (count < 0) return pfd_of_row_fail_damaged(self, place, err);
    return pfd_of_row_fail(self, NULL, err,
                           "its bytes_list has %" PRId64 " values; it must have one", count);
}
