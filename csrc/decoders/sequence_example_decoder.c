/* SequenceExampleDecoder: context and lists of steps of tf.train.SequenceExamples. */
#include "proto/feature_map.h"
#include "proto/feature_row.h"

static const uint32_t context_tag = PFD_WIRE_TAG(1, PFD_WIRE_BYTES);
static const uint32_t lists_tag = PFD_WIRE_TAG(2, PFD_WIRE_BYTES);

typedef struct sequence_example_decoder {
    pfd_list_string features, decode_raw;
    int32_t on_mismatch;
} sequence_example_decoder;

static pfd_feature_attrs feature_attrs(const sequence_example_decoder *attrs)
{
    return (pfd_feature_attrs){attrs->features, attrs->decode_raw, attrs->on_mismatch, 1};
}

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    pfd_feature_attrs attrs = feature_attrs(args->attrs);
    return pfd_feature_specs_infer(args, &attrs, err);
}

static pfd_status find_features(const pfd_feature_call *call, pfd_feature_map *context,
                                pfd_feature_map *lists, pfd_wire_cursor c)
{
    pfd_feature_map_begin(context);
    pfd_feature_map_begin(lists);
    while (c.at < c.end) {
        pfd_wire_cursor part;
        uint32_t tag = pfd_wire_tag(&c);
        if (tag == context_tag || tag == lists_tag) {
            if (!pfd_wire_bytes(&c, &part)) return pfd_feature_damaged(call, c.at);
            pfd_feature_map *map = tag == context_tag ? context : lists;
            pfd_status status = pfd_feature_map_walk(call, map, part);
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
    pfd_feature_map *context = NULL, *lists = NULL;
    pfd_status status = pfd_feature_specs_make(args, &attrs, &specs, err);
    if (status == PFD_OK) status = pfd_feature_map_make(args, specs, 0, &context, err);
    if (status == PFD_OK) status = pfd_feature_map_make(args, specs, 1, &lists, err);
    for (int64_t i = 0; i < args->num_rows && status == PFD_OK; i++) {
        const pfd_ragged_row *row = &args->inputs[0]->rows[i];
        pfd_feature_call call = {args, err, i, "tf.train.SequenceExample"};
        pfd_wire_cursor message = {row->data, (const uint8_t *)row->data + row->num_elements};
        status = find_features(&call, context, lists, message);
        for (int64_t k = 0; k < args->num_outputs && status == PFD_OK; k++) {
            const pfd_feature_map *map = specs[k].is_steps ? lists : context;
            status = pfd_feature_row_write(&call, &specs[k], &map->found[k], attrs.on_mismatch,
                                           args->outputs[k]);
        }
    }
    return status;
}

#define ROW(field, type, default_value, choices, doc)                                              \
    PFD_ATTR_ROW(sequence_example_decoder, field, type, default_value, 0, 0, choices, doc)

static const pfd_attr attr_table[] = {
    ROW(features, PFD_ATTR_LIST_STRING, NULL, NULL,
        "The features to read, each as [NAME=]KEY:TYPE[=DEFAULT]: 'label:int64' is one of the "
        "context, 'frames=feature_lists/frames:float32[?,3]' a list of steps with three values "
        "each; a list that may be missing ends with '='."),
    ROW(decode_raw, PFD_ATTR_LIST_STRING, "", NULL,
        "The names of those fields whose features are one byte string, of each step, with "
        "little-endian numbers of the field's dtype."),
    ROW(on_mismatch, PFD_ATTR_CHOICE, "raise", PFD_MISMATCH_CHOICES,
        "What becomes of a feature, or of the steps of a list, with another number of values than "
        "the shape has: an error, or what is too short is padded with the default or 0, what is "
        "too long is cut, or both (fit)."),
};

static const pfd_port inputs[] = {
    {"in", "Records as bytes, ragged uint8, as TFRecordReader gives them."},
};

static const pfd_port outputs[] = {
    {"out", "One output for each field, in the order of features."},
};

const pfd_op pfd_op_sequence_example_decoder = {
    PFD_OP_SIZES,
    .flags = PFD_TAKES_RAGGED,
    .name = "SequenceExampleDecoder",
    .doc = "Takes tf.train.SequenceExamples apart, a column for each feature asked for. "
           "Features of the context are read as ExampleDecoder does. A key that begins with "
           "feature_lists/ is that of a list of steps, behind the prefix: the first dimension of "
           "its shape counts the steps, all of which have the same number of values.",
    .attrs = attr_table,
    .num_attrs = PFD_COUNT(attr_table),
    .attrs_struct_size = sizeof(sequence_example_decoder),
    .inputs = inputs,
    .num_inputs = PFD_COUNT(inputs),
    .outputs = outputs,
    .num_outputs = PFD_COUNT(outputs),
    .infer = infer,
    .compute = compute,
    .outputs_attr = "features",
};
