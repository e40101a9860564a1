/* One row of an OFRecord decoder, and the errors about it. */
#include "formats/ofrecord/ofrecord_row.h"

#include "core/rows.h"
#include "parse/row_type.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

pfd_status pfd_of_check_input(const pfd_infer_args *args, const char *name, pfd_error *err)
{
    if (!name[0])
        return args->host->fail_attr(err, "blob_name", NULL, PFD_INVALID_ARGUMENT,
                                     " is empty; it must be the name of a feature");
    return pfd_expect_bytes(args, err);
}

static pfd_wire_cursor message(const pfd_of_row *self)
{
    pfd_bytes row = pfd_row_bytes(self->args->inputs[0], self->row);
    return (pfd_wire_cursor){row.data, row.data + (row.data ? row.size : 0)};
}

pfd_status pfd_of_row_fail(const pfd_of_row *self, const uint8_t *place, pfd_error *err,
                           const char *format, ...)
{
    char text[700];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return self->args->host->fail_row(err, self->row,
                                      pfd_place_in_record(self->args, self->row, place),
                                      PFD_CORRUPT_DATA, "feature '%.100s': %s", self->name, text);
}

pfd_status pfd_of_row_fail_damaged(const pfd_of_row *self, const uint8_t *place, pfd_error *err)
{
    return pfd_of_row_fail(self, place, err,
                           "the message is damaged at its byte %" PRId64
                           ": it is not an OFRecord, or its bytes were changed",
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

pfd_status pfd_of_row_find_bytes(const pfd_of_row *self, pfd_wire_cursor *value, pfd_error *err)
{
    pfd_of_feature feature;
    PFD_TRY(pfd_of_row_find(self, &feature, err));
    if (feature.kind == PFD_OF_BYTES) return pfd_of_row_bytes(self, &feature, value, err);
    return pfd_of_row_fail(self, NULL, err,
                           "it is %s; this decoder takes bytes_list, OFRecordRawDecoder takes "
                           "the others",
                           pfd_of_kind_name(feature.kind));
}
