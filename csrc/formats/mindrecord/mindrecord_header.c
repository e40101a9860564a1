/* The JSON header of MindRecord shards: fields, pages, names of shards. */
#include "formats/mindrecord/mindrecord_header.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_FIELDS = 4096, MOST_PAGES = 1 << 24 };

/* Cursors at the parts of the header, which may come in any order. */
typedef struct parts {
    pfd_json pages, schema, version;
} parts;

/* ---- Fields ---------------------------------------------------------------------------------- */
static int32_t parse_type(pfd_json *json, pfd_mindrecord_field *field)
{
    static const struct {
        const char *name;
        int32_t type;
    } types[] = {{"int32", PFD_INT32},     {"int64", PFD_INT64},
                 {"float32", PFD_FLOAT32}, {"float64", PFD_FLOAT64},
                 {"bytes", PFD_MINDRECORD_BYTES}, {"string", PFD_MINDRECORD_STRING}};
    pfd_json_text text;
    if (!pfd_json_string(json, &text)) return 0;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (pfd_json_equals(&text, types[i].name)) field->type = types[i].type;
    return field->type || pfd_json_refuse(json, "expected a type of MindRecord before here: int32, "
                                                "int64, float32, float64, string or bytes");
}

static int32_t parse_shape(pfd_json *json, pfd_mindrecord_field *field)
{
    int32_t varying = 0;
    field->is_array = 1;
    pfd_json_enter(json, '[');
    while (pfd_json_element(json)) {
        int64_t dim = 0;
        if (!pfd_json_int64(json, &dim)) break;
        varying += dim == -1;
        if (field->ndim == PFD_MAX_DIMS || dim < -1 || dim == 0 || dim > INT32_MAX || varying > 1)
            return pfd_json_refuse(json, "expected at most 8 dimensions, positive or one of -1");
        field->shape[field->ndim++] = dim;
    }
    if (!json->problem && field->ndim == 0)
        pfd_json_refuse(json, "expected a shape with at least one dimension");
    return !json->problem;
}

static int32_t parse_field(pfd_json *json, pfd_mindrecord_field *field)
{
    pfd_json_text key;
    pfd_json_enter(json, '{');
    while (pfd_json_member(json, &key)) {
        if (pfd_json_equals(&key, "type")) parse_type(json, field);
        else if (pfd_json_equals(&key, "shape")) parse_shape(json, field);
        else pfd_json_skip(json);
    }
    if (!json->problem && field->type == 0)
        pfd_json_refuse(json, "expected a field with a type before here");
    if (field->is_array && field->type >= PFD_MINDRECORD_STRING)
        pfd_json_refuse(json, "expected an array of numbers, not of string or bytes, before here");
    return !json->problem;
}

/* Counts the values of an array or object, and the bytes of their names. */
static int64_t count(pfd_json json, char bracket, int64_t *text_bytes)
{
    pfd_json_text text = {.size = 0};
    int64_t n = 0;
    pfd_json_enter(&json, bracket);
    while (bracket == '{' ? pfd_json_member(&json, &text) : pfd_json_element(&json)) {
        pfd_json_skip(&json);
        *text_bytes += text.size + 1;
        n++;
    }
    return json.problem ? -1 : n;
}

/* Gives the fields their place in the blob. */
static int32_t parse_blobs(pfd_json *json, pfd_mindrecord_header *out)
{
    pfd_json_text name;
    pfd_json_enter(json, '[');
    while (pfd_json_element(json)) {
        if (!pfd_json_string(json, &name)) break;
        int64_t found = -1;
        for (int64_t i = 0; i < out->num_fields; i++)
            if (pfd_json_equals(&name, out->fields[i].name)) found = i;
        if (found < 0 || out->fields[found].blob >= 0)
            return pfd_json_refuse(json, "expected the blob fields, each once, before here");
        out->fields[found].blob = (int32_t)out->num_blobs++;
    }
    for (int64_t i = 0; i < out->num_fields && !json->problem; i++) {
        const pfd_mindrecord_field *field = &out->fields[i];
        if ((field->is_array || field->type == PFD_MINDRECORD_BYTES) != (field->blob >= 0))
            pfd_json_refuse(json, "expected the arrays and the fields of bytes, and no others, to "
                                  "be blob fields");
    }
    return !json->problem;
}

static int32_t parse_fields(pfd_json *json, pfd_mindrecord_header *out)
{
    char *room = out->text;
    pfd_json_text name;
    pfd_json_enter(json, '{');
    for (int64_t i = 0; pfd_json_member(json, &name); i++) {
        pfd_mindrecord_field *field = &out->fields[i];
        *field = (pfd_mindrecord_field){.name = room, .blob = -1};
        field->name_size = pfd_json_decode(&name, room);
        room[field->name_size] = 0;
        room += field->name_size + 1;
        if (!parse_field(json, field)) return 0;
    }
    return !json->problem;
}

/* Parses [{"blob_fields": [...], "desc": ..., "schema": {...}}]. */
static pfd_status parse_schema(const pfd_host *host, pfd_json *json, pfd_mindrecord_header *out,
                               pfd_error *err)
{
    pfd_json_text key;
    pfd_json blobs = {0}, fields = {0};
    int64_t bytes = 0;
    pfd_json_enter(json, '[');
    if (pfd_json_element(json)) {
        pfd_json_enter(json, '{');
        while (pfd_json_member(json, &key)) {
            if (pfd_json_equals(&key, "blob_fields")) blobs = *json;
            if (pfd_json_equals(&key, "schema")) fields = *json;
            pfd_json_skip(json);
        }
    }
    out->num_fields = fields.data ? count(fields, '{', &bytes) : -1;
    if (!json->problem &&
        (!blobs.data || out->num_fields < 1 || out->num_fields > MOST_FIELDS ||
         pfd_json_element(json)))
        pfd_json_refuse(json, "expected one schema with blob_fields and fields");
    if (json->problem) return PFD_CORRUPT_DATA;
    out->fields = calloc((size_t)out->num_fields, sizeof *out->fields);
    out->text = malloc((size_t)bytes);
    if (!out->fields || !out->text)
        return host->fail(err, PFD_OUT_OF_MEMORY, "no memory for the fields of MindRecord");
    if (!parse_fields(&fields, out)) *json = fields;
    else if (!parse_blobs(&blobs, out)) *json = blobs;
    return json->problem ? PFD_CORRUPT_DATA : PFD_OK;
}

/* ---- Pages ----------------------------------------------------------------------------------- */
static int32_t parse_groups(pfd_json *json, pfd_mindrecord_header *out, pfd_mindrecord_page *page)
{
    pfd_json_text key;
    page->first_group = out->num_groups;
    pfd_json_enter(json, '[');
    while (pfd_json_element(json)) {
        pfd_mindrecord_group group = {-1, -1};
        pfd_json_enter(json, '{');
        while (pfd_json_member(json, &key)) {
            if (pfd_json_equals(&key, "id")) pfd_json_int64(json, &group.blob_page);
            else if (pfd_json_equals(&key, "offset")) pfd_json_int64(json, &group.offset);
            else pfd_json_skip(json);
        }
        if (!json->problem && (group.blob_page < 0 || group.offset < 0))
            pfd_json_refuse(json, "expected a row group with id and offset before here");
        if (out->groups) out->groups[out->num_groups] = group;
        out->num_groups++;
        page->num_groups++;
    }
    return !json->problem;
}

static int32_t parse_page_type(pfd_json *json, pfd_mindrecord_page *page)
{
    pfd_json_text type;
    if (!pfd_json_string(json, &type)) return 0;
    page->is_raw = pfd_json_equals(&type, "RAW_DATA");
    return page->is_raw || pfd_json_equals(&type, "BLOB_DATA") ||
           pfd_json_refuse(json, "expected a page of type RAW_DATA or BLOB_DATA before here");
}

static int32_t parse_page(pfd_json *json, pfd_mindrecord_header *out, pfd_mindrecord_page *page)
{
    pfd_json_text key;
    int64_t shard = -1;
    *page = (pfd_mindrecord_page){.number = -1, .type_number = -1, .used = -1, .end_row = -1,
                                  .is_raw = -1};
    pfd_json_enter(json, '{');
    while (pfd_json_member(json, &key)) {
        if (pfd_json_equals(&key, "page_id")) pfd_json_int64(json, &page->number);
        else if (pfd_json_equals(&key, "page_type_id")) pfd_json_int64(json, &page->type_number);
        else if (pfd_json_equals(&key, "page_type")) parse_page_type(json, page);
        else if (pfd_json_equals(&key, "page_size")) pfd_json_int64(json, &page->used);
        else if (pfd_json_equals(&key, "start_row_id")) pfd_json_int64(json, &page->first_row);
        else if (pfd_json_equals(&key, "end_row_id")) pfd_json_int64(json, &page->end_row);
        else if (pfd_json_equals(&key, "row_group_ids")) parse_groups(json, out, page);
        else if (pfd_json_equals(&key, "shard_id")) pfd_json_int64(json, &shard);
        else pfd_json_skip(json);
    }
    if (!json->problem && (page->number < 0 || page->type_number < 0 || page->used < 0 ||
                           page->is_raw < 0 || page->first_row < 0 ||
                           page->end_row < page->first_row || page->end_row > UINT32_MAX * 1024ll))
        pfd_json_refuse(json, "expected a page with page_id, page_type, page_type_id, page_size "
                              "and rows before here");
    if (!json->problem && shard != out->shard)
        pfd_json_refuse(json, "expected a page of this shard before here");
    return !json->problem;
}

/* Counts pages and row groups, or fills them in where there is room. */
static int32_t walk_pages(pfd_json json, pfd_mindrecord_header *out, pfd_json *failed)
{
    pfd_mindrecord_page page;
    out->num_pages = out->num_groups = 0;
    pfd_json_enter(&json, '[');
    while (pfd_json_element(&json) && parse_page(&json, out, &page)) {
        if (out->num_pages == MOST_PAGES)
            pfd_json_refuse(&json, "expected no more than 2^24 pages");
        else if (out->pages)
            out->pages[out->num_pages++] = page;
        else
            out->num_pages++;
    }
    *failed = json;
    return !json.problem;
}

static int by_type_and_number(const void *a, const void *b)
{
    const pfd_mindrecord_page *x = a, *y = b;
    if (x->is_raw != y->is_raw) return x->is_raw - y->is_raw;
    return (x->type_number > y->type_number) - (x->type_number < y->type_number);
}

/* Checks that slots, numbers and rows follow each other without gaps, and fit into their slots. */
static const char *check_pages(pfd_mindrecord_header *out, uint8_t *seen)
{
    int64_t row = 0, number = 0;
    for (int64_t i = 0; i < out->num_pages; i++) {
        const pfd_mindrecord_page *page = &out->pages[i];
        if (page->number >= out->num_pages || seen[page->number]++)
            return "expected the pages to have page_id 0, 1, 2 and so on, each once";
        if (page->used > out->page_size) return "expected no page to use more than page_size bytes";
        if (i > 0 && page->is_raw != out->pages[i - 1].is_raw) number = 0;
        if (page->type_number != number++)
            return "expected the pages of a type to have page_type_id 0, 1, 2 and so on";
        if (page->is_raw) continue;
        if (page->first_row != row) return "expected the rows of blob pages to follow each other";
        row = page->end_row;
        out->num_blob_pages++;
    }
    out->num_rows = row;
    return NULL;
}

static pfd_status parse_pages(const pfd_host *host, pfd_json *json, pfd_mindrecord_header *out,
                              pfd_error *err)
{
    pfd_json at = *json;
    if (!walk_pages(at, out, json)) return PFD_CORRUPT_DATA;
    size_t pages = (size_t)out->num_pages + 1, groups = (size_t)out->num_groups + 1;
    out->pages = calloc(pages, sizeof *out->pages);
    out->groups = calloc(groups, sizeof *out->groups);
    uint8_t *seen = calloc(pages, 1);
    const char *problem = NULL;
    if (out->pages && out->groups && seen) {
        walk_pages(at, out, json);
        qsort(out->pages, (size_t)out->num_pages, sizeof *out->pages, by_type_and_number);
        problem = check_pages(out, seen);
    }
    free(seen);
    if (!out->pages || !out->groups || !seen)
        return host->fail(err, PFD_OUT_OF_MEMORY, "no memory for the pages of MindRecord");
    if (problem) pfd_json_refuse(json, problem);
    return problem ? PFD_CORRUPT_DATA : PFD_OK;
}

/* ---- The whole ------------------------------------------------------------------------------- */
static int32_t parse_members(pfd_json *json, pfd_mindrecord_header *out, parts *found)
{
    pfd_json_text key;
    pfd_json_enter(json, '{');
    while (pfd_json_member(json, &key)) {
        if (pfd_json_equals(&key, "header_size")) pfd_json_int64(json, &out->header_size);
        else if (pfd_json_equals(&key, "page_size")) pfd_json_int64(json, &out->page_size);
        else if (pfd_json_equals(&key, "shard_id")) pfd_json_int64(json, &out->shard);
        else {
            if (pfd_json_equals(&key, "page")) found->pages = *json;
            if (pfd_json_equals(&key, "schema")) found->schema = *json;
            if (pfd_json_equals(&key, "version")) found->version = *json;
            if (pfd_json_equals(&key, "shard_addresses")) out->addresses = *json;
            pfd_json_skip(json);
        }
    }
    if (pfd_json_end(json) && (!found->pages.data || !found->schema.data || !found->version.data ||
                               !out->addresses.data))
        pfd_json_refuse(json, "expected the header of a MindRecord file: page, schema, "
                              "shard_addresses and version before here");
    return !json->problem;
}

static int32_t check_sizes(pfd_json *json, pfd_mindrecord_header *out, int64_t size)
{
    pfd_json addresses = out->addresses;
    pfd_json_text name;
    pfd_json_enter(&addresses, '[');
    while (pfd_json_element(&addresses) && pfd_json_string(&addresses, &name)) out->num_shards++;
    if (addresses.problem) *json = addresses;
    else if (out->header_size < size + 8 ||
             out->header_size > PFD_MINDRECORD_MOST_HEADER_BYTES)
        pfd_json_refuse(json, "expected a header_size of at most 128 MiB, not below the header's "
                              "size");
    else if (out->page_size < 1 || out->page_size > 1ll << 30)
        pfd_json_refuse(json, "expected a page_size up to 1 GiB");
    else if (out->shard < 0 || out->shard >= out->num_shards)
        pfd_json_refuse(json, "expected a shard_id below the number of shard_addresses");
    return !json->problem;
}

static pfd_status parse_version(pfd_json *json, pfd_mindrecord_header *out)
{
    pfd_json_text version;
    if (!pfd_json_string(json, &version)) return PFD_CORRUPT_DATA;
    out->packs_integers = pfd_json_equals(&version, "3.0");
    if (out->packs_integers || pfd_json_equals(&version, "2.0")) return PFD_OK;
    pfd_json_refuse(json, "expected version 2.0 or 3.0");
    return PFD_UNSUPPORTED;
}

pfd_status pfd_mindrecord_header_parse(const pfd_host *host, const uint8_t *text, int64_t size,
                                       pfd_mindrecord_header *out, pfd_error *err)
{
    *out = (pfd_mindrecord_header){.shard = -1};
    parts found = {0};
    pfd_json json = pfd_json_begin(text, size);
    pfd_status status = PFD_CORRUPT_DATA;
    if (parse_members(&json, out, &found) && check_sizes(&json, out, size)) {
        status = parse_version(&found.version, out);
        if (status != PFD_OK) json = found.version;
    }
    if (status == PFD_OK) {
        status = parse_schema(host, &found.schema, out, err);
        json = found.schema;
    }
    if (status == PFD_OK) {
        status = parse_pages(host, &found.pages, out, err);
        json = found.pages;
    }
    if (status == PFD_OK || status == PFD_OUT_OF_MEMORY) return status;
    return host->fail_row(err, -1, json.at, status, "the header's JSON: %s", json.problem);
}

void pfd_mindrecord_header_free(pfd_mindrecord_header *header)
{
    free(header->fields);
    free(header->pages);
    free(header->groups);
    free(header->text);
    *header = (pfd_mindrecord_header){.shard = -1};
}

int32_t pfd_mindrecord_same_fields(const pfd_mindrecord_header *a, const pfd_mindrecord_header *b)
{
    if (a->num_fields != b->num_fields || a->num_blobs != b->num_blobs ||
        a->packs_integers != b->packs_integers)
        return 0;
    for (int64_t i = 0; i < a->num_fields; i++) {
        const pfd_mindrecord_field *x = &a->fields[i], *y = &b->fields[i];
        if (strcmp(x->name, y->name) != 0 || x->type != y->type || x->blob != y->blob ||
            x->ndim != y->ndim || memcmp(x->shape, y->shape, sizeof x->shape) != 0)
            return 0;
    }
    return 1;
}
