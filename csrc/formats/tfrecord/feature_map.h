/* formats/tfrecord/feature_map.h -- finds the wanted features in a map of features.
 *
 *     Features { map<string, Feature> feature = 1 }           and the same of FeatureLists
 *
 * Most records have their keys in the same order as the record before, so the key that was at this
 * place of the last record is compared first.
 *
 * OWNERSHIP  The specs are borrowed; everything else is in the scratch of the call.
 */
#ifndef PFD_FORMATS_TFRECORD_FEATURE_MAP_H
#define PFD_FORMATS_TFRECORD_FEATURE_MAP_H
#include "formats/tfrecord/feature_spec.h"

#define PFD_FEATURE_MAP_PLACES 64 /* how many keys of the last record are kept */

typedef struct pfd_feature_place {
    const uint8_t *key;
    int64_t key_size; /* -1: no record had a key here */
    int64_t first;    /* the first spec with this key; -1: none */
} pfd_feature_place;

typedef struct pfd_feature_map {
    const pfd_feature_spec *specs;
    int64_t num_specs;
    int64_t *next;          /* the next spec with the same key, or -1 */
    pfd_wire_cursor *found; /* for each spec the bytes of its value; `at` NULL: none */
    int64_t *slots;         /* a table of first specs by the hash of their key; -1: empty */
    uint64_t slot_mask;
    int64_t place; /* of the next entry of the record */
    pfd_feature_place places[PFD_FEATURE_MAP_PLACES];
} pfd_feature_map;

/* Makes a map of the specs whose is_steps is `steps`. */
pfd_status pfd_feature_map_make(const pfd_compute_args *args, const pfd_feature_spec *specs,
                                int32_t steps, pfd_feature_map **out, pfd_error *err);

/* Forgets the values of the last record. */
void pfd_feature_map_begin(pfd_feature_map *map);

/* Finds the wanted features in the bytes of a map, or of a piece of one; of equal keys the last one
 * counts. */
pfd_status pfd_feature_map_walk(const pfd_feature_call *call, pfd_feature_map *map,
                                pfd_wire_cursor message);
#endif
