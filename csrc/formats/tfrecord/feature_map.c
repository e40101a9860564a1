/* Finds the wanted features in a map of features. */
#include "formats/tfrecord/feature_map.h"

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
static int64_t *find_slot(const pfd_feature_map *map, const uint8_t *key, int64_t size)
{
    uint64_t at = hash_key(key, size) & map->slot_mask;
    while (map->slots[at] >= 0 && !is_key(&map->specs[map->slots[at]], key, size))
        at = (at + 1) & map->slot_mask;
    return &map->slots[at];
}

pfd_status pfd_feature_map_make(const pfd_compute_args *args, const pfd_feature_spec *specs,
                                int32_t steps, pfd_feature_map **out, pfd_error *err)
{
    const pfd_host *host = args->host;
    int64_t n = args->num_outputs, num_slots = 4;
    while (num_slots < 2 * n) num_slots *= 2;
    pfd_feature_map *map = host->alloc(args->scratch, (int64_t)sizeof *map);
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
    for (int64_t i = 0; i < PFD_FEATURE_MAP_PLACES; i++) map->places[i].key_size = -1;
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
static inline int64_t find_spec(pfd_feature_map *map, const uint8_t *key, int64_t size)
{
    pfd_feature_place any, *place = &any;
    if (map->place < PFD_FEATURE_MAP_PLACES) {
        place = &map->places[map->place++];
        if (place->key_size == size && is_same(place->key, key, size)) return place->first;
    }
    *place = (pfd_feature_place){key, size, *find_slot(map, key, size)};
    return place->first;
}

/* ---- Entries --------------------------------------------------------------------------------- */
static void keep(pfd_feature_map *map, int64_t first, pfd_wire_cursor value)
{
    for (int64_t i = first; i >= 0; i = map->next[i]) map->found[i] = value;
}

/* Reads an entry in any form: with fields in any order, missing, repeated or unknown.  The last key
 * counts, and values are merged. */
static pfd_status walk_entry(const pfd_feature_call *call, pfd_feature_map *map,
                             pfd_wire_cursor entry)
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

void pfd_feature_map_begin(pfd_feature_map *map)
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
static inline const uint8_t *walk_simple_entry(pfd_feature_map *map, const uint8_t *at,
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

pfd_status pfd_feature_map_walk(const pfd_feature_call *call, pfd_feature_map *map,
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
