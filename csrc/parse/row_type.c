/* Types of rows: in messages, as NumPy writes them with None for a dimension that varies, and in
 * the fields that a user writes. */
#include "parse/row_type.h"

#include "core/convert.h"
#include "parse/words.h"
#include "pyflowdata/pyflowdata.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- The type of a row in a message ---------------------------------------------------------- */

/* Adds the sizes of the dimensions as long as there is room; returns how many bytes there are. */
static size_t add_shape(char *out, size_t capacity, size_t used, const pfd_row_type *type,
                        const char *varies, const char *comma)
{
    for (int32_t i = 0; i < type->ndim && i < PFD_MAX_DIMS && used < capacity; i++) {
        const char *before = i ? comma : "";
        int64_t size = type->shape[i];
        used += (size_t)(size < 0
                             ? snprintf(out + used, capacity - used, "%s%s", before, varies)
                             : snprintf(out + used, capacity - used, "%s%" PRId64, before, size));
    }
    return used;
}

const char *pfd_format_row_type(const pfd_row_type *type, char *out, size_t capacity)
{
    const char *dtype = pfd_dtype_name(type->dtype);
    size_t used = (size_t)snprintf(out, capacity, "%s (", dtype ? dtype : "unknown");
    used = add_shape(out, capacity, used, type, "None", ", ");
    if (used < capacity) (void)snprintf(out + used, capacity - used, type->ndim == 1 ? ",)" : ")");
    return out;
}

pfd_status pfd_refuse_rows(const pfd_infer_args *args, int32_t input, const char *name,
                           const char *expected, pfd_error *err)
{
    char found[256];
    return args->host->fail(err, PFD_INVALID_ARGUMENT, "the rows of input '%s' are %s; %s", name,
                            pfd_format_row_type(&args->inputs[input], found, sizeof found),
                            expected);
}

pfd_status pfd_expect_bytes(const pfd_infer_args *args, pfd_error *err)
{
    const pfd_row_type *in = &args->inputs[0];
    if (in->dtype == PFD_UINT8 && in->ndim == 1) return PFD_OK;
    return pfd_refuse_rows(args, 0, "in", "they must be bytes: uint8 (None,) or uint8 (n,)", err);
}

/* ---- Fields, as a user writes them ----------------------------------------------------------- */

typedef struct parser {
    const pfd_host *host;
    const char *attr, *element;
    const char *bytes_types; /* more names than 'bytes', with | between them */
} parser;

static pfd_status fail(const parser *p, const char *found, const char *at, size_t size,
                       pfd_error *err)
{
    char element[256], part[256], plain[256];
    const char *shown = p->element;
    size_t name_size = strcspn(shown, "=:"), digits = strspn(shown + name_size, "=0123456789");
    if (digits > 1 && shown[name_size + digits] == ':') { /* the number of a column is not shown */
        (void)snprintf(plain, sizeof plain, "%.*s%s", (int)(name_size < 200 ? name_size : 200),
                       shown, shown + name_size + digits);
        shown = plain;
    }
    return p->host->fail_attr(err, p->attr, NULL, PFD_INVALID_ARGUMENT,
        ": in the field %s %s %s; a field is written [NAME=]KEY[:TYPE][=DEFAULT], like "
        "'label:int64', 'x:float32[28,28]', 'ids:int64[?]' or 'image=image/encoded:bytes'",
        pfd_quote_bytes((const uint8_t *)shown, (int64_t)strlen(shown), element, sizeof element),
        found, pfd_quote_bytes((const uint8_t *)at, (int64_t)size, part, sizeof part));
}

/* A dimension at *at, up to the ',' or ']' after it. */
static pfd_status parse_dimension(const parser *p, const char **at, int64_t *out, pfd_error *err)
{
    const char *begin = *at;
    size_t size = strcspn(begin, ",]");
    *at += size;
    if (size == 1 && *begin == '?') {
        *out = -1;
        return PFD_OK;
    }
    *out = 0;
    for (size_t i = 0; i < size; i++) {
        if (!isdigit((unsigned char)begin[i]) || *out > INT32_MAX) break;
        *out = 10 * *out + begin[i] - '0';
        if (i == size - 1) return PFD_OK;
    }
    return fail(p, "a dimension is neither a number nor '?':", begin, size, err);
}

static pfd_status parse_shape(const parser *p, const char *at, const char *end, pfd_row_type *type,
                              pfd_error *err)
{
    const char *begin = at;
    size_t size = (size_t)(end - begin);
    if (end[-1] != ']') return fail(p, "a shape does not end with ']':", begin, size, err);
    if (++at == end - 1) return PFD_OK; /* "[]": a scalar */
    for (;;) {
        if (type->ndim == PFD_MAX_DIMS)
            return fail(p, "a shape has more than 8 dimensions:", begin, size, err);
        PFD_TRY(parse_dimension(p, &at, &type->shape[type->ndim++], err));
        if (at == end - 1) return PFD_OK;
        if (*at++ != ',') return fail(p, "something follows the shape", begin, size, err);
    }
}

/* Whether a word is one of those with | between them. */
static int32_t is_one_of(const char *words, const char *word)
{
    size_t size = strlen(word);
    for (const char *at = words; *at; at += strcspn(at, "|"), at += *at == '|')
        if (strcspn(at, "|") == size && !memcmp(at, word, size)) return 1;
    return 0;
}

/* The type that is meant by a word of another language, or by one that is misspelled; or NULL. */
static const char *likely_type(const char *word)
{
    static const char *const words[][2] = {
        {"str", "bytes"}, {"string", "bytes"}, {"int", "int64"}, {"integer", "int64"},
        {"long", "int64"}, {"float", "float32"}, {"double", "float64"}, {"boolean", "bool"},
    };
    static const char *const types[] = {
        "bytes", "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
        "float16", "float32", "float64", "bfloat16",
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(words[i][0], word)) return words[i][1];
    return pfd_nearest_name(word, types, sizeof types / sizeof *types);
}

/* dtype[shape], or bytes. */
static pfd_status parse_type(const parser *p, const char *at, size_t size, pfd_field_spec *out,
                             pfd_error *err)
{
    char dtype[32] = "";
    const char *bracket = memchr(at, '[', size);
    size_t length = bracket ? (size_t)(bracket - at) : size;
    if (length < sizeof dtype) memcpy(dtype, at, length);
    out->has_type = 1;
    out->has_shape = bracket != NULL;
    if (!bracket && (!strcmp(dtype, "bytes") || is_one_of(p->bytes_types, dtype))) {
        out->has_shape = 1;
        out->type = (pfd_row_type){.dtype = PFD_UINT8, .ndim = 1, .shape = {-1}};
        return PFD_OK;
    }
    out->type.dtype = pfd_dtype_parse(dtype);
    if (!out->type.dtype) {
        char found[192];
        const char *meant = likely_type(dtype);
        (void)snprintf(found, sizeof found,
                       "the type is neither 'bytes'%s%s%s nor a dtype from 'bool' to 'float64'%s%s"
                       "%s:",
                       *p->bytes_types ? " or '" : "", p->bytes_types,
                       *p->bytes_types ? "'" : "", meant ? " (did you mean '" : "",
                       meant ? meant : "", meant ? "'?)" : "");
        return fail(p, found, at, size, err);
    }
    return bracket ? parse_shape(p, bracket, at + size, &out->type, err) : PFD_OK;
}

/* The last ':' of a text, or NULL. */
static const char *last_colon(const char *text, size_t size)
{
    while (size > 0 && text[size - 1] != ':') size--;
    return size > 0 ? text + size - 1 : NULL;
}

int64_t pfd_field_name_size(const char *element)
{
    size_t size = strcspn(element, "=");
    const char *colon = last_colon(element, size);
    return colon ? colon - element : (int64_t)size;
}

pfd_status pfd_field_spec_parse(const pfd_host *host, const char *attr, const char *element,
                                pfd_field_spec *out, pfd_error *err)
{
    return pfd_field_spec_parse_with(host, attr, element, "", out, err);
}

int32_t pfd_field_has_type(const pfd_field_spec *field, const char *type)
{
    const char *at = field->key + field->key_size + 1; /* after the ':' */
    size_t size = strlen(type);
    return field->has_type && !strncmp(at, type, size) && (!at[size] || at[size] == '=');
}

pfd_status pfd_field_spec_parse_with(const pfd_host *host, const char *attr, const char *element,
                                     const char *bytes_types, pfd_field_spec *out, pfd_error *err)
{
    parser p = {host, attr, element, bytes_types};
    *out = (pfd_field_spec){.name = element, .key = element};
    out->name_size = pfd_field_name_size(element);
    if (element[out->name_size] == '=') out->key = element + out->name_size + 1;
    /* A default may have colons, so the type's is looked for before the '=' that begins it. */
    const char *equals = strchr(out->key, '=');
    size_t size = equals ? (size_t)(equals - out->key) : strlen(out->key);
    const char *colon = last_colon(out->key, size);
    if (equals) {
        out->default_text = equals + 1;
        out->default_size = (int64_t)strlen(equals + 1);
    }
    out->key_size = (int64_t)(colon ? (size_t)(colon - out->key) : size);
    if (out->name_size == 0 || out->key_size == 0)
        return fail(&p, "a name is empty:", out->key, size, err);
    if (equals && !colon)
        return fail(&p, "there is a default without a type:", equals, strlen(equals), err);
    return colon ? parse_type(&p, colon + 1, size - (size_t)out->key_size - 1, out, err) : PFD_OK;
}

const char *pfd_format_field_type(const pfd_row_type *type, char *out, size_t capacity)
{
    size_t used = (size_t)snprintf(out, capacity, "%s%s", pfd_dtype_name(type->dtype),
                                   type->ndim ? "[" : "");
    used = add_shape(out, capacity, used, type, "?", ",");
    if (type->ndim) (void)snprintf(out + used, capacity - used, "]");
    return out;
}

size_t pfd_add_name(char *out, size_t capacity, size_t used, const char *name)
{
    const size_t most = 80; /* bytes of one name, and the dots */
    if (used >= capacity) return used;
    if (used + most > capacity) {
        (void)snprintf(out + used, capacity - used, ", ...");
        return capacity;
    }
    return used + (size_t)snprintf(out + used, capacity - used, "%s%.40s", used ? ", " : "", name);
}
