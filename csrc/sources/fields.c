/* The fields of records: those of every reader, packed, composed, found in a file. */
#include "sources/fields.h"

#include "core/error.h"
#include "core/rows.h"
#include "parse/words.h"
#include "pyflowdata/pyflowdata.h"

#include <stdio.h>
#include <string.h>

/* ---- Outputs that every reader has ----------------------------------------------------------- */

const pfd_port pfd_host_outputs[PFD_HOST_OUTPUT_COUNT] = {
    {"mask", "False for rows that only fill a batch and for damaged records that were padded."},
    {"id", "Index of the record's file and its 0-based number in the dataset."},
};

const pfd_port *pfd_host_output_at(int64_t i)
{
    return i >= 0 && i < PFD_HOST_OUTPUT_COUNT ? &pfd_host_outputs[i] : NULL;
}

/* ---- Fields in one piece of memory: writing -------------------------------------------------- */

enum { WORD = 8 };

static int64_t padded(int64_t bytes)
{
    return (bytes + WORD - 1) / WORD * WORD;
}

static int64_t elements_bytes(const pfd_tensor *field, int64_t row)
{
    if (!field->is_ragged) return field->row_bytes;
    return field->rows[row].num_elements * pfd_dtype_size(field->type.dtype);
}

static int64_t shape_bytes(const pfd_tensor *field)
{
    return field->is_ragged ? WORD * (int64_t)field->type.ndim : 0;
}

int64_t pfd_packed_field_bytes(const pfd_tensor *field, int64_t row)
{
    return shape_bytes(field) + padded(elements_bytes(field, row));
}

uint8_t *pfd_packed_field_write(const pfd_tensor *field, int64_t row, uint8_t *to)
{
    int64_t bytes = elements_bytes(field, row), room = padded(bytes);
    const void *data = field->data ? field->data + row * field->row_bytes : NULL;
    if (field->is_ragged) {
        pfd_row from;
        pfd_row_at(field, row, &from);
        memcpy(to, from.shape, (size_t)shape_bytes(field));
        to += shape_bytes(field);
        data = from.data;
    }
    if (bytes > 0) memcpy(to, data, (size_t)bytes);
    memset(to + bytes, 0, (size_t)(room - bytes));
    return to + room;
}

/* ---- Fields in one piece of memory: reading -------------------------------------------------- */

/* Takes n bytes, and skips those up to the next multiple of 8. */
static int32_t take(const uint8_t **data, int64_t *left, int64_t n, const uint8_t **out)
{
    if (n < 0 || n > *left || *left % WORD) return 0;
    *out = *data;
    *data += padded(n);
    *left -= padded(n);
    return 1;
}

int32_t pfd_packed_field_read(pfd_tensor *out, int64_t row, const uint8_t **data, int64_t *left)
{
    const uint8_t *found;
    if (!out->is_ragged) {
        if (!take(data, left, out->row_bytes, &found)) return 0;
        if (out->row_bytes) memcpy(out->data + row * out->row_bytes, found, (size_t)out->row_bytes);
        return 1;
    }
    const int64_t *shape;
    int64_t elements = 1, bytes;
    if (!take(data, left, out->type.ndim * (int64_t)sizeof *shape, &found)) return 0;
    shape = (const void *)found;
    for (int32_t d = 0; d < out->type.ndim; d++)
        if (__builtin_mul_overflow(elements, shape[d], &elements)) return 0;
    if (__builtin_mul_overflow(elements, pfd_dtype_size(out->type.dtype), &bytes)) return 0;
    if (!take(data, left, bytes, &found)) return 0;
    out->rows[row] = (pfd_ragged_row){found, elements, out->type.ndim > 1 ? shape : NULL};
    return 1;
}

/* ---- Records made of fields ------------------------------------------------------------------ */

enum { DAMAGED = -1 };

pfd_status pfd_field_record_types(const pfd_host *host, const char *attr,
                                  const pfd_list_string *fields, pfd_field_spec *specs,
                                  pfd_row_type *types, pfd_error *err)
{
    for (int64_t i = 0; i < fields->size; i++) {
        pfd_field_spec spec;
        PFD_TRY(pfd_field_spec_parse(host, attr, fields->data[i], &spec, err));
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
static int64_t field_shape_bytes(const pfd_row_type *type)
{
    for (int32_t i = 0; i < type->ndim; i++)
        if (type->shape[i] < 0) return type->ndim > 1 ? WORD * (int64_t)type->ndim : 0;
    return 0;
}

pfd_status pfd_field_record_compose(const pfd_host *host, const pfd_row_type *types,
                                    const pfd_field_cell *cells, int64_t n, pfd_scratch *scratch,
                                    pfd_record *out, pfd_error *err)
{
    int64_t at = WORD * (1 + 2 * n), size = at;
    for (int64_t i = 0; i < n; i++) size += field_shape_bytes(&types[i]) + padded(cells[i].size);
    uint8_t *record = host->alloc(scratch, size);
    if (!record) return host->fail(err, PFD_OUT_OF_MEMORY, "no memory for a record");
    int64_t *head = (void *)record;
    *head++ = n;
    for (int64_t i = 0; i < n; i++) {
        int64_t shape = field_shape_bytes(&types[i]), bytes = shape + cells[i].size;
        *head++ = at;
        *head++ = bytes;
        if (shape) memcpy(record + at, cells[i].shape, (size_t)shape);
        if (cells[i].size) memcpy(record + at + shape, cells[i].data, (size_t)cells[i].size);
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

/* ---- Records made of fields: in compute() ---------------------------------------------------- */

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
    int64_t item = pfd_dtype_size(out->type.dtype), shape = field_shape_bytes(&out->type);
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

pfd_status pfd_field_cells_write(const pfd_compute_args *args, int64_t row,
                                 const pfd_field_cell *cells, pfd_error *err)
{
    for (int64_t i = 0; i < args->num_outputs; i++) {
        const pfd_tensor *out = args->outputs[i];
        const pfd_field_cell *cell = &cells[i];
        if (!out->is_ragged) {
            if (cell->size != out->row_bytes) return fail_record(args, row, err);
            if (cell->size) memcpy(out->data + row * cell->size, cell->data, (size_t)cell->size);
            continue;
        }
        int64_t item = pfd_dtype_size(out->type.dtype), shape = field_shape_bytes(&out->type);
        pfd_ragged_row *to = &out->rows[row];
        to->num_elements = cell->size / item;
        if (to->num_elements == 0) continue;
        int64_t *copy = shape ? args->host->alloc(args->scratch, shape) : NULL;
        if (copy) memcpy(copy, cell->shape, (size_t)shape);
        to->data = aligned(args, cell->data, cell->size, item);
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
        if (out->is_ragged)
            PFD_TRY(write_ragged(args, row, out, record->data + at, size, err));
        else if (size)
            memcpy(out->data + row * size, record->data + at, (size_t)size);
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
        PFD_TRY(write_fields(args, row, n, err));
    }
    return PFD_OK;
}

/* ---- The fields that a file has -------------------------------------------------------------- */

/* Whether a name is that of an output of every reader. */
static int32_t is_of_readers(const char *name)
{
    int32_t found = 0;
    for (int32_t i = 0; i < PFD_HOST_OUTPUT_COUNT; i++)
        found |= !strcmp(name, pfd_host_outputs[i].name);
    return found;
}

/* Whether an output with this name exists: one of every reader, or a field of the file. */
static int32_t is_taken(const char *name, const pfd_inferred_field *fields, int64_t n)
{
    int32_t taken = is_of_readers(name);
    for (int64_t i = 0; i < n && !taken; i++) taken = !strcmp(name, fields[i].key);
    return taken;
}

static pfd_status check_key(const pfd_propose_args *args, const char *attr, const pfd_file *file,
                            const pfd_inferred_field *field, pfd_error *err)
{
    char shown[256];
    if (field->key_size > 0 && (size_t)field->key_size == strlen(field->key) &&
        !strchr(field->key, '='))
        return PFD_OK;
    return args->host->fail_file(
        err, file, -1, PFD_UNSUPPORTED,
        "the name %s cannot be written in a list of fields, because it is empty or contains '=' or "
        "a zero byte; list the fields that are to be read in the attr '%s'",
        pfd_quote_bytes((const uint8_t *)field->key, field->key_size, shown, sizeof shown), attr);
}

static pfd_status write_element(const pfd_propose_args *args, const pfd_inferred_field *fields,
                                int64_t n, int64_t i, const char **out, pfd_error *err)
{
    const pfd_inferred_field *field = &fields[i];
    int32_t is_renamed = is_of_readers(field->key);
    size_t key = (size_t)field->key_size, capacity = 2 * key + (size_t)n + sizeof field->type + 8;
    char *text = args->host->alloc(args->scratch, (int64_t)capacity);
    if (!text) return pfd_fail_memory(err, (int64_t)capacity, "a field");
    size_t used = 0;
    if (is_renamed) {
        memcpy(text, field->key, key + 1);
        for (used = key; is_taken(text, fields, n);) {
            text[used++] = '_';
            text[used] = '\0';
        }
        text[used++] = '=';
    }
    (void)snprintf(text + used, capacity - used, "%s:%s", field->key, field->type);
    *out = text;
    return PFD_OK;
}

pfd_status pfd_inferred_fields_set(const pfd_propose_args *args, const char *attr,
                                   const pfd_file *file, const pfd_inferred_field *fields,
                                   int64_t n, pfd_error *err)
{
    int64_t bytes = n * (int64_t)sizeof(const char *);
    const char **elements = args->host->alloc(args->scratch, bytes);
    if (!elements) return pfd_fail_memory(err, bytes, "a list of fields");
    for (int64_t i = 0; i < n; i++) {
        PFD_TRY(check_key(args, attr, file, &fields[i], err));
        PFD_TRY(write_element(args, fields, n, i, &elements[i], err));
    }
    return args->set_strings(args->found, attr, elements, n, err);
}
