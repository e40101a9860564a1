/* ShuffleDataset: the records in a random order. */
#include "core/random.h"
#include "views/view_base.h"

typedef struct shuffle_dataset_attrs {
    pfd_list_string fields;
    int64_t seed;
    const char *order_key;
    int32_t reshuffle;
} shuffle_dataset_attrs;

typedef struct shuffle_view {
    pfd_view base;
    pfd_view_args args;
    const shuffle_dataset_attrs *attrs;
} shuffle_view;

/* The permutation is set up once for each run of rows of one epoch. */
static void map(const pfd_view *view, const pfd_places *places)
{
    const shuffle_view *self = (const shuffle_view *)view;
    for (int64_t i = 0; i < places->n;) {
        int64_t epoch = places->epochs[i], end = i + 1;
        while (end < places->n && places->epochs[end] == epoch) end++;
        int64_t drawn = self->attrs->reshuffle ? epoch : 0;
        pfd_permutation permutation;
        pfd_permutation_init(&permutation, pfd_view_key(&self->args, self->attrs->seed, drawn),
                             self->base.size);
        pfd_permute(&permutation, places->positions + i, end - i, places->positions + i);
        i = end;
    }
}

static const pfd_view_methods methods = {
    .name = "ShuffleDataset", .close = pfd_view_free, .map = map};

static pfd_status open_view(const pfd_view_args *args, pfd_view **out, pfd_error *err)
{
    PFD_TRY(pfd_view_need_end(args, "the shuffle draws an order of all records", err));
    shuffle_view *self;
    PFD_TRY(pfd_view_create(sizeof *self, &methods, &self, err));
    self->args = *args;
    self->attrs = args->attrs;
    if (self->attrs->order_key[0]) self->args.name = self->attrs->order_key;
    self->base.size = args->inner[0]->size;
    *out = &self->base;
    return PFD_OK;
}

static const pfd_attr attr_table[] = {
    PFD_FIELDS_ATTR(shuffle_dataset_attrs),
    PFD_SEED_ATTR(shuffle_dataset_attrs),
    PFD_STRING_ATTR(shuffle_dataset_attrs, order_key, "",
                    "A text on which the order depends besides the seed; empty means the name of "
                    "the node."),
    PFD_BOOL_ATTR(shuffle_dataset_attrs, reshuffle, "true",
                  "Whether each epoch has its own order."),
};

static const pfd_op shuffle_dataset = {
    PFD_VIEW_OP(shuffle_dataset_attrs, attr_table, pfd_view_infer),
    .name = "ShuffleDataset",
    .doc = "Puts the records of a data set in a random order, each once. The order is a "
           "permutation whose key is made of seed, epoch and order_key.",
};

const pfd_view_op pfd_view_shuffle_dataset = {
    &shuffle_dataset, PFD_VIEW_ORDER, open_view, "shuffle"};
