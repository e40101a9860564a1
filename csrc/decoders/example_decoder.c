/* ExampleDecoder: the features of tf.train.Examples, a column each. */
#include "proto/feature_map.h"
#include "proto/feature_row.h"

static const uint32_t features_tag = PFD_WIRE_TAG(1, PFD_WIRE_BYTES);

typedef struct example_decoder {
    pfd_list_string features, decode_raw;
    int32_t on_mismatch;
} example_decoder;

static pfd_feature_attrs feature_attrs(const example_decoder *attrs)
{
    return (pfd_feature_attrs){attrs->features, attrs->decode_raw, attrs->on_mismatch, 0};
}

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    pfd_feature_attrs attrs = feature_attrs(args->attrs);
    return pfd_feature_specs_infer(args, &attrs, err);
}

static pfd_status find_features(const pfd_feature_call *call, pfd_feature_map *map,
                                pfd_wire_cursor c)
{
    pfd_feature_map_begin(map);
    while (c.at < c.end) {
        pfd_wire_cursor features = c;
        uint32_t tag = pfd_wire_tag(&c);
        if (tag == features_tag) {
            if (!pfd_wire_bytes(&c, &features)) return pfd_feature_damaged(call, c.at);
            pfd_status status = pfd_feature_map_walk(call, map, features);
            if (status != PFD_OK) return status;
        } else if (!tag || !pfd_wire_skip(&c, tag)) {
            return pfd_feature_damaged(call, c.at);
        }
    }
    return PFD_OK;
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    pfd_feature_attrs attrs = feature_attrs(args->attrs);
    pfd_feature_spec *specs;
    pfd_feature_map *map = NULL;
    pfd_status status = pfd_feature_specs_make(args, &attrs, &specs, err);
    if (status == PFD_OK) status = pfd_feature_map_make(args, specs, 0, &map, err);
    for (int64_t i = 0; i < args->num_rows && status == PFD_OK; i++) {
        const pfd_ragged_row *row = &args->inputs[0]->rows[i];
        pfd_feature_call call = {args, err, i, "tf.train.Example"};
        pfd_wire_cursor message = {row->data, (const uint8_t *)row->data + row->num_elements};
        status = find_features(&call, map, message);
        for (int64_t k = 0; k < args->num_outputs && status == PFD_OK; k++)
            status = pfd_feature_row_write(&call, &specs[k], &map->found[k], attrs.on_mismatch,
                                           args->outputs[k]);
    }
    return status;
}

#define ROW(field, type, default_value, choices, doc)                                              \
    PFD_ATTR_ROW(example_decoder, field, type, default_value, 0, 0, choices, doc)

static const pfd_attr attr_table[] = {
    ROW(features, PFD_ATTR_LIST_STRING, NULL, NULL,
        "The features to read, each as [NAME=]KEY:TYPE[=DEFAULT]: 'x:float32[64]' has a fixed "
        "number of values, 'ids:int64[?]' any number, 'image/encoded:bytes' one byte string."),
    ROW(decode_raw, PFD_ATTR_LIST_STRING, "", NULL,
        "The names of those fields whose feature is one byte string of little-endian numbers of "
        "the field's dtype."),
    ROW(on_mismatch, PFD_ATTR_CHOICE, "raise", PFD_MISMATCH_CHOICES,
        "What becomes of a feature with another number of values than its shape has: an error, or "
        "one that is too short is padded with the default or 0, one that is too long is cut, or "
        "both (fit)."),
};

static const pfd_port inputs[] = {
    {"in", "Records as bytes, ragged uint8, as TFRecordReader gives them."},
};

static const pfd_port outputs[] = {
    {"out", "One output for each field, in the order of features."},
};

const pfd_op pfd_op_example_decoder = {
    PFD_OP_SIZES,
    .flags = PFD_TAKES_RAGGED,
    .name = "ExampleDecoder",
    .doc = "Takes tf.train.Examples apart, a column for each feature asked for. "
           "A float dtype reads a float_list, bool and integers an int64_list, and a number that "
           "the dtype does not hold is an error. A feature that is missing takes its default; "
           "without one it is an error, or an empty row where the number of values varies. Other "
           "features are passed over. Records are read by the rules of the protobuf library: of "
           "equal keys the last one counts, numbers may be packed or not.",
    .attrs = attr_table,
    .num_attrs = PFD_COUNT(attr_table),
    .attrs_struct_size = sizeof(example_decoder),
    .inputs = inputs,
    .num_inputs = PFD_COUNT(inputs),
    .outputs = outputs,
    .num_outputs = PFD_COUNT(outputs),
    .infer = infer,
    .compute = compute,
    .outputs_attr = "features",
};
