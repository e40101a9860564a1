/* Records that a source composes of fields, and that compute() writes to the outputs. */
#include "sources/field_record.h"

#include "pyflowdata/pyflowdata.h"

#include <string.h>

enum { WORD = 8, DAMAGED = -1 };

pfd_status pfd_field_record_types(const pfd_host *host, const char *attr,
                                  const pfd_list_string *fields, pfd_field_spec *specs,
                                  pfd_row_type *types, pfd_error *err)
{
    for (int64_t i = 0; i < fields->size; i++) {
        pfd_field_spec spec;
        pfd_status status = pfd_field_spec_parse(host, attr, fields->data[i], &spec, err);
        if (status != PFD_OK) return status;
        if (spec.default_text)
            return host->fail_attr(err, attr, NULL, PFD_INVALID_ARGUMENT,
                                   ": the field '%s' has a default, and every sample of this "
                                   "format has all fields; leave '=%.*s' out", fields->data[i],
                                   (int)spec.default_size, spec.default_text);
        types[i] = spec.has_type ? spec.type
                                 : (pfd_row_type){.dtype = PFD_UINT8, .ndim = 1, .shape = {-1}};
        if (specs) specs[i] = spec;
    }
    return PFD_OK;
}

/* The size of the shape that is stored before a field: only fields of several dimensions of
 * which one varies have it. */
static int64_t shape_bytes(const pfd_row_type *type)
{
    for (int32_t i = 0; i < type->ndim; i++)
        if (type->shape[i] < 0) return type->ndim > 1 ? WORD * (int64_t)type->ndim : 0;
    return 0;
}

static int64_t padded(int64_t size)
{
    return (size + WORD - 1) / WORD * WORD;
}

pfd_status pfd_field_record_compose(const pfd_host *host, const pfd_row_type *types,
                                    const pfd_field_part *parts, int64_t n, pfd_scratch *scratch,
                                    pfd_record *out, pfd_error *err)
{
    int64_t at = WORD * (1 + 2 * n), size = at;
    for (int64_t i = 0; i < n; i++) size += shape_bytes(&types[i]) + padded(parts[i].size);
    uint8_t *record = host->alloc(scratch, size);
    if (!record) return host->fail(err, PFD_OUT_OF_MEMORY, "no memory for a record");
    int64_t *head = (void *)record;
    *head++ = n;
    for (int64_t i = 0; i < n; i++) {
        int64_t shape = shape_bytes(&types[i]), bytes = shape + parts[i].size;
        *head++ = at;
        *head++ = bytes;
        if (shape) memcpy(record + at, parts[i].shape, (size_t)shape);
        if (parts[i].size) memcpy(record + at + shape, parts[i].data, (size_t)parts[i].size);
        memset(record + at + bytes, 0, (size_t)(padded(bytes) - bytes));
        at += padded(bytes);
    }
    out->data = record;
    out->size = size;
    return PFD_OK;
}

pfd_status pfd_field_record_damaged(const pfd_host *host, const pfd_error *damage,
                                    pfd_scratch *scratch, pfd_record *out, pfd_error *err)
{
    int64_t size = (int64_t)strnlen(damage->message, sizeof damage->message);
    int64_t head[] = {DAMAGED, damage->byte};
    uint8_t *record = host->alloc(scratch, (int64_t)sizeof head + size);
    if (!record) return host->fail(err, PFD_OUT_OF_MEMORY, "no memory for a record");
    memcpy(record, head, sizeof head);
    memcpy(record + sizeof head, damage->message, (size_t)size);
    out->data = record;
    out->size = (int64_t)sizeof head + size;
    return PFD_OK;
}

/* ---- In compute() ---------------------------------------------------------------------------- */
static int64_t load(const uint8_t *at)
{
    int64_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

/* Reports a record that the source did not make: its bytes were changed. */
static pfd_status fail_record(const pfd_compute_args *args, int64_t row, pfd_error *err)
{
    return args->host->fail_row(err, row, -1, PFD_CORRUPT_DATA,
                                "the record was changed after its source composed it");
}

static pfd_status fail_damaged(const pfd_compute_args *args, int64_t row, pfd_error *err)
{
    const pfd_record *record = &args->records[row];
    return args->host->fail_row(err, row, load(record->data + WORD), PFD_CORRUPT_DATA, "%.*s",
                                (int)(record->size - 2 * WORD),
                                (const char *)record->data + 2 * WORD);
}

/* `data` itself if it is aligned; otherwise a copy in the scratch. */
static const void *aligned(const pfd_compute_args *args, const uint8_t *data, int64_t size,
                           int64_t alignment)
{
    if ((uintptr_t)data % (uintptr_t)alignment == 0) return data;
    void *copy = args->host->alloc(args->scratch, size);
    if (copy) memcpy(copy, data, (size_t)size);
    return copy;
}

static pfd_status write_ragged(const pfd_compute_args *args, int64_t row, const pfd_tensor *out,
                               const uint8_t *data, int64_t size, pfd_error *err)
{
    int64_t item = pfd_dtype_size(out->type.dtype), shape = shape_bytes(&out->type);
    if (size < shape || (size - shape) % item) return fail_record(args, row, err);
    pfd_ragged_row *to = &out->rows[row];
    to->num_elements = (size - shape) / item;
    if (to->num_elements == 0) return PFD_OK;
    to->data = aligned(args, data + shape, size - shape, item);
    to->shape = shape ? aligned(args, data, shape, WORD) : NULL;
    if (!to->data || (shape && !to->shape))
        return args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for a row");
    return PFD_OK;
}

pfd_status pfd_field_parts_write(const pfd_compute_args *args, int64_t row,
                                 const pfd_field_part *parts, pfd_error *err)
{
    for (int64_t i = 0; i < args->num_outputs; i++) {
        const pfd_tensor *out = args->outputs[i];
        const pfd_field_part *part = &parts[i];
        if (!out->is_ragged) {
            if (part->size != out->row_bytes) return fail_record(args, row, err);
            if (part->size) memcpy(out->data + row * part->size, part->data, (size_t)part->size);
            continue;
        }
        int64_t item = pfd_dtype_size(out->type.dtype), shape = shape_bytes(&out->type);
        pfd_ragged_row *to = &out->rows[row];
        to->num_elements = part->size / item;
        if (to->num_elements == 0) continue;
        int64_t *copy = shape ? args->host->alloc(args->scratch, shape) : NULL;
        if (copy) memcpy(copy, part->shape, (size_t)shape);
        to->data = aligned(args, part->data, part->size, item);
        to->shape = copy;
        if (!to->data || (shape && !copy))
            return args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for a row");
    }
    return PFD_OK;
}

static pfd_status write_fields(const pfd_compute_args *args, int64_t row, int64_t n, pfd_error *err)
{
    const pfd_record *record = &args->records[row];
    for (int64_t i = 0; i < n; i++) {
        const pfd_tensor *out = args->outputs[i];
        const uint8_t *entry = record->data + WORD * (1 + 2 * i);
        int64_t at = load(entry), size = load(entry + WORD);
        if (at < 0 || size < 0 || at > record->size || size > record->size - at ||
            (!out->is_ragged && size != out->row_bytes))
            return fail_record(args, row, err);
        pfd_status status = PFD_OK;
        if (out->is_ragged)
            status = write_ragged(args, row, out, record->data + at, size, err);
        else if (size)
            memcpy(out->data + row * size, record->data + at, (size_t)size);
        if (status != PFD_OK) return status;
    }
    return PFD_OK;
}

pfd_status pfd_field_records_compute(const pfd_compute_args *args, int64_t n, pfd_error *err)
{
    for (int64_t row = 0; row < args->num_rows; row++) {
        const pfd_record *record = &args->records[row];
        if (record->size < WORD) return fail_record(args, row, err);
        int64_t kind = load(record->data);
        if (kind == DAMAGED && record->size >= 2 * WORD) return fail_damaged(args, row, err);
        if (kind != n || record->size < WORD * (1 + 2 * n)) return fail_record(args, row, err);
        pfd_status status = write_fields(args, row, n, err);
        if (status != PFD_OK) return status;
    }
    return PFD_OK;
}
