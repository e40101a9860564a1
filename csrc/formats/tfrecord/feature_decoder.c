/* Decodes messages of tf.train.Features, with or without lists of steps. */
#include "formats/tfrecord/feature_decoder.h"

#include "core/rows.h"
#include "formats/tfrecord/feature_map.h"
#include "formats/tfrecord/feature_row.h"

/* The field numbers of the parts of a message. Of the two maps, the second is for lists of steps.
 */
enum { features_part = 1, lists_part = 2, num_maps = 2 };

/* The map for the features of a part; NULL: it is an unknown part. */
static pfd_feature_map *map_of(const pfd_feature_call *call, pfd_feature_map *const *maps,
                               uint32_t tag)
{
    if (tag == PFD_WIRE_TAG(features_part, PFD_WIRE_BYTES)) return maps[0];
    return tag == PFD_WIRE_TAG(lists_part, PFD_WIRE_BYTES) && call->message->has_lists ? maps[1]
                                                                                      : NULL;
}

static pfd_status find_features(const pfd_feature_call *call, pfd_feature_map *const *maps)
{
    pfd_bytes row = pfd_row_bytes(call->args->inputs[0], call->row);
    pfd_wire_cursor c = {row.data, row.data + (row.data ? row.size : 0)}, part;
    for (int32_t i = 0; i <= call->message->has_lists; i++) pfd_feature_map_begin(maps[i]);
    while (c.at < c.end) {
        uint32_t tag = pfd_wire_tag(&c);
        pfd_feature_map *map = map_of(call, maps, tag);
        if (map) {
            if (!pfd_wire_bytes(&c, &part)) return pfd_feature_damaged(call, c.at);
            PFD_TRY(pfd_feature_map_walk(call, map, part));
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
    pfd_feature_map *maps[num_maps] = {NULL, NULL};
    pfd_status status = pfd_feature_specs_make(args, message, &specs, err);
    for (int32_t i = 0; i <= message->has_lists && status == PFD_OK; i++)
        status = pfd_feature_map_make(args, specs, i, &maps[i], err);
    for (int64_t i = 0; i < args->num_rows && status == PFD_OK; i++) {
        pfd_feature_call call = {args, err, i, message};
        status = find_features(&call, maps);
        for (int64_t k = 0; k < args->num_outputs && status == PFD_OK; k++)
            status = pfd_feature_row_write(&call, &specs[k], &maps[specs[k].is_steps]->found[k],
                                           attrs->on_mismatch, args->outputs[k]);
    }
    return status;
}
