/* Finds the columns of one CSV file by its header, or by number. */
#include "formats/csv/csv_layout.h"

#include "parse/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A field of the header. */
typedef struct header_name {
    const uint8_t *text;
    int64_t size, field;
} header_name;

/* The state while a layout is made. */
typedef struct maker {
    const pfd_host *host;
    const pfd_file *file;
    int64_t offset;
    const pfd_csv_format *format;
    const pfd_csv_column *column; /* the current one */
    pfd_csv_layout *layout;
    int64_t num_runs, room;
    header_name *names; /* sorted, one for each field; NULL: no column was asked for by name yet */
    uint8_t *texts;     /* of the names */
} maker;

/* ---- Names in the header --------------------------------------------------------------------- */
static int64_t trim(const uint8_t **text, int64_t size)
{
    while (size > 0 && (**text == ' ' || **text == '\t')) {
        ++*text;
        size--;
    }
    while (size > 0 && ((*text)[size - 1] == ' ' || (*text)[size - 1] == '\t')) size--;
    return size;
}

/* Copies the name of a field of the header, at most `capacity` bytes of it, without blanks around
 * it and with one quote for two.  Returns its size. */
static int64_t field_name(const pfd_csv_layout *layout, const pfd_csv_format *format,
                          const pfd_csv_field *field, uint8_t *out, int64_t capacity)
{
    if (field->has_escapes && field->end - field->begin <= capacity)
        return pfd_csv_unescape(format, layout->first_row, field, out);
    const uint8_t *text = layout->first_row + field->begin;
    int64_t size = field->end - field->begin;
    if (!field->is_quoted) size = trim(&text, size);
    if (size > capacity) size = capacity;
    memcpy(out, text, (size_t)size);
    return size;
}

static int compare_names(const void *left, const void *right)
{
    const header_name *a = left, *b = right;
    int64_t shorter = a->size < b->size ? a->size : b->size;
    int order = memcmp(a->text, b->text, (size_t)shorter);
    return order ? order : (a->size > b->size) - (a->size < b->size);
}

static pfd_status sort_names(maker *m, pfd_error *err)
{
    const pfd_csv_layout *layout = m->layout;
    m->names = calloc((size_t)layout->num_fields, sizeof *m->names);
    m->texts = malloc((size_t)layout->first_row_size + 1);
    if (!m->names || !m->texts)
        return m->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for the names of columns");
    uint8_t *text = m->texts;
    int64_t at = 0;
    for (int64_t i = 0; i < layout->num_fields; i++) {
        pfd_csv_field field;
        (void)pfd_csv_next_field(m->format, layout->first_row, layout->first_row_size, &at, &field);
        int64_t size = field_name(layout, m->format, &field, text, field.end - field.begin);
        m->names[i] = (header_name){text, size, i};
        text += size;
    }
    qsort(m->names, (size_t)layout->num_fields, sizeof *m->names, compare_names);
    return PFD_OK;
}

/* Counts the fields with this name; *found is such a field. */
static pfd_status find_name(maker *m, const pfd_csv_place *place, int64_t *matches, int64_t *found,
                            pfd_error *err)
{
    if (!m->names) PFD_TRY(sort_names(m, err));
    header_name wanted = {.text = (const uint8_t *)place->name, .size = place->size};
    const header_name *end = m->names + m->layout->num_fields;
    const header_name *any = bsearch(&wanted, m->names, (size_t)m->layout->num_fields,
                                     sizeof wanted, compare_names);
    *matches = 0;
    if (!any) return PFD_OK;
    while (any > m->names && compare_names(any - 1, &wanted) == 0) any--;
    *found = any->field;
    for (; any < end && compare_names(any, &wanted) == 0; any++) ++*matches;
    return PFD_OK;
}

const char *pfd_csv_layout_name(const pfd_csv_layout *layout, const pfd_csv_format *format,
                                int64_t field, char *out, size_t capacity)
{
    uint8_t name[64];
    char text[256];
    int64_t at = 0, size = 0;
    pfd_csv_field found;
    for (int64_t i = 0; layout->has_header && i <= field && i < layout->num_fields; i++) {
        (void)pfd_csv_next_field(format, layout->first_row, layout->first_row_size, &at, &found);
        if (i == field) size = field_name(layout, format, &found, name, sizeof name);
    }
    if (layout->has_header && field < layout->num_fields)
        (void)snprintf(out, capacity, "column %" PRId64 " (%s)", field,
                       pfd_quote_bytes(name, size, text, sizeof text));
    else
        (void)snprintf(out, capacity, "column %" PRId64, field);
    return out;
}

/* ---- Columns --------------------------------------------------------------------------------- */

/* The header, shortened, for a message. */
static const char *shown_row(const pfd_csv_layout *layout, char *out, size_t capacity)
{
    return pfd_quote_bytes(layout->first_row, layout->first_row_size, out, capacity);
}

/* The name of the header that is most like another one, as "; did you mean 'name'?", or "". */
static const char *near_name(const maker *m, const char *name, int64_t size, char *out,
                             size_t capacity)
{
    int64_t n = m->layout->num_fields;
    const char **names = calloc((size_t)n + 1, sizeof *names);
    char *wanted = strndup(name, (size_t)size);
    for (int64_t i = 0; names && wanted && i < n; i++)
        names[i] = strndup((const char *)m->names[i].text, (size_t)m->names[i].size);
    const char *near = NULL;
    if (names && wanted && names[n > 0 ? n - 1 : 0]) near = pfd_nearest_name(wanted, names, n);
    out[0] = 0;
    if (near) (void)snprintf(out, capacity, "; did you mean '%.100s'?", near);
    for (int64_t i = 0; names && i < n; i++) free((char *)(uintptr_t)names[i]);
    free(names);
    free(wanted);
    return out;
}

static pfd_status fail_missing(const maker *m, const char *name, int64_t size, pfd_error *err)
{
    char row[256], text[256], near[160];
    return m->host->fail_attr(err, "columns", m->file, PFD_INVALID_ARGUMENT,
                              ": '%s' asks for column %s, which is not one of the %" PRId64
                              " of the header %s%s; columns are found by their exact name, or by "
                              "number from 0", m->column->spec,
                              pfd_quote_bytes((const void *)name, size, text, sizeof text),
                              m->layout->num_fields, shown_row(m->layout, row, sizeof row),
                              near_name(m, name, size, near, sizeof near));
}

static pfd_status place_of(maker *m, const pfd_csv_place *place, int64_t *out,
                           pfd_error *err)
{
    char row[256];
    if (place->name) {
        int64_t matches;
        pfd_status status = find_name(m, place, &matches, out, err);
        if (status != PFD_OK || matches == 1) return status;
        if (matches == 0) return fail_missing(m, place->name, place->size, err);
        return m->host->fail_attr(err, "columns", m->file, PFD_INVALID_ARGUMENT,
                                  ": '%s' asks for a column by a name that %" PRId64
                                  " columns of the header %s have; ask for it by number",
                                  m->column->spec, matches, shown_row(m->layout, row, sizeof row));
    }
    *out = place->number;
    if (*out < m->layout->num_fields) return PFD_OK;
    return m->host->fail_attr(err, "columns", m->file, PFD_INVALID_ARGUMENT,
                              ": '%s' asks for column %" PRId64 ", but the first row %s has "
                              "%" PRId64 " fields; columns are counted from 0", m->column->spec,
                              *out, shown_row(m->layout, row, sizeof row), m->layout->num_fields);
}

static pfd_status add_run(maker *m, int64_t first, int64_t count, pfd_error *err)
{
    if (m->num_runs == m->room) {
        int64_t room = m->room ? 2 * m->room : 16;
        pfd_csv_run *grown = realloc(m->layout->runs, (size_t)room * sizeof *grown);
        if (!grown) return m->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for the columns");
        m->layout->runs = grown;
        m->room = room;
    }
    m->layout->runs[m->num_runs++] = (pfd_csv_run){first, count};
    return PFD_OK;
}

static pfd_status find_column(maker *m, pfd_error *err)
{
    pfd_csv_key key;
    int64_t values = 0;
    pfd_status status;
    const char *at = m->column->key;
    while ((status = pfd_csv_next_key(m->host, m->column, &at, &key, err)) == PFD_OK) {
        int64_t first, last;
        PFD_TRY(place_of(m, &key.first, &first, err));
        PFD_TRY(place_of(m, &key.last, &last, err));
        if (last < first)
            return m->host->fail_attr(err, "columns", m->file, PFD_INVALID_ARGUMENT,
                                      ": in '%s' a range goes from column %" PRId64
                                      " to column %" PRId64 " of this file; a range must not go "
                                      "backwards",
                                      m->column->spec, first, last);
        values += last - first + 1;
        PFD_TRY(add_run(m, first, last - first + 1, err));
    }
    if (status != PFD_END) return status;
    if (values == m->column->num_values) return PFD_OK;
    return m->host->fail_attr(err, "columns", m->file, PFD_INVALID_ARGUMENT,
                              ": '%s' is %" PRId64 " columns of this file, but its shape has "
                              "%" PRId64 " values", m->column->spec, values, m->column->num_values);
}

/* ---- The layout ------------------------------------------------------------------------------ */
static pfd_status count_fields(maker *m, pfd_error *err)
{
    pfd_csv_layout *layout = m->layout;
    int64_t at = 0;
    for (;;) {
        pfd_csv_field field;
        int32_t found = pfd_csv_next_field(m->format, layout->first_row, layout->first_row_size,
                                           &at, &field);
        layout->num_fields++;
        if (found == PFD_CSV_LAST_FIELD) return PFD_OK;
        if (found == PFD_CSV_FIELD) continue;
        return m->host->fail_file(err, m->file, m->offset + at, PFD_CORRUPT_DATA,
                                  "the quotes of the %s, which sets the number of fields of a row, "
                                  "do not match; a quoted field ends with a quote before a "
                                  "delimiter (with multiline=True also on a later line), and "
                                  "quote='' reads quotes as text",
                                  layout->has_header ? "header" : "first row");
    }
}

static pfd_status fill(maker *m, const pfd_csv_column *columns, int64_t num_columns,
                       const uint8_t *row, int64_t size, pfd_error *err)
{
    pfd_csv_layout *layout = m->layout;
    layout->first_row = malloc((size_t)size + 1);
    layout->run_bounds = calloc((size_t)num_columns + 1, sizeof *layout->run_bounds);
    if (!layout->first_row || !layout->run_bounds)
        return m->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for a header");
    memcpy(layout->first_row, row, (size_t)size);
    layout->first_row_size = size;
    pfd_status status = count_fields(m, err);
    for (int64_t i = 0; i < num_columns && status == PFD_OK; i++) {
        m->column = &columns[i];
        status = find_column(m, err);
        if (status == PFD_INVALID_ARGUMENT) err->byte = m->offset; /* of the header */
        layout->run_bounds[i + 1] = m->num_runs;
    }
    return status;
}

pfd_status pfd_csv_layout_make(const pfd_host *host, const pfd_file *file, int64_t offset,
                               const pfd_csv_format *format, const pfd_csv_column *columns,
                               int64_t num_columns, int32_t has_header, const uint8_t *row,
                               int64_t size, pfd_csv_layout **out, pfd_error *err)
{
    *out = NULL;
    maker m = {.host = host, .file = file, .offset = offset, .format = format};
    m.layout = calloc(1, sizeof *m.layout);
    if (!m.layout) return host->fail(err, PFD_OUT_OF_MEMORY, "no memory for a header");
    m.layout->has_header = has_header;
    pfd_status status = fill(&m, columns, num_columns, row, size, err);
    free(m.names);
    free(m.texts);
    if (status == PFD_OK)
        *out = m.layout;
    else
        pfd_csv_layout_free(m.layout);
    return status;
}

void pfd_csv_layout_free(pfd_csv_layout *layout)
{
    if (!layout) return;
    free(layout->first_row);
    free(layout->runs);
    free(layout->run_bounds);
    free(layout);
}
