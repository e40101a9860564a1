/* Decodes messages of tf.train.Features, with or without lists of steps. */
#include "formats/tfrecord/feature_decoder.h"

#include "core/error.h"
#include "core/rows.h"
#include "parse/words.h"

#include <inttypes.h>

/* ---- The wanted features in a map of features ------------------------------------------------ */

/* A map is one of these messages:
 *
 *     Features { map<string, Feature> feature = 1 }           and the same of FeatureLists
 *
 * Most records have their keys in the same order as the record before, so the key that was at this
 * place of the last record is compared first.
 *
 * OWNERSHIP  The specs are borrowed; everything else is in the scratch of the call. */

#define FEATURE_MAP_PLACES 64 /* how many keys of the last record are kept */

typedef struct feature_place {
    const uint8_t *key;
    int64_t key_size; /* -1: no record had a key here */
    int64_t first;    /* the first spec with this key; -1: none */
} feature_place;

typedef struct feature_map {
    const pfd_feature_spec *specs;
    int64_t num_specs;
    int64_t *next;          /* the next spec with the same key, or -1 */
    pfd_wire_cursor *found; /* for each spec the bytes of its value; `at` NULL: none */
    int64_t *slots;         /* a table of first specs by the hash of their key; -1: empty */
    uint64_t slot_mask;
    int64_t place; /* of the next entry of the record */
    feature_place places[FEATURE_MAP_PLACES];
} feature_map;

static const uint32_t entry_tag = PFD_WIRE_TAG(1, PFD_WIRE_BYTES);
static const uint32_t key_tag = PFD_WIRE_TAG(1, PFD_WIRE_BYTES);
static const uint32_t value_tag = PFD_WIRE_TAG(2, PFD_WIRE_BYTES);

/* ---- Keys ------------------------------------------------------------------------------------ */
static uint64_t hash_key(const uint8_t *key, int64_t size)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (int64_t i = 0; i < size; i++) hash = (hash ^ key[i]) * UINT64_C(0x100000001b3);
    return hash ^ hash >> 32;
}

static int is_key(const pfd_feature_spec *spec, const uint8_t *key, int64_t size)
{
    return spec->field.key_size == size && !memcmp(spec->field.key, key, (size_t)size);
}

/* The slot of a key, or the empty slot where it would be. */
static int64_t *find_slot(const feature_map *map, const uint8_t *key, int64_t size)
{
    uint64_t at = hash_key(key, size) & map->slot_mask;
    while (map->slots[at] >= 0 && !is_key(&map->specs[map->slots[at]], key, size))
        at = (at + 1) & map->slot_mask;
    return &map->slots[at];
}

/* Makes a map of the specs whose is_steps is `steps`. */
static pfd_status feature_map_make(const pfd_compute_args *args, const pfd_feature_spec *specs,
                                   int32_t steps, feature_map **out, pfd_error *err)
{
    const pfd_host *host = args->host;
    int64_t n = args->num_outputs, num_slots = 4;
    while (num_slots < 2 * n) num_slots *= 2;
    feature_map *map = host->alloc(args->scratch, (int64_t)sizeof *map);
    int64_t *next = host->alloc(args->scratch, n * (int64_t)sizeof *next);
    pfd_wire_cursor *found = host->alloc(args->scratch, n * (int64_t)sizeof *found);
    int64_t *slots = host->alloc(args->scratch, num_slots * (int64_t)sizeof *slots);
    if (!map || !next || !found || !slots)
        return host->fail(err, PFD_OUT_OF_MEMORY, "no memory for the table of keys");
    map->specs = specs;
    map->num_specs = n;
    map->next = next;
    map->found = found;
    map->slots = slots;
    map->slot_mask = (uint64_t)num_slots - 1;
    for (int64_t i = 0; i < num_slots; i++) slots[i] = -1;
    for (int64_t i = 0; i < FEATURE_MAP_PLACES; i++) map->places[i].key_size = -1;
    for (int64_t i = n - 1; i >= 0; i--) {
        found[i] = (pfd_wire_cursor){NULL, NULL};
        if (specs[i].is_steps != steps) continue;
        int64_t *slot =
            find_slot(map, (const uint8_t *)specs[i].field.key, specs[i].field.key_size);
        next[i] = *slot;
        *slot = i;
    }
    *out = map;
    return PFD_OK;
}

/* Compares short keys: a call of memcmp() alone would take as long. */
static inline int is_same(const uint8_t *a, const uint8_t *b, int64_t size)
{
    uint64_t x, y;
    if (size > 16) return !memcmp(a, b, (size_t)size);
    if (size < 8) {
        for (int64_t i = 0; i < size; i++) {
            if (a[i] != b[i]) return 0;
        }
        return 1;
    }
    memcpy(&x, a, 8);
    memcpy(&y, b, 8);
    if (x != y) return 0;
    memcpy(&x, a + size - 8, 8);
    memcpy(&y, b + size - 8, 8);
    return x == y;
}

/* The first spec with a key, or -1. */
static inline int64_t find_spec(feature_map *map, const uint8_t *key, int64_t size)
{
    feature_place any, *place = &any;
    if (map->place < FEATURE_MAP_PLACES) {
        place = &map->places[map->place++];
        if (place->key_size == size && is_same(place->key, key, size)) return place->first;
    }
    *place = (feature_place){key, size, *find_slot(map, key, size)};
    return place->first;
}

/* ---- Entries --------------------------------------------------------------------------------- */
static void keep(feature_map *map, int64_t first, pfd_wire_cursor value)
{
    for (int64_t i = first; i >= 0; i = map->next[i]) map->found[i] = value;
}

/* Reads an entry in any form: with fields in any order, missing, repeated or unknown.  The last key
 * counts, and values are merged. */
static pfd_status walk_entry(const pfd_feature_call *call, feature_map *map, pfd_wire_cursor entry)
{
    pfd_wire_cursor c = entry, key = {entry.end, entry.end}, value = {entry.end, entry.end};
    int32_t values = 0;
    while (c.at < c.end) {
        uint32_t tag = pfd_wire_tag(&c);
        pfd_wire_cursor content;
        if (tag != key_tag && tag != value_tag) {
            if (!tag || !pfd_wire_skip(&c, tag)) return pfd_feature_damaged(call, c.at);
            continue;
        }
        if (!pfd_wire_bytes(&c, &content)) return pfd_feature_damaged(call, c.at);
        values += tag == value_tag;
        *(tag == key_tag ? &key : &value) = content;
    }
    int64_t first = find_spec(map, key.at, key.end - key.at);
    if (first >= 0 && values > 1) {
        PFD_TRY(pfd_feature_gather(call, entry, value_tag, &value));
    }
    keep(map, first, value);
    return PFD_OK;
}

/* Forgets the values of the last record. */
static void feature_map_begin(feature_map *map)
{
    map->place = 0;
    for (int64_t i = 0; i < map->num_specs; i++) map->found[i].at = NULL;
}

/* A fast path for a field with a tag of one byte and a size of one or two.  Returns where its
 * content begins; it ends at or before `end`.  NULL: it is another field, or not that simple. */
static inline const uint8_t *enter(const uint8_t *at, const uint8_t *end, uint32_t tag,
                                   int64_t *size)
{
    if (end - at < 2 || at[0] != tag) return NULL;
    if (at[1] < 0x80) {
        *size = at[1];
        at += 2;
    } else {
        if (end - at < 3 || at[2] >= 0x80) return NULL;
        *size = at[1] - 0x80 + ((int64_t)at[2] << 7);
        at += 3;
    }
    return *size <= end - at ? at : NULL;
}

/* Reads an entry of only a key and a value, as nearly all are.  Returns where it ends; NULL: it is
 * not that simple. */
static inline const uint8_t *walk_simple_entry(feature_map *map, const uint8_t *at,
                                               const uint8_t *end)
{
    int64_t size, key_size, value_size;
    const uint8_t *entry = enter(at, end, entry_tag, &size);
    if (!entry) return NULL;
    end = entry + size;
    const uint8_t *key = enter(entry, end, key_tag, &key_size);
    if (!key) return NULL;
    const uint8_t *value = enter(key + key_size, end, value_tag, &value_size);
    if (!value || value + value_size != end) return NULL;
    for (int64_t i = find_spec(map, key, key_size); i >= 0; i = map->next[i]) {
        map->found[i].at = value;
        map->found[i].end = end;
    }
    return end;
}

/* Finds the wanted features in the bytes of a map, or of a piece of one; of equal keys the last one
 * counts. */
static pfd_status feature_map_walk(const pfd_feature_call *call, feature_map *map,
                                   pfd_wire_cursor message)
{
    const uint8_t *at = message.at, *end = message.end;
    while (at < end) {
        const uint8_t *next = walk_simple_entry(map, at, end);
        if (!next) {
            pfd_wire_cursor c = {at, end}, entry = c;
            uint32_t tag = pfd_wire_tag(&c);
            if (tag == entry_tag ? !pfd_wire_bytes(&c, &entry) : !tag || !pfd_wire_skip(&c, tag))
                return pfd_feature_damaged(call, c.at);
            PFD_TRY(tag == entry_tag ? walk_entry(call, map, entry) : PFD_OK);
            next = c.at;
        }
        at = next;
    }
    return PFD_OK;
}

/* ---- A Feature, or a list of steps, as the dense or ragged row of an output ------------------ */

static const char *const kind_names[] = {"nothing", "a bytes_list", "a float_list",
                                         "an int64_list"};
static const uint32_t step_tag = PFD_WIRE_TAG(1, PFD_WIRE_BYTES);

static const char *quote_key(const pfd_feature_spec *spec, char *out, size_t capacity)
{
    return pfd_quote_bytes((const uint8_t *)spec->field.key, spec->field.key_size, out, capacity);
}

/* ---- Failures -------------------------------------------------------------------------------- */
static pfd_status fail_memory(const pfd_feature_call *call)
{
    return call->args->host->fail(call->err, PFD_OUT_OF_MEMORY, "no memory for a row");
}

/* Names the attr that states the field, after a failure of a feature that does not fit it. */
static pfd_status of_features(const pfd_feature_call *call, pfd_status status)
{
    (void)pfd_error_set_attr(call->err, "features");
    return status;
}

static pfd_status fail_missing(const pfd_feature_call *call, const pfd_feature_spec *spec)
{
    char key[256];
    (void)quote_key(spec, key, sizeof key);
    if (spec->is_steps)
        return of_features(
            call,
            pfd_feature_fail(call, NULL,
                             "feature list %s is missing; the field '%.200s=' would take that "
                             "for no steps",
                             key, spec->element));
    return of_features(
        call,
        pfd_feature_fail(call, NULL, "feature %s is missing, and the field '%.200s' has no default",
                         key, spec->element));
}

static pfd_status fail_kind(const pfd_feature_call *call, const pfd_feature_spec *spec,
                            const pfd_feature_list *list)
{
    char key[256];
    const char *hint = "";
    if (list->kind == PFD_FEATURE_BYTES)
        hint = "; 'decode_raw' reads the bytes as numbers, 'bytes' leaves them as they are";
    return of_features(call,
                       pfd_feature_fail(call, list->values.at,
                                        "feature %s holds %s, and the field '%.200s' reads %s%s",
                                        quote_key(spec, key, sizeof key), kind_names[list->kind],
                                        spec->element, kind_names[spec->kind], hint));
}

static pfd_status fail_count(const pfd_feature_call *call, const pfd_feature_spec *spec,
                             const uint8_t *at, int64_t found, int64_t expected, const char *what)
{
    char key[256];
    return of_features(call, pfd_feature_fail(call, at,
                                              "feature %s has %" PRId64
                                              " %s, and the field '%.200s' takes %" PRId64
                                              "; see attr 'on_mismatch'",
                                              quote_key(spec, key, sizeof key), found, what,
                                              spec->element, expected));
}

/* Whether on_mismatch allows `found` values in place of `expected` ones. */
static int32_t is_tolerated(int32_t on_mismatch, int64_t found, int64_t expected)
{
    int32_t needed = found < expected ? PFD_MISMATCH_PAD : PFD_MISMATCH_TRUNCATE;
    return found == expected || on_mismatch == PFD_MISMATCH_FIT || on_mismatch == needed;
}

/* ---- Values ---------------------------------------------------------------------------------- */

/* Finds the only byte string of a list. */
static pfd_status find_string(const pfd_feature_call *call, const pfd_feature_spec *spec,
                              const pfd_feature_list *list, pfd_wire_cursor *out)
{
    int64_t n;
    char key[256];
    PFD_TRY(pfd_feature_list_count(call, list, &n));
    if (n == 1) return pfd_feature_list_string(call, list, out);
    return of_features(call, pfd_feature_fail(call, list->values.at,
                                              "feature %s has %" PRId64
                                              " byte strings; the field '%.200s' takes one",
                                              quote_key(spec, key, sizeof key), n, spec->element));
}

/* Counts the values; of a raw field, finds its bytes too. */
static pfd_status count_values(const pfd_feature_call *call, const pfd_feature_spec *spec,
                               const pfd_feature_list *list, int64_t *n, pfd_wire_cursor *raw)
{
    char key[256];
    if (!spec->is_raw) return pfd_feature_list_count(call, list, n);
    PFD_TRY(find_string(call, spec, list, raw));
    int64_t bytes = raw->end - raw->at;
    *n = bytes / spec->element_bytes;
    if (bytes % spec->element_bytes == 0) return PFD_OK;
    return of_features(call, pfd_feature_fail(call, raw->at,
                                              "feature %s has %" PRId64 " bytes, "
                                              "which is not a multiple of the %" PRId64
                                              " bytes of a value in the field '%.200s'",
                                              quote_key(spec, key, sizeof key), bytes,
                                              spec->element_bytes, spec->element));
}

static pfd_status copy_raw(const pfd_feature_call *call, const pfd_feature_spec *spec,
                           const uint8_t *from, int64_t n, uint8_t *to)
{
    char key[256];
    memcpy(to, from, (size_t)(n * spec->element_bytes));
    if (spec->field.type.dtype != PFD_BOOL) return PFD_OK;
    for (int64_t i = 0; i < n; i++) {
        if (from[i] > 1)
            return pfd_feature_fail(call, from + i,
                                    "feature %s: byte %" PRId64 " is %d, not a "
                                    "bool",
                                    quote_key(spec, key, sizeof key), i, from[i]);
    }
    return PFD_OK;
}

static pfd_status read_values(const pfd_feature_call *call, const pfd_feature_spec *spec,
                              const pfd_feature_list *list, const pfd_wire_cursor *raw, int64_t n,
                              uint8_t *to)
{
    if (spec->is_raw) return copy_raw(call, spec, raw->at, n, to);
    return pfd_feature_list_read(call, list, n, spec->field.type.dtype, to, spec->field.key,
                                 spec->field.key_size);
}

/* Writes exactly spec->count values. */
static pfd_status write_fixed(const pfd_feature_call *call, const pfd_feature_spec *spec,
                              const pfd_feature_list *list, int32_t on_mismatch, uint8_t *to)
{
    pfd_wire_cursor raw = list->values;
    int64_t n, bytes = spec->count * spec->element_bytes;
    PFD_TRY(count_values(call, spec, list, &n, &raw));
    if (!is_tolerated(on_mismatch, n, spec->count))
        return fail_count(call, spec, raw.at, n, spec->count, "values");
    if (n > spec->count) n = spec->count;
    int64_t read = n * spec->element_bytes;
    if (read < bytes) memcpy(to + read, spec->fill + read, (size_t)(bytes - read));
    return read_values(call, spec, list, &raw, n, to);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* Sets the elements of a ragged row: they stay in the record if possible, else they are copied. */
static pfd_status write_varying(const pfd_feature_call *call, const pfd_feature_spec *spec,
                                const pfd_feature_list *list, pfd_ragged_row *row)
{
    pfd_wire_cursor raw = list->values;
    char key[256];
    int64_t n;
    PFD_TRY(count_values(call, spec, list, &n, &raw));
    if (n % spec->count != 0)
        return pfd_feature_fail(call, raw.at,
                                "feature %s has %" PRId64 " values, which is not a multiple of the "
                                "%" PRId64 " that the field '%.200s' takes at once",
                                quote_key(spec, key, sizeof key), n, spec->count, spec->element);
    int32_t dtype = spec->field.type.dtype;
    int32_t as_it_is = spec->is_raw ? dtype != PFD_BOOL : list->is_plain && dtype == PFD_FLOAT32;
    if (as_it_is && (uintptr_t)raw.at % (uintptr_t)spec->element_bytes == 0) {
        *row = (pfd_ragged_row){raw.at, n, NULL};
        return PFD_OK;
    }
    if (n == 0) return PFD_OK;
    uint8_t *to = call->args->host->alloc(call->args->scratch, n * spec->element_bytes);
    if (!to) return fail_memory(call);
    *row = (pfd_ragged_row){to, n, NULL};
    return read_values(call, spec, list, &raw, n, to);
}

static pfd_status write_string(const pfd_feature_call *call, const pfd_feature_spec *spec,
                               const pfd_feature_list *list, pfd_ragged_row *row)
{
    pfd_wire_cursor string;
    pfd_status status = find_string(call, spec, list, &string);
    if (status == PFD_OK) *row = (pfd_ragged_row){string.at, string.end - string.at, NULL};
    return status;
}

static pfd_status write_missing(const pfd_feature_call *call, const pfd_feature_spec *spec,
                                pfd_tensor *out)
{
    const pfd_field_spec *field = &spec->field;
    if (spec->is_steps ? field->default_text != NULL : spec->is_ragged && !spec->is_bytes)
        return PFD_OK; /* the host gave an empty row */
    if (!field->default_text || spec->is_steps) return fail_missing(call, spec);
    if (spec->is_bytes)
        out->rows[call->row] = (pfd_ragged_row){field->default_text, field->default_size, NULL};
    else
        memcpy(out->data + call->row * out->row_bytes, spec->fill, (size_t)out->row_bytes);
    return PFD_OK;
}

/* Finds the list in the bytes of a Feature.  TensorFlow writes a Feature as one list, of packed
 * values or of one byte string: this form has a fast path. */
static inline pfd_status find_any_list(const pfd_feature_call *call, const pfd_wire_cursor *feature,
                                       pfd_feature_list *out)
{
    uint32_t tag = 0, list_tag = 0;
    const uint8_t *end = feature->end;
    const uint8_t *list = pfd_feature_only_content(feature->at, end, &tag);
    if (!list || tag > PFD_WIRE_TAG(PFD_FEATURE_INT64, PFD_WIRE_BYTES) || tag < 8)
        return pfd_feature_list_merge(call, *feature, out);
    const uint8_t *values = pfd_feature_only_content(list, end, &list_tag);
    out->kind = (int32_t)PFD_WIRE_FIELD(tag);
    out->is_plain = values && list_tag == PFD_FEATURE_VALUE;
    out->values.at = out->is_plain ? values : list;
    out->values.end = end;
    return PFD_OK;
}

static pfd_status find_list(const pfd_feature_call *call, const pfd_feature_spec *spec,
                            const pfd_wire_cursor *feature, pfd_feature_list *list)
{
    pfd_status status = find_any_list(call, feature, list);
    if (status != PFD_OK || list->kind == spec->kind || list->kind == PFD_FEATURE_NONE)
        return status;
    return fail_kind(call, spec, list);
}

/* ---- Steps ----------------------------------------------------------------------------------- */
static pfd_status count_steps(const pfd_feature_call *call, pfd_wire_cursor c, int64_t *n)
{
    *n = 0;
    while (c.at < c.end) {
        uint32_t tag = pfd_wire_tag(&c);
        if (!tag || !pfd_wire_skip(&c, tag)) return pfd_feature_damaged(call, c.at);
        *n += tag == step_tag;
    }
    return PFD_OK;
}

/* Writes the first n steps. count_steps() checked the bytes before. */
static pfd_status write_each(const pfd_feature_call *call, const pfd_feature_spec *spec,
                             pfd_wire_cursor c, int64_t n, int32_t on_mismatch, uint8_t *to)
{
    while (n > 0) {
        pfd_feature_list list;
        pfd_wire_cursor feature = c;
        uint32_t tag = pfd_wire_tag(&c);
        if (tag != step_tag) {
            (void)pfd_wire_skip(&c, tag);
            continue;
        }
        (void)pfd_wire_bytes(&c, &feature);
        PFD_TRY(find_list(call, spec, &feature, &list));
        if (list.kind == PFD_FEATURE_NONE)
            return fail_count(call, spec, feature.at, 0, spec->count, "values in a step");
        PFD_TRY(write_fixed(call, spec, &list, on_mismatch, to));
        to += spec->count * spec->element_bytes;
        n--;
    }
    return PFD_OK;
}

static pfd_status write_steps(const pfd_feature_call *call, const pfd_feature_spec *spec,
                              pfd_wire_cursor steps, int32_t on_mismatch, pfd_tensor *out)
{
    int64_t n, step_bytes = spec->count * spec->element_bytes;
    PFD_TRY(count_steps(call, steps, &n));
    if (!spec->is_ragged) {
        int64_t expected = spec->field.type.shape[0];
        uint8_t *to = out->data + call->row * out->row_bytes;
        if (!is_tolerated(on_mismatch, n, expected))
            return fail_count(call, spec, steps.at, n, expected, "steps");
        if (n < expected) memset(to + n * step_bytes, 0, (size_t)((expected - n) * step_bytes));
        return write_each(call, spec, steps, n < expected ? n : expected, on_mismatch, to);
    }
    if (n == 0) return PFD_OK;
    if (n > INT64_MAX / step_bytes) return fail_memory(call);
    uint8_t *to = call->args->host->alloc(call->args->scratch, n * step_bytes);
    if (!to) return fail_memory(call);
    out->rows[call->row] = (pfd_ragged_row){to, n * spec->count, NULL};
    return write_each(call, spec, steps, n, on_mismatch, to);
}

/* Writes the row of the call.  `feature` is the bytes of the Feature, or of the FeatureList if the
 * spec is a list of steps; its `at` is NULL if the record does not have it. */
static pfd_status feature_row_write(const pfd_feature_call *call, const pfd_feature_spec *spec,
                                    const pfd_wire_cursor *feature, int32_t on_mismatch,
                                    pfd_tensor *out)
{
    pfd_feature_list list;
    if (!feature->at) return write_missing(call, spec, out);
    if (spec->is_steps) return write_steps(call, spec, *feature, on_mismatch, out);
    PFD_TRY(find_list(call, spec, feature, &list));
    if (list.kind == PFD_FEATURE_NONE) return write_missing(call, spec, out);
    if (spec->is_bytes) return write_string(call, spec, &list, &out->rows[call->row]);
    if (spec->is_ragged) return write_varying(call, spec, &list, &out->rows[call->row]);
    uint8_t *to = out->data + call->row * out->row_bytes;
    if (list.is_plain && spec->field.type.dtype == PFD_FLOAT32 && !spec->is_raw &&
        list.values.end - list.values.at == out->row_bytes) {
        memcpy(to, list.values.at, (size_t)out->row_bytes);
        return PFD_OK;
    }
    if (spec->kind == PFD_FEATURE_INT64 && spec->count == 1 &&
        pfd_feature_list_one(&list, spec->field.type.dtype, to))
        return PFD_OK;
    return write_fixed(call, spec, &list, on_mismatch, to);
}

/* ---- Messages -------------------------------------------------------------------------------- */

/* The field numbers of the parts of a message. Of the two maps, the second is for lists of steps.
 */
enum { features_part = 1, lists_part = 2, num_maps = 2 };

/* The map for the features of a part; NULL: it is an unknown part. */
static feature_map *map_of(const pfd_feature_call *call, feature_map *const *maps, uint32_t tag)
{
    if (tag == PFD_WIRE_TAG(features_part, PFD_WIRE_BYTES)) return maps[0];
    return tag == PFD_WIRE_TAG(lists_part, PFD_WIRE_BYTES) && call->message->has_lists ? maps[1]
                                                                                      : NULL;
}

static pfd_status find_features(const pfd_feature_call *call, feature_map *const *maps)
{
    pfd_bytes row = pfd_row_bytes(call->args->inputs[0], call->row);
    pfd_wire_cursor c = {row.data, row.data + (row.data ? row.size : 0)}, part;
    for (int32_t i = 0; i <= call->message->has_lists; i++) feature_map_begin(maps[i]);
    while (c.at < c.end) {
        uint32_t tag = pfd_wire_tag(&c);
        feature_map *map = map_of(call, maps, tag);
        if (map) {
            if (!pfd_wire_bytes(&c, &part)) return pfd_feature_damaged(call, c.at);
            PFD_TRY(feature_map_walk(call, map, part));
        } else if (!tag || !pfd_wire_skip(&c, tag)) {
            return pfd_feature_damaged(call, c.at);
        }
    }
    return PFD_OK;
}

const pfd_port pfd_feature_inputs[1] = {
    {"in", "Records as bytes, uint8 of one dimension, as TFRecordReader gives them."},
};

const pfd_port pfd_feature_outputs[1] = {
    {"out", "One output for each field, in the order of features."},
};

pfd_status pfd_feature_compute(const pfd_compute_args *args, const pfd_feature_message *message,
                               pfd_error *err)
{
    const pfd_feature_attrs *attrs = args->attrs;
    pfd_feature_spec *specs;
    feature_map *maps[num_maps] = {NULL, NULL};
    pfd_status status = pfd_feature_specs_make(args, message, &specs, err);
    for (int32_t i = 0; i <= message->has_lists && status == PFD_OK; i++)
        status = feature_map_make(args, specs, i, &maps[i], err);
    for (int64_t i = 0; i < args->num_rows && status == PFD_OK; i++) {
        pfd_feature_call call = {args, err, i, message};
        status = find_features(&call, maps);
        for (int64_t k = 0; k < args->num_outputs && status == PFD_OK; k++)
            status = feature_row_write(&call, &specs[k], &maps[specs[k].is_steps]->found[k],
                                       attrs->on_mismatch, args->outputs[k]);
    }
    return status;
}
