/* Writes the values that a user gave into an op's attr struct. */
#include "registry/attrs.h"

#include "core/convert.h"
#include "core/error.h"
#include "core/scratch.h"
#include "registry/attr_text.h"
#include "registry/attr_value.h"

#include <inttypes.h>
#include <stdalign.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct pfd_attrs {
    pfd_scratch *memory; /* of strings and lists */
    alignas(max_align_t) unsigned char data[];
};

pfd_status pfd_attrs_fail_missing(const pfd_attr *row, const char *why, pfd_error *err)
{
    /* The doc follows the colon, so its first letter becomes lower case unless it is part of an
     * abbreviation. */
    char first = row->doc[0];
    int32_t is_word = first >= 'A' && first <= 'Z' && row->doc[1] >= 'a' && row->doc[1] <= 'z';
    return pfd_fail_attr(err, row->name, NULL, PFD_INVALID_ARGUMENT, " is required (%s)%s: %c%s",
                         pfd_attr_type_of(row->type).name, why, is_word ? first - 'A' + 'a' : first,
                         row->doc + 1);
}

/* The index of the value for a row; -1: none. */
static pfd_status find_value(const pfd_attr *row, const pfd_attr_value *values, int64_t num_values,
                             int64_t *found, pfd_error *err)
{
    *found = -1;
    for (int64_t i = 0; i < num_values; i++) {
        if (!values[i].name || strcmp(values[i].name, row->name) != 0) continue;
        if (*found >= 0)
            return pfd_fail_attr(err, row->name, NULL, PFD_INVALID_ARGUMENT, " is given twice");
        *found = i;
    }
    return PFD_OK;
}

static pfd_status fill(pfd_attrs *attrs, const pfd_attr *table, uint32_t count,
                       const pfd_attr_value *values, int64_t num_values, pfd_error *err)
{
    for (uint32_t row = 0; row < count; row++) {
        int64_t i;
        void *out = attrs->data + table[row].offset;
        PFD_TRY(find_value(&table[row], values, num_values, &i, err));
        if (i >= 0) {
            PFD_TRY(pfd_attr_store(&table[row], &values[i], attrs->memory, out, err));
        } else if (table[row].default_value) {
            PFD_TRY(pfd_attr_store_default(&table[row], attrs->memory, out, err));
        } else if (!(table[row].flags & PFD_ATTR_FOUND)) {
            return pfd_attrs_fail_missing(&table[row], "", err);
        } else if (table[row].type == PFD_ATTR_STRING) {
            *(const char **)out = "";
        }
    }
    return PFD_OK;
}

int32_t pfd_attrs_has_value(const pfd_attr *row, const pfd_attr_value *values, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (!strcmp(values[i].name, row->name)) return 1;
    return 0;
}

pfd_status pfd_attrs_set(pfd_attrs *attrs, const pfd_attr *row, const pfd_attr_value *value,
                         pfd_attr_value *kept, pfd_error *err)
{
    void *field = attrs->data + row->offset;
    PFD_TRY(pfd_attr_store(row, value, attrs->memory, field, err));
    *kept = *value;
    kept->name = row->name;
    if (value->kind == PFD_VALUE_STRING) {
        int64_t bytes = (int64_t)strlen(value->s) + 1;
        char *copy = pfd_scratch_alloc(attrs->memory, bytes);
        if (!copy) return pfd_fail_memory(err, bytes, "an attr");
        kept->s = memcpy(copy, value->s, (size_t)bytes);
    }
    /* The struct has a copy of the list, with the element type of the attr. */
    if (value->kind >= PFD_VALUE_LIST_INT) kept->list = ((const pfd_list_int64 *)field)->data;
    if (row->type == PFD_ATTR_LIST_FLOAT64) kept->kind = PFD_VALUE_LIST_FLOAT;
    return PFD_OK;
}

pfd_status pfd_attrs_create(const pfd_attr *table, uint32_t count, uint32_t struct_size,
                            const pfd_attr_value *values, int64_t num_values, pfd_attrs **out,
                            pfd_error *err)
{
    size_t bytes = sizeof(pfd_attrs) + struct_size;
    pfd_attrs *attrs = calloc(1, bytes);
    if (!attrs) return pfd_fail_memory(err, (int64_t)bytes, "attrs");
    attrs->memory = pfd_scratch_create();
    pfd_status status = attrs->memory ? fill(attrs, table, count, values, num_values, err)
                                      : pfd_fail_memory(err, 0, "attrs");
    if (status != PFD_OK) {
        pfd_attrs_free(attrs);
        return status;
    }
    *out = attrs;
    return PFD_OK;
}

void pfd_attrs_free(pfd_attrs *attrs)
{
    if (!attrs) return;
    pfd_scratch_free(attrs->memory);
    free(attrs);
}

const void *pfd_attrs_struct(const pfd_attrs *attrs)
{
    return attrs->data;
}

void *pfd_attrs_unsettled(pfd_attrs *attrs)
{
    return attrs->data;
}

static void add_list(pfd_text *text, int32_t type, const void *field)
{
    const pfd_list_int64 *ints = field;
    const pfd_list_float64 *floats = field;
    const pfd_list_string *strings = field;
    int64_t n = type == PFD_ATTR_LIST_FLOAT64    ? floats->size
                : type == PFD_ATTR_LIST_STRING ? strings->size
                                               : ints->size;
    for (int64_t i = 0; i < n; i++) {
        if (i > 0) pfd_text_add(text, ",");
        if (type == PFD_ATTR_LIST_FLOAT64) pfd_text_add_float(text, floats->data[i], 0);
        else if (type == PFD_ATTR_LIST_STRING) pfd_text_add_escaped(text, strings->data[i], "\\,");
        else pfd_text_add(text, "%" PRId64, ints->data[i]);
    }
}

static void add_choice(pfd_text *text, const pfd_attr *row, int32_t choice)
{
    char buffer[PFD_CHOICES_BYTES];
    const char *names[PFD_MAX_CHOICES];
    (void)pfd_split_choices(row->choices, buffer, names);
    pfd_text_add(text, "%s", names[choice]);
}

void pfd_attrs_format(const pfd_attrs *attrs, const pfd_attr *row, char *out, size_t capacity)
{
    const void *field = attrs->data + row->offset;
    pfd_text text = pfd_text_in(out, capacity);
    pfd_text_add(&text, "%s=", row->name);
    switch (row->type) {
    case PFD_ATTR_BOOL: pfd_text_add(&text, *(const int32_t *)field ? "true" : "false"); break;
    case PFD_ATTR_INT32: pfd_text_add(&text, "%" PRId32, *(const int32_t *)field); break;
    case PFD_ATTR_INT64: pfd_text_add(&text, "%" PRId64, *(const int64_t *)field); break;
    case PFD_ATTR_OBJECT: pfd_text_add(&text, "an object"); break;
    case PFD_ATTR_FLOAT32: pfd_text_add_float(&text, *(const float *)field, 1); break;
    case PFD_ATTR_FLOAT64: pfd_text_add_float(&text, *(const double *)field, 0); break;
    case PFD_ATTR_STRING: pfd_text_add_escaped(&text, *(const char *const *)field, "\\"); break;
    case PFD_ATTR_DTYPE: pfd_text_add(&text, "%s", pfd_dtype_name(*(const int32_t *)field)); break;
    case PFD_ATTR_CHOICE: add_choice(&text, row, *(const int32_t *)field); break;
    default: add_list(&text, row->type, field);
    }
}
