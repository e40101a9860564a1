/* PackDataset: rows of one length, made of several records. */
#include "views/best_fit.h"
#include "views/pack_rows.h"
#include "views/pack_table.h"
#include "views/view_infer.h"

typedef struct packs {
    pfd_view base;
    pfd_pack_table table;
} packs;

static void close_view(pfd_view *view)
{
    pfd_pack_table_close(&((packs *)view)->table);
    pfd_view_free(view);
}

static int64_t size(const pfd_view *view)
{
    return ((const packs *)view)->table.num_packs;
}

static int64_t num_parts(const pfd_view *view, const pfd_places *places)
{
    const pfd_pack_table *table = &((const packs *)view)->table;
    int64_t n = 0;
    for (int64_t i = 0; i < places->n; i++) n += pfd_pack_table_count(table, places->positions[i]);
    return n;
}

/* The lengths are those of the first epoch's order, so the records of every epoch are. */
static void expand(const pfd_view *view, const pfd_places *places, const pfd_places *inner,
                   pfd_part *parts)
{
    const pfd_pack_table *table = &((const packs *)view)->table;
    int64_t k = 0;
    for (int64_t i = 0; i < places->n; i++) {
        int64_t end = k + pfd_pack_table_count(table, places->positions[i]);
        pfd_pack_table_expand(table, places->positions[i], inner->positions + k, parts + k);
        for (; k < end; k++) {
            parts[k].row = i;
            inner->epochs[k] = 0;
            inner->draws[k] = places->draws[i];
        }
    }
}

static const pfd_view_methods methods = {.name = "PackDataset",
                                         .close = close_view,
                                         .size = size,
                                         .num_parts = num_parts,
                                         .expand = expand};

static pfd_status open_view(const pfd_view_args *args, pfd_view **out, pfd_error *err)
{
    const pack_dataset_attrs *attrs = args->attrs;
    pfd_lengths lengths;
    PFD_TRY(pfd_lengths_find("lengths", attrs->lengths, pfd_view_size(args->inner[0]), &lengths,
                             err));
    packs *self;
    PFD_TRY(pfd_view_create(sizeof *self, &methods, &self, err));
    pfd_pack_rule rule = {.length = attrs->length,
                          .rule = attrs->rule,
                          .longer = attrs->longer,
                          .window = attrs->window,
                          .drops_short = attrs->last};
    pfd_status status = pfd_pack_table_open(&rule, &lengths, &self->table, err);
    if (status != PFD_OK) {
        pfd_view_free(&self->base);
        return status;
    }
    *out = &self->base;
    return PFD_OK;
}

static const pfd_attr attr_table[] = {
    PFD_ATTR_ROW(pack_dataset_attrs, fields, PFD_ATTR_LIST_STRING, "", 0, 0, NULL,
                 "Names of the outputs: one for each input, then any of segment_ids, position_ids, "
                 "loss_mask, cu_seqlens and max_seqlen, or NAME=segment_ids and so on; left out, "
                 "those of the inputs."),
    PFD_ATTR_ROW(pack_dataset_attrs, length, PFD_ATTR_INT64, NULL, 1, PFD_BEST_FIT_MOST_LENGTH,
                 NULL, "Elements of a pack."),
    PFD_ATTR_ROW(pack_dataset_attrs, lengths, PFD_ATTR_OBJECT, NULL, 0, 0, NULL,
                 "An array with the length of each record of the data set, in the order of its "
                 "first epoch."),
    PFD_CHOICE_ATTR(pack_dataset_attrs, rule, "best_fit", PFD_PACK_RULES,
                    "best_fit: each record goes whole into the pack that it fills best, the "
                    "longest of a window first. chunk: the records one after another are cut at "
                    "the end of each pack."),
    PFD_INT_ATTR(pack_dataset_attrs, window, "0", 0, 1073741824.0,
                 "For best_fit: about how many consecutive records are packed among each other; 0 "
                 "chooses what fills several hundred packs, at least 8192."),
    PFD_CHOICE_ATTR(pack_dataset_attrs, longer, "split", PFD_PACK_LONGER,
                    "For best_fit: what to do with a record that is longer than a pack. split: "
                    "into full packs and a rest, which is packed like a record. truncate: the rest "
                    "is left out. drop: the record is. raise: an error."),
    PFD_CHOICE_ATTR(pack_dataset_attrs, last, "pad", "pad|drop",
                    "For chunk: what to do with the last pack if it is not full."),
    PFD_FLOATS_ATTR(pack_dataset_attrs, padding, "", 0, 0,
                    "The value after the last record of a pack: one for all inputs, or one for "
                    "each; left out, 0."),
};

static const pfd_port inputs[] = {
    {"in", "Fields of a data set whose rows have one dimension, such as tokens, labels and weights "
           "of a loss; of a record all have the same length."},
};
static const pfd_port outputs[] = {
    {"out", "The inputs packed, (length,); segment_ids, int32 (length,): 1 for the first record of "
            "the pack, 2 for the next, 0 for padding; position_ids, int32 (length,): from 0 in "
            "each segment; loss_mask, bool (length,): false for padding; cu_seqlens, int32 "
            "(None,): where each segment begins, then length; max_seqlen, int32: the longest "
            "segment."},
};

static const pfd_op pack_dataset = {
    PFD_OP_SIZES,
    .flags = PFD_VIEW | PFD_MANY_INPUTS | PFD_TAKES_RAGGED,
    .name = "PackDataset",
    .doc = "Packs: rows of exactly `length` elements, each made of several records. "
           "Which record goes where is decided once, by the lengths, so that the number of packs "
           "is known and each is read directly. Packs of best_fit are made of consecutive records "
           "of a window; shuffle them after packing. A shuffle before packing keeps its first "
           "epoch's order. Empty records are left out. A piece of a record that was split is a "
           "segment like a record, and its position_ids begin at 0. In cu_seqlens and max_seqlen "
           "the padding is a segment of its own. Labels that are shifted by one must leave out the "
           "first element of each segment, whose position_ids is 0.",
    PFD_OP_ATTRS(pack_dataset_attrs, attr_table),
    PFD_OP_INPUTS(inputs),
    PFD_OP_OUTPUTS(outputs),
    .infer = pfd_pack_infer,
    .compute = pfd_pack_compute,
    .outputs_attr = "fields",
};

const pfd_view_op pfd_view_pack_dataset = {&pack_dataset, PFD_VIEW_JOIN, open_view};
