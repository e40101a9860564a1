/* Parses the fields of JSONLinesReader, and makes the tree of their paths. */
#include "formats/json/json_fields.h"

#include "core/convert.h"
#include "core/rows.h"
#include "parse/json.h"
#include "parse/number_text.h"
#include "pyflowdata/pyflowdata.h"

#include <stdlib.h>
#include <string.h>

/* ---- Paths ----------------------------------------------------------------------------------- */

/* A step of a path.  The name is in the key, with '' for a quote. */
typedef struct step {
    const char *name; /* NULL: an element */
    int64_t size;     /* of the name, or the number of the element */
    int32_t is_quoted;
} step;

typedef struct path {
    const char *at, *end;
    int32_t is_begun;
} path;

static const char *read_number(path *p, step *out)
{
    static const char problem[] = "an element is written [N], where N is its number from 0";
    const char *begin = ++p->at;
    *out = (step){0};
    for (; p->at < p->end && *p->at >= '0' && *p->at <= '9'; p->at++) {
        if (out->size > INT32_MAX) return problem;
        out->size = 10 * out->size + *p->at - '0';
    }
    if (p->at == begin || p->at == p->end || *p->at != ']') return problem;
    p->at++;
    return NULL;
}

static const char *read_quoted(path *p, step *out)
{
    const char *begin = ++p->at;
    for (; p->at < p->end; p->at++) {
        if (*p->at != '\'') continue;
        if (p->at + 1 == p->end || p->at[1] != '\'') break;
        p->at++;
    }
    if (p->at == p->end) return "a quote is not closed";
    *out = (step){begin, p->at++ - begin, 1};
    return NULL;
}

/* Reads the next step; returns what is wrong, or NULL. */
static const char *next_step(path *p, step *out)
{
    if (*p->at == '[' && p->is_begun) return read_number(p, out);
    if (p->is_begun && *p->at++ != '.') return "a name follows without a dot";
    p->is_begun = 1;
    if (p->at < p->end && *p->at == '\'') return read_quoted(p, out);
    const char *begin = p->at;
    while (p->at < p->end && !strchr(".[]'", *p->at)) p->at++;
    if (p->at == begin) return "a name is empty";
    *out = (step){begin, p->at - begin, 0};
    return NULL;
}

static path path_of(const pfd_json_field *field)
{
    return (path){field->spec.key, field->spec.key + field->spec.key_size, 0};
}

static pfd_status check_path(const pfd_host *host, const pfd_json_field *field, pfd_error *err)
{
    path p = path_of(field);
    step one;
    int32_t depth = 0;
    const char *problem = NULL;
    while (p.at < p.end && !problem) {
        problem = next_step(&p, &one);
        if (++depth > PFD_JSON_DEPTH) problem = "it has more than 64 steps";
    }
    if (!problem) return PFD_OK;
    return host->fail_attr(err, "fields", NULL, PFD_INVALID_ARGUMENT,
                           ": in the path of '%.200s' %s; a path is names with dots between them "
                           "and [N] for an element of an array, like meta.lang or tags[0]; a name "
                           "with dots, brackets, colons or quotes is written in single quotes, "
                           "like 'a.b'.c", field->element, problem);
}

/* ---- Types and defaults ---------------------------------------------------------------------- */

static pfd_status refuse(const pfd_host *host, const pfd_json_field *field, const char *problem,
                         pfd_error *err)
{
    return host->fail_attr(err, "fields", NULL, PFD_INVALID_ARGUMENT, ": '%.200s' %s",
                           field->element, problem);
}

static pfd_status check_type(const pfd_host *host, pfd_json_field *field, pfd_error *err)
{
    const int64_t most = INT32_MAX;
    const pfd_row_type *type = &field->spec.type;
    int64_t fixed = 1;
    if (type->dtype == PFD_FLOAT16 || type->dtype == PFD_BFLOAT16)
        return refuse(host, field, "has a float of 16 bits; read float32, and let Cast narrow it",
                      err);
    field->item_bytes = pfd_dtype_size(type->dtype);
    field->is_ragged = pfd_is_ragged(type);
    for (int32_t d = 0; d < type->ndim; d++) {
        int64_t size = type->shape[d];
        if (size > 0 && fixed > most / size)
            return refuse(host, field, "has a shape of more than 2^31 items", err);
        if (size >= 0) fixed *= size;
    }
    if (field->is_ragged && fixed == 0)
        return refuse(host, field, "has a shape in which a dimension varies and another one is 0",
                      err);
    return PFD_OK;
}

static int32_t is_word(const pfd_field_spec *spec, const char *word)
{
    return spec->default_size == (int64_t)strlen(word) && !strcmp(spec->default_text, word);
}

/* Parses the default of an item, as JSON, and nan and inf for floats. */
static int32_t parse_item(pfd_json_field *field)
{
    const pfd_field_spec *spec = &field->spec;
    const uint8_t *text = (const uint8_t *)spec->default_text;
    int32_t dtype = spec->type.dtype;
    pfd_json json = pfd_json_begin(text, spec->default_size);
    if (dtype == PFD_BOOL) {
        field->fill[0] = (uint8_t)is_word(spec, "true");
        return field->fill[0] || is_word(spec, "false");
    }
    int32_t is_float = pfd_dtype_is_float(dtype);
    double value;
    if (is_float && (is_word(spec, "nan") || is_word(spec, "inf") || is_word(spec, "-inf"))) {
        (void)pfd_parse_double(spec->default_text, spec->default_size, &value);
        float narrow = (float)value;
        memcpy(field->fill, dtype == PFD_FLOAT32 ? (void *)&narrow : (void *)&value,
               (size_t)field->item_bytes);
        return 1;
    }
    return pfd_json_is(&json, 0) && json.at == 0 && pfd_json_skip(&json) &&
           json.at == json.size &&
           pfd_json_number(dtype, text, json.size, field->fill) == PFD_PARSED;
}

static pfd_status check_default(const pfd_host *host, pfd_json_field *field, pfd_error *err)
{
    const pfd_field_spec *spec = &field->spec;
    if (!spec->default_text || field->kind == PFD_JSON_STRING) return PFD_OK;
    if (field->kind == PFD_JSON_ANY) {
        pfd_json json = pfd_json_begin((const uint8_t *)spec->default_text, spec->default_size);
        (void)pfd_json_skip(&json);
        if (pfd_json_end(&json)) return PFD_OK;
        return refuse(host, field, "has a default that is not JSON", err);
    }
    if (field->is_ragged && spec->default_size > 0)
        return refuse(host, field,
                      "has a default, and its size varies: write nothing after the '=', which "
                      "means no items", err);
    if (field->is_ragged || parse_item(field)) return PFD_OK;
    return host->fail_attr(err, "fields", NULL, PFD_INVALID_ARGUMENT,
                           ": '%.200s' has a default that is not one %s, for all of its items",
                           field->element, pfd_dtype_name(spec->type.dtype));
}

pfd_status pfd_json_field_parse(const pfd_host *host, const char *element, pfd_json_field *out,
                                pfd_error *err)
{
    *out = (pfd_json_field){.element = element, .next = -1};
    pfd_field_spec *spec = &out->spec;
    PFD_TRY(pfd_field_spec_parse_with(host, "fields", element, "str|json", spec, err));
    PFD_TRY(check_path(host, out, err));
    if (!spec->has_type)
        return refuse(host, out,
                      "has no type; write KEY:TYPE, such as y:int64, x:float32[3], ids:int64[?], "
                      "text:str, or meta:json for the text of any value", err);
    if (pfd_field_has_type(spec, "bytes") || pfd_field_has_type(spec, "str"))
        out->kind = PFD_JSON_STRING;
    else if (pfd_field_has_type(spec, "json"))
        out->kind = PFD_JSON_ANY;
    PFD_TRY(check_type(host, out, err));
    return check_default(host, out, err);
}

/* ---- The tree -------------------------------------------------------------------------------- */

void pfd_json_fields_free(void *made)
{
    pfd_json_fields *fields = made;
    if (!fields) return;
    free(fields->fields);
    free(fields->nodes);
    free(fields->order);
    free(fields->names);
    free(fields);
}

static int32_t is_step(const pfd_json_node *node, const char *name, int64_t size)
{
    return !node->name == !name && node->size == size &&
           (!name || !memcmp(node->name, name, (size_t)size));
}

/* Copies a name to *names without the doubled quotes, and ends it with a 0. */
static int64_t copy_name(const step *from, char *out)
{
    int64_t size = 0;
    for (int64_t i = 0; i < from->size; i++) {
        out[size++] = from->name[i];
        i += from->is_quoted && from->name[i] == '\'';
    }
    out[size] = '\0';
    return size;
}

/* Finds the child of a node, or makes it. */
static int32_t child_of(pfd_json_fields *fields, int32_t parent, const step *one, char **names)
{
    pfd_json_node *nodes = fields->nodes;
    char *name = one->name ? *names : NULL;
    int64_t size = name ? copy_name(one, name) : one->size;
    int32_t *link = &nodes[parent].child;
    for (; *link >= 0; link = &nodes[*link].sibling)
        if (is_step(&nodes[*link], name, size)) return *link;
    if (name) *names += size + 1;
    if (name) nodes[parent].names |= pfd_json_name_bit(name, size);
    int32_t made = fields->num_nodes++;
    nodes[made] = (pfd_json_node){
        .name = name, .size = size, .child = -1, .sibling = -1, .field = -1};
    *link = made;
    return made;
}

static void add_field(pfd_json_fields *fields, int32_t number, char **names)
{
    pfd_json_field *field = &fields->fields[number];
    path p = path_of(field);
    int32_t node = 0;
    while (p.at < p.end) {
        step one = {0};
        (void)next_step(&p, &one);
        node = child_of(fields, node, &one, names);
    }
    field->next = fields->nodes[node].field;
    fields->nodes[node].field = number;
}

/* Lists the fields below each node.  A path has at most 64 steps, which bounds the depth. */
static int32_t list_fields(pfd_json_fields *fields, int32_t number, int32_t used)
{
    pfd_json_node *node = &fields->nodes[number];
    node->first = used;
    for (int32_t i = node->field; i >= 0; i = fields->fields[i].next) fields->order[used++] = i;
    for (int32_t i = node->child; i >= 0; i = fields->nodes[i].sibling)
        used = list_fields(fields, i, used);
    node->end = used;
    return used;
}

static pfd_status fill(const pfd_host *host, pfd_list_string elements, pfd_json_fields *out,
                       pfd_error *err)
{
    size_t n = (size_t)elements.size, bytes = 1;
    for (size_t i = 0; i < n; i++) bytes += strlen(elements.data[i]) + 1;
    out->num_fields = elements.size;
    out->fields = calloc(n + 1, sizeof *out->fields);
    out->order = calloc(n + 1, sizeof *out->order);
    out->nodes = calloc(bytes, sizeof *out->nodes); /* a step is a byte at least */
    out->names = calloc(2, bytes);                  /* each name may end with a 0 */
    if (!out->fields || !out->order || !out->nodes || !out->names)
        return host->fail(err, PFD_OUT_OF_MEMORY, "no memory for the fields");
    out->nodes[out->num_nodes++] = (pfd_json_node){.child = -1, .sibling = -1, .field = -1};
    char *names = out->names;
    for (size_t i = 0; i < n; i++)
        PFD_TRY(pfd_json_field_parse(host, elements.data[i], &out->fields[i], err));
    for (size_t i = n; i-- > 0;) add_field(out, (int32_t)i, &names);
    (void)list_fields(out, 0, 0);
    return PFD_OK;
}

pfd_status pfd_json_fields_make(const pfd_host *host, pfd_list_string elements,
                                pfd_json_fields **out, pfd_error *err)
{
    *out = NULL;
    pfd_json_fields *fields = calloc(1, sizeof *fields);
    if (!fields) return host->fail(err, PFD_OUT_OF_MEMORY, "no memory for the fields");
    pfd_status status = fill(host, elements, fields, err);
    if (status == PFD_OK) *out = fields;
    else pfd_json_fields_free(fields);
    return status;
}
