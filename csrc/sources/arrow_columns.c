/* Columns of Arrow record batches: outputs, paths, columns of a schema, proposals. */
#include "sources/arrow_columns.h"

#include "core/convert.h"
#include "core/rows.h"
#include "parse/json.h"
#include "parse/words.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Outputs --------------------------------------------------------------------------------- */

static int32_t is_word(const pfd_field_spec *spec, const char *word)
{
    return spec->default_size == (int64_t)strlen(word) && !strcmp(spec->default_text, word);
}

/* Parses one item from the text of a default; 0: the text is no item. */
static int32_t parse_item(const pfd_host *host, const pfd_field_spec *spec, int32_t dtype,
                          uint8_t *out)
{
    const char *text = spec->default_text;
    char *end;
    if (dtype == PFD_BOOL) {
        out[0] = (uint8_t)is_word(spec, "true");
        return out[0] || is_word(spec, "false");
    }
    if (pfd_dtype_is_float(dtype)) {
        double number;
        return spec->default_size > 0 &&
               host->parse_double(text, spec->default_size, &number) == spec->default_size &&
               pfd_convert_stored(PFD_FLOAT64, &number, dtype, out, 1) == 1;
    }
    if (!*text || !strchr("-0123456789", *text)) return 0;
    errno = 0;
    if (*text == '-') {
        int64_t number = strtoll(text, &end, 10);
        return !errno && !*end && pfd_convert_stored(PFD_INT64, &number, dtype, out, 1) == 1;
    }
    uint64_t number = strtoull(text, &end, 10);
    return !errno && !*end && pfd_convert_stored(PFD_UINT64, &number, dtype, out, 1) == 1;
}

pfd_status pfd_arrow_output_parse(const pfd_host *host, const char *element, pfd_arrow_output *out,
                                  pfd_error *err)
{
    *out = (pfd_arrow_output){.element = element};
    pfd_field_spec *spec = &out->spec;
    PFD_TRY(pfd_field_spec_parse_with(host, "columns", element, "str|json", spec, err));
    out->type = spec->has_type ? spec->type
                               : (pfd_row_type){.dtype = PFD_UINT8, .ndim = 1, .shape = {-1}};
    out->is_ragged = pfd_is_ragged(&out->type);
    out->has_default = spec->default_text != NULL;
    out->is_json = pfd_field_has_type(spec, "json");
    if (out->is_json && out->has_default) {
        pfd_json json = pfd_json_begin((const uint8_t *)spec->default_text, spec->default_size);
        (void)pfd_json_skip(&json);
        if (!pfd_json_end(&json))
            return host->fail_attr(err, "columns", NULL, PFD_INVALID_ARGUMENT,
                                   ": '%.200s' has a default that is not JSON", element);
    }
    int64_t items = 1;
    for (int32_t d = 0; d < out->type.ndim; d++) {
        int64_t size = out->type.shape[d];
        if (size == 0 || (size > 0 && items > INT32_MAX / size))
            return host->fail_attr(err, "columns", NULL, PFD_INVALID_ARGUMENT,
                                   ": '%.200s' has a shape with a dimension of 0, or of more than "
                                   "2^31 items", element);
        if (size > 0) items *= size;
    }
    int32_t is_text = pfd_field_has_type(spec, "bytes") || pfd_field_has_type(spec, "str") ||
                      out->is_json;
    if (!out->has_default || is_text || (out->is_ragged && spec->default_size == 0)) return PFD_OK;
    out->has_item = 1;
    if (parse_item(host, spec, out->type.dtype, out->item)) return PFD_OK;
    return host->fail_attr(err, "columns", NULL, PFD_INVALID_ARGUMENT,
                           ": '%.200s' has a default that is not one %s, for items that are null%s",
                           element, pfd_dtype_name(out->type.dtype),
                           out->is_ragged ? "; write nothing after the '=' for rows that are null"
                                          : "");
}

/* ---- Paths ----------------------------------------------------------------------------------- */

/* A name of a path. A name in quotes has '' for a quote. */
typedef struct step {
    const char *name;
    int64_t size;
    int32_t is_quoted;
} step;

/* Takes the next name from *at; returns what is wrong, or NULL. */
static const char *next_step(const char **at, const char *end, step *out)
{
    const char *begin = *at;
    if (begin < end && *begin == '\'') {
        const char *p = ++begin;
        for (; p < end; p++) {
            if (*p != '\'') continue;
            if (p + 1 == end || p[1] != '\'') break;
            p++;
        }
        if (p == end) return "a quote is not closed";
        *out = (step){begin, p - begin, 1};
        *at = p + 1;
    } else {
        const char *p = begin;
        while (p < end && *p != '.') p++;
        if (p == begin) return "a name is empty";
        *out = (step){begin, p - begin, 0};
        *at = p;
    }
    if (*at == end) return NULL;
    if (**at != '.' || *at + 1 == end) return "a name does not end with a dot and another name";
    ++*at;
    return NULL;
}

static int32_t is_named(const pfd_arrow_field *field, const step *one)
{
    int64_t k = 0;
    if (!one->is_quoted)
        return field->name_size == one->size && !memcmp(field->name, one->name, (size_t)one->size);
    for (int64_t i = 0; i < one->size; i++, k++) {
        if (k >= field->name_size || field->name[k] != one->name[i]) return 0;
        i += one->name[i] == '\'';
    }
    return k == field->name_size;
}

/* The field of this name in [begin, end); -1: there is none, -2: there are two. */
static int32_t find_field(const pfd_arrow_schema *schema, int32_t begin, int32_t end,
                          const step *one)
{
    int32_t found = -1;
    for (int32_t i = begin; i < end; i = schema->fields[i].end) {
        if (!is_named(&schema->fields[i], one)) continue;
        if (found >= 0) return -2;
        found = i;
    }
    return found;
}

/* Writes a name as a path has it; NULL: there is no room. */
static char *write_name(const pfd_arrow_field *field, char *out, const char *end)
{
    int32_t is_plain = field->name_size > 0;
    for (int64_t i = 0; i < field->name_size; i++)
        if (memchr(".[]'=:", field->name[i], 6)) is_plain = 0;
    if (end - out < 2 * field->name_size + 4) return NULL;
    if (is_plain) {
        memcpy(out, field->name, (size_t)field->name_size);
        return out + field->name_size;
    }
    *out++ = '\'';
    for (int64_t i = 0; i < field->name_size; i++) {
        *out++ = field->name[i];
        if (field->name[i] == '\'') *out++ = '\'';
    }
    *out++ = '\'';
    return out;
}

/* ---- Columns of a schema --------------------------------------------------------------------- */

/* Adds the step into a field; 0: there are too many, or too many dimensions. */
static int32_t add_level(pfd_arrow_column *column, const pfd_arrow_field *field, int32_t kind)
{
    if (column->num_levels == PFD_ARROW_MOST_LEVELS) return 0;
    column->levels[column->num_levels++] =
        (pfd_arrow_level){.kind = kind, .node = field->node, .buffer = field->buffer,
                          .views = field->views, .size = field->size};
    if (kind == PFD_ARROW_MEMBERS) return 1;
    pfd_row_type *type = &column->type;
    if (type->ndim == PFD_MAX_DIMS) return 0;
    type->shape[type->ndim++] = kind == PFD_ARROW_FIXED ? field->size : -1;
    return 1;
}

/* Sets what the values of a field are; 0: neither numbers nor bytes. */
static int32_t set_values(pfd_arrow_column *column, const pfd_arrow_field *field)
{
    pfd_arrow_level *out = &column->values;
    *out = (pfd_arrow_level){.kind = PFD_ARROW_BYTES, .node = field->node, .buffer = field->buffer,
                             .views = field->views, .bytes = 1};
    column->has_validity = 1;
    switch (field->type) {
    case PFD_ARROW_BINARY:
    case PFD_ARROW_UTF8: return 1;
    case PFD_ARROW_LARGE_BINARY:
    case PFD_ARROW_LARGE_UTF8: out->kind = PFD_ARROW_LARGE_BYTES; return 1;
    case PFD_ARROW_BINARY_VIEW:
    case PFD_ARROW_UTF8_VIEW: out->kind = PFD_ARROW_VIEWS; return 1;
    default: break;
    }
    column->type.dtype = field->dtype;
    out->kind = field->dtype == PFD_BOOL ? PFD_ARROW_BITS : PFD_ARROW_NUMBERS;
    out->bytes = (int32_t)pfd_dtype_size(field->dtype ? field->dtype : PFD_UINT8);
    if (field->type == PFD_ARROW_DECIMAL) {
        out->kind = PFD_ARROW_DECIMALS;
        out->size = field->size;
        out->scale = field->scale;
    }
    return field->dtype != 0;
}

static const char *set_dictionary(pfd_arrow_column *column, const pfd_arrow_field *field)
{
    if (!set_values(column, field))
        return "it is encoded by a dictionary whose values are neither numbers nor bytes";
    column->has_dictionary = 1;
    column->dictionary = field->dictionary;
    column->index = field->index;
    column->keys = column->values;
    column->keys.kind = PFD_ARROW_NUMBERS;
    column->keys.bytes = (int32_t)pfd_dtype_size(field->index);
    column->values.node = column->values.buffer = column->values.views = 0;
    return NULL;
}

/* Goes from field i, the end of a path, to its values; returns why it has no type of rows. */
static const char *go_to_values(const pfd_arrow_schema *schema, int32_t i, pfd_arrow_column *column)
{
    static const char deep[] = "its lists are nested deeper than rows can be, 8 dimensions";
    for (;; i++) {
        const pfd_arrow_field *field = &schema->fields[i];
        if (field->has_dictionary) return set_dictionary(column, field);
        if (pfd_arrow_is_list(field->type)) {
            int32_t is_large = field->type == PFD_ARROW_LARGE_LIST;
            if (!add_level(column, field, is_large ? PFD_ARROW_LARGE_LISTS : PFD_ARROW_LISTS))
                return deep;
            continue;
        }
        if (field->type == PFD_ARROW_FIXED_LIST || field->type == PFD_ARROW_FIXED_BINARY) {
            if (field->size == 0) return "its values have a fixed size of 0";
            if (!add_level(column, field, PFD_ARROW_FIXED)) return deep;
            if (field->type == PFD_ARROW_FIXED_LIST) continue;
            column->values = column->levels[column->num_levels - 1];
            column->values.kind = PFD_ARROW_NUMBERS;
            column->values.bytes = 1;
            column->type.dtype = PFD_UINT8;
            return NULL;
        }
        if (field->type == PFD_ARROW_STRUCT)
            return column->type.ndim
                       ? "it is a list of structs: name a member, as in list.member"
                       : "it is a struct: name a member, as in struct.member";
        if (set_values(column, field)) return NULL;
        return "rows have numbers or bytes, and this type is neither";
    }
}

/* Numbers the words of a column, from *words on; sets the fields that follow from its levels. */
static const char *finish_column(pfd_arrow_column *column, int32_t *words)
{
    if (pfd_arrow_is_bytes(column)) {
        if (column->type.ndim) return "it is a list of texts, and a row is one text or numbers";
        column->type = (pfd_row_type){.dtype = PFD_UINT8, .ndim = 1, .shape = {-1}};
    }
    int32_t next = *words;
    for (int32_t k = 0; k < column->num_levels; k++) {
        pfd_arrow_level *level = &column->levels[k];
        level->word = next;
        int32_t is_list = level->kind == PFD_ARROW_LISTS || level->kind == PFD_ARROW_LARGE_LISTS;
        next += 1 + (is_list ? PFD_WORD_COUNT : PFD_WORD_VALIDITY);
        if (level->kind == PFD_ARROW_MEMBERS && column->num_outer == k) column->num_outer = k + 1;
    }
    if (column->has_dictionary) {
        column->keys.word = next;
        next += 1 + PFD_WORD_DICTIONARY;
    } else {
        column->values.word = next;
        next += pfd_arrow_is_bytes(column) ? PFD_ARROW_VALUE_WORDS : 1 + PFD_WORD_BUFFER;
    }
    *words = next;
    return NULL;
}

static const char *find_column(const pfd_arrow_schema *schema, int32_t at, int32_t *words,
                               pfd_arrow_column *out)
{
    const char *reason = go_to_values(schema, at, out);
    return reason ? reason : finish_column(out, words);
}

/* ---- Columns of JSON ------------------------------------------------------------------------- */

/* Why the values of a field have no text in JSON; NULL: they have. */
static const char *json_fault(const pfd_arrow_schema *schema, int32_t at)
{
    for (int32_t i = at; i < schema->fields[at].end; i++) {
        const pfd_arrow_field *field = &schema->fields[i];
        if (field->has_dictionary) return "it has values that are encoded by a dictionary";
        switch (field->type) {
        case PFD_ARROW_NULL:
        case PFD_ARROW_INT:
        case PFD_ARROW_FLOAT:
        case PFD_ARROW_BOOL:
        case PFD_ARROW_UTF8:
        case PFD_ARROW_LARGE_UTF8:
        case PFD_ARROW_UTF8_VIEW:
        case PFD_ARROW_LIST:
        case PFD_ARROW_LARGE_LIST:
        case PFD_ARROW_FIXED_LIST:
        case PFD_ARROW_STRUCT:
        case PFD_ARROW_MAP: break;
        case PFD_ARROW_BINARY:
        case PFD_ARROW_LARGE_BINARY:
        case PFD_ARROW_BINARY_VIEW:
        case PFD_ARROW_FIXED_BINARY: return "it has binary values, which JSON has no form for";
        case PFD_ARROW_DATE:
        case PFD_ARROW_TIME:
        case PFD_ARROW_TIMESTAMP:
        case PFD_ARROW_DURATION: return "it has dates or times, which JSON has no form for";
        default: return "it has values of a type that is not read";
        }
    }
    return NULL;
}

/* Makes the column the JSON of the values of field `at`. */
static void set_json(const pfd_arrow_schema *schema, int32_t at, int32_t *words,
                     pfd_arrow_column *column)
{
    int32_t root = 0;
    while (schema->fields[root].end <= at) root = schema->fields[root].end;
    *column = (pfd_arrow_column){.json = schema->fields, .root = root, .field = at, .word = *words,
                                 .type = {.dtype = PFD_UINT8, .ndim = 1, .shape = {-1}}};
    *words += PFD_ARROW_VALUE_WORDS * (schema->fields[root].end - root);
}

pfd_arrow_level pfd_arrow_json_level(const pfd_arrow_column *column, int32_t i)
{
    const pfd_arrow_field *field = &column->json[i];
    pfd_arrow_column found = {0};
    (void)set_values(&found, field);
    found.values.size = field->size;
    found.values.word = column->word + PFD_ARROW_VALUE_WORDS * (i - column->root);
    return found.values;
}

/* ---- Paths to columns ------------------------------------------------------------------------ */

static const char *list_fields(const pfd_arrow_schema *schema, int32_t begin, int32_t end,
                               char *out, size_t capacity)
{
    size_t used = 0;
    for (int32_t i = begin; i < end; i = schema->fields[i].end) {
        char name[64];
        const pfd_arrow_field *field = &schema->fields[i];
        int64_t size = field->name_size < 60 ? field->name_size : 60;
        (void)snprintf(name, sizeof name, "%.*s", (int)size, field->name);
        used = pfd_add_name(out, capacity, used, name);
    }
    return used ? out : "none";
}

/* Follows a path to its field, number *found. */
static pfd_status follow_path(const pfd_host *host, const pfd_file *file,
                              const pfd_arrow_schema *schema, const pfd_arrow_output *output,
                              pfd_arrow_column *column, int32_t *found, pfd_error *err)
{
    const pfd_field_spec *spec = &output->spec;
    const char *at = spec->key, *end = spec->key + spec->key_size;
    int32_t begin = 0, last = schema->num_fields;
    char names[400];
    while (at < end) {
        step one;
        const char *problem = next_step(&at, end, &one);
        if (problem)
            return host->fail_attr(err, "columns", NULL, PFD_INVALID_ARGUMENT,
                                   ": in the path of '%.200s' %s; a path is names with dots "
                                   "between them, like meta.lang, and a name with dots is written "
                                   "in single quotes, like 'a.b'.c", output->element, problem);
        *found = find_field(schema, begin, last, &one);
        if (*found == -1 && at < end && begin == 0) { /* a column whose name has the dots itself */
            step whole = {spec->key, spec->key_size, 0};
            *found = find_field(schema, begin, last, &whole);
            if (*found >= 0) return PFD_OK;
        }
        if (*found < 0)
            return host->fail_attr(err, "columns", file, PFD_INVALID_ARGUMENT,
                                   ": %s '%.*s' (of '%.200s'); there are %s",
                                   *found == -1 ? "there is no column"
                                                : "two columns have the name",
                                   (int)(one.size < 100 ? one.size : 100), one.name,
                                   output->element,
                                   list_fields(schema, begin, last, names, sizeof names));
        if (at == end) return PFD_OK;
        const pfd_arrow_field *field = &schema->fields[*found];
        int32_t fits = !field->has_dictionary;
        for (; fits && (pfd_arrow_is_list(field->type) || field->type == PFD_ARROW_FIXED_LIST);
             field++) {
            int32_t kind = field->type == PFD_ARROW_LIST         ? PFD_ARROW_LISTS
                           : field->type == PFD_ARROW_LARGE_LIST ? PFD_ARROW_LARGE_LISTS
                                                                 : PFD_ARROW_FIXED;
            fits = add_level(column, field, kind) && !field[1].has_dictionary;
        }
        if (!fits || field->type != PFD_ARROW_STRUCT ||
            !add_level(column, field, PFD_ARROW_MEMBERS))
            return host->fail_attr(err, "columns", file, PFD_INVALID_ARGUMENT,
                                   ": '%.200s' names a member of '%.*s', which is %s and has none",
                                   output->element, (int)(one.size < 100 ? one.size : 100),
                                   one.name, pfd_arrow_type_name(field));
        begin = (int32_t)(field - schema->fields) + 1;
        last = field->end;
    }
    return PFD_OK;
}

/* Whether rows as they are stored can be an output of a type. */
static int32_t fits(const pfd_arrow_column *column, const pfd_row_type *type)
{
    const pfd_row_type *stored = &column->type;
    if (type->dtype != stored->dtype) return 0;
    if (pfd_arrow_is_bytes(column) && type->ndim > 1) return !pfd_is_ragged(type);
    if (type->ndim != stored->ndim) return 0;
    for (int32_t d = 0; d < type->ndim; d++)
        if (stored->shape[d] >= 0 && type->shape[d] >= 0 && type->shape[d] != stored->shape[d])
            return 0;
    return 1;
}

/* The type of a column as a user writes it. */
static const char *written_type(const pfd_arrow_column *column, char *out, size_t capacity)
{
    if (!pfd_arrow_is_bytes(column)) return pfd_format_field_type(&column->type, out, capacity);
    (void)snprintf(out, capacity, "bytes");
    return out;
}

/* A default that a column can have, as a user writes it. */
static const char *default_of(const pfd_arrow_column *column)
{
    if (pfd_arrow_is_bytes(column) || pfd_is_ragged(&column->type)) return "=";
    if (column->type.dtype == PFD_BOOL) return "=false";
    return pfd_dtype_is_float(column->type.dtype) ? "=nan" : "=0";
}

/* What to do where files differ in the type of a column of numbers: no type fits them all. */
static void add_cast(const pfd_field_spec *spec, const pfd_row_type *asked,
                     const pfd_arrow_column *column, char *out, size_t capacity)
{
    const pfd_row_type *stored = &column->type;
    *out = 0;
    if (!spec->has_type || pfd_arrow_is_bytes(column) || asked->ndim != stored->ndim ||
        asked->dtype == stored->dtype || asked->dtype == PFD_BOOL || stored->dtype == PFD_BOOL)
        return;
    int32_t is_float = pfd_dtype_is_float(asked->dtype) || pfd_dtype_is_float(stored->dtype);
    int32_t is_core = spec->name_size == spec->key_size + 1 && spec->name[spec->key_size] == '_' &&
                      !memcmp(spec->name, spec->key, (size_t)spec->key_size); /* `id_=id` */
    (void)snprintf(out, capacity, "; if files differ in it, open each kind by itself, make the "
                   "types equal by a = a.map(flow.Cast, '%.*s', dtype='%s'), and join them by "
                   "a.concat(b)",
                   (int)(spec->name_size - is_core), spec->name, is_float ? "float64" : "int64");
}

pfd_status pfd_arrow_column_find(const pfd_host *host, const pfd_file *file,
                                 const pfd_arrow_schema *schema, const pfd_arrow_output *output,
                                 int32_t *words, pfd_arrow_column *out, pfd_error *err)
{
    int32_t at = 0;
    char asked[256], stored[256], or_nulls[700] = "", cast[700];
    const pfd_field_spec *spec = &output->spec;
    *out = (pfd_arrow_column){0};
    PFD_TRY(follow_path(host, file, schema, output, out, &at, err));
    const char *reason = output->is_json ? json_fault(schema, at)
                                         : find_column(schema, at, words, out);
    int32_t has_json = !output->is_json && reason && !json_fault(schema, at);
    const char *written = spec->key; /* to the end of the element; the name may be ours */
    if (reason)
        return host->fail_attr(err, "columns", file, PFD_UNSUPPORTED,
                               ": the column of '%.200s' is %s and cannot be read%s: %s%s%.*s%s",
                               written, pfd_arrow_type_name(&schema->fields[at]),
                               output->is_json ? " as JSON" : "", reason,
                               has_json ? "; for the text of its values in JSON write '" : "",
                               has_json ? (int)spec->key_size : 0, spec->key,
                               has_json ? ":json'" : "");
    if (output->is_json) {
        set_json(schema, at, words, out);
        return PFD_OK;
    }
    if (fits(out, &output->type)) return PFD_OK;
    (void)written_type(out, stored, sizeof stored);
    if (!output->has_default)
        (void)snprintf(or_nulls, sizeof or_nulls, ", or '%.*s:%s%s' if it has nulls",
                       (int)spec->key_size, spec->key, stored, default_of(out));
    add_cast(spec, &output->type, out, cast, sizeof cast);
    return host->fail_attr(
        err, "columns", file, PFD_INVALID_ARGUMENT,
        ": the column of '%.200s' is %s here and cannot be read %s%s; write '%.*s:%s%s'%s%s",
        written, pfd_arrow_type_name(&schema->fields[at]),
        spec->has_type ? "as " : "without a type",
        spec->has_type ? pfd_format_field_type(&output->type, asked, sizeof asked) : "",
        (int)spec->key_size, spec->key, stored, output->has_default ? default_of(out) : "",
        or_nulls, cast);
}

/* ---- Columns, where the user left them out --------------------------------------------------- */

/* Leaves a column out, which "is no field" or the like, and notes why. */
static pfd_status leave_out(pfd_arrow_proposal *p, const char *path, const char *why,
                            const char *reason, pfd_error *err)
{
    char said[800];
    p->left_out_bytes = pfd_add_name(p->left_out, sizeof p->left_out, p->left_out_bytes, path);
    (void)snprintf(said, sizeof said, "%.400s, which %s%s", path, why, reason);
    return p->args->leave_out(p->args->found, said, err);
}

/* Proposes the column of a path; `reason` says why it has no type of rows, or is NULL. */
static pfd_status propose_column(pfd_arrow_proposal *p, const char *path,
                                 const pfd_arrow_column *column, const char *reason, pfd_error *err)
{
    const pfd_host *host = p->args->host;
    if (reason) return leave_out(p, path, "is no field: ", reason, err);
    if (p->size == p->capacity) return PFD_OK;
    size_t size = strlen(path);
    char *key = host->alloc(p->args->scratch, (int64_t)size + 1);
    if (!key) return host->fail(err, PFD_OUT_OF_MEMORY, "no memory for columns");
    pfd_inferred_field *out = &p->fields[p->size];
    out->key = memcpy(key, path, size + 1);
    out->key_size = (int64_t)size;
    p->columns[p->size++] = *column;
    return PFD_OK;
}

typedef struct visitor {
    pfd_arrow_proposal *proposal;
    const pfd_arrow_schema *schema;
    char path[4096];
} visitor;

static pfd_status visit_fields(visitor *v, int32_t begin, int32_t end, char *at,
                               const pfd_arrow_column *above, pfd_error *err);

/* Whether a member of a struct in lists has a type of rows, so that the members are columns; else
 * the lists are one column of JSON. */
static int32_t has_typed_member(const pfd_arrow_schema *schema, int32_t at)
{
    const pfd_arrow_field *fields = schema->fields;
    for (int32_t i = at + 1; i < fields[at].end; i = fields[i].end) {
        int32_t words = 0;
        pfd_arrow_column column = {.type = {.ndim = 1, .shape = {-1}}}; /* of the lists above */
        if (!find_column(schema, i, &words, &column)) return 1;
        if (fields[i].type == PFD_ARROW_STRUCT && has_typed_member(schema, i)) return 1;
    }
    return 0;
}

/* Visits a field whose path is complete, or its members. */
static pfd_status visit_field(visitor *v, int32_t i, char *at, pfd_arrow_column *column,
                              pfd_error *err)
{
    const pfd_arrow_field *fields = v->schema->fields;
    pfd_arrow_column inner = *column;
    int32_t k = i, room = 1, words = 0;
    for (; room && !fields[k].has_dictionary; k++) {
        if (fields[k].type == PFD_ARROW_LIST) room = add_level(&inner, &fields[k], PFD_ARROW_LISTS);
        else if (fields[k].type == PFD_ARROW_LARGE_LIST)
            room = add_level(&inner, &fields[k], PFD_ARROW_LARGE_LISTS);
        else if (fields[k].type == PFD_ARROW_FIXED_LIST)
            room = add_level(&inner, &fields[k], PFD_ARROW_FIXED);
        else break;
    }
    int32_t is_struct = !fields[k].has_dictionary && fields[k].type == PFD_ARROW_STRUCT;
    if (room && is_struct &&
        (k == i || has_typed_member(v->schema, k) || json_fault(v->schema, i)) &&
        add_level(&inner, &fields[k], PFD_ARROW_MEMBERS)) {
        *at++ = '.';
        return visit_fields(v, k + 1, fields[k].end, at, &inner, err);
    }
    const char *reason = find_column(v->schema, i, &words, column);
    if (reason && fields[i].type != PFD_ARROW_NULL && !json_fault(v->schema, i)) {
        set_json(v->schema, i, &words, column);
        reason = NULL;
    }
    return propose_column(v->proposal, v->path, column, reason, err);
}

static pfd_status visit_fields(visitor *v, int32_t begin, int32_t end, char *at,
                               const pfd_arrow_column *above, pfd_error *err)
{
    for (int32_t i = begin; i < end; i = v->schema->fields[i].end) {
        pfd_arrow_column column = *above;
        char *after = write_name(&v->schema->fields[i], at, v->path + sizeof v->path - 2);
        if (!after) continue; /* a name of thousands of bytes, which nobody would write */
        *after = '\0';
        PFD_TRY(visit_field(v, i, after, &column, err));
    }
    return PFD_OK;
}

pfd_status pfd_arrow_proposal_begin(const pfd_propose_args *args, const pfd_arrow_schema *schema,
                                    pfd_arrow_proposal *out, pfd_error *err)
{
    const pfd_host *host = args->host;
    int64_t most = schema->num_fields;
    *out = (pfd_arrow_proposal){.args = args, .capacity = most};
    out->columns = host->alloc(args->scratch, most * (int64_t)sizeof *out->columns + 1);
    out->fields = host->alloc(args->scratch, most * (int64_t)sizeof *out->fields + 1);
    if (!out->columns || !out->fields)
        return host->fail(err, PFD_OUT_OF_MEMORY, "no memory for columns");
    visitor v = {.proposal = out, .schema = schema};
    pfd_arrow_column none = {0};
    return visit_fields(&v, 0, schema->num_fields, v.path, &none, err);
}

/* Writes the type of a column as a field has it, with a default where it has nulls: NaN, an empty
 * text, no items.  0: no such default says that there is no value. */
static int32_t write_type(const pfd_arrow_column *column, pfd_inferred_field *out)
{
    int32_t is_text = pfd_arrow_is_bytes(column);
    const char *instead = "";
    if (column->json) {
        (void)snprintf(out->type, sizeof out->type, "json");
        return 1;
    }
    if (is_text) (void)snprintf(out->type, sizeof out->type, "bytes");
    else (void)pfd_format_field_type(&column->type, out->type, sizeof out->type);
    int32_t is_list = column->type.ndim > 0 && strchr(out->type, '?');
    if (column->has_nulls && pfd_dtype_is_float(column->type.dtype)) instead = "=nan";
    else if (column->has_nulls == 1 && (is_text || is_list)) instead = "=";
    else if (column->has_nulls) return 0;
    size_t used = strlen(out->type);
    (void)snprintf(out->type + used, sizeof out->type - used, "%s", instead);
    return 1;
}

/* Leaves out a column of integers or truths with nulls, and says how a user reads it. */
static pfd_status leave_out_nulls(pfd_arrow_proposal *p, const pfd_file *file,
                                  const pfd_arrow_column *column, const pfd_inferred_field *field,
                                  pfd_error *err)
{
    char how[600];
    const char *zero = column->type.dtype == PFD_BOOL ? "false" : "0";
    (void)snprintf(how, sizeof how, ", as in %s=[\"%.400s:%s=%s\"%s]",
                   file->path[0] ? "fields" : "columns", field->key, field->type, zero,
                   file->path[0] ? ", ..." : "");
    return leave_out(p, field->key, "has nulls and needs a default", how, err);
}

/* Writes the types of the columns, and leaves out those that need a default from the user. */
static pfd_status write_types(pfd_arrow_proposal *p, const pfd_file *file, pfd_error *err)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < p->size; i++) {
        if (write_type(&p->columns[i], &p->fields[i])) p->fields[kept++] = p->fields[i];
        else
            PFD_TRY(leave_out_nulls(p, file, &p->columns[i], &p->fields[i], err));
    }
    p->size = kept;
    return PFD_OK;
}

pfd_status pfd_arrow_proposal_end(pfd_arrow_proposal *p, const pfd_file *file, pfd_error *err)
{
    PFD_TRY(write_types(p, file, err));
    if (p->size > 0)
        return pfd_inferred_fields_set(p->args, "columns", file, p->fields, p->size, err);
    return p->args->host->fail_file(err, file, -1, PFD_UNSUPPORTED,
                                    "no column can be read as it is: rows are numbers, lists of "
                                    "numbers and bytes, and integers with nulls need a default, as "
                                    "in columns=['n:int64=0']; the columns are %s",
                                    p->left_out_bytes ? p->left_out : "none");
}
