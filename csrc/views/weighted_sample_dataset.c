/* WeightedSampleDataset: records drawn with replacement, each as often as its weight says. */
#include "core/error.h"
#include "core/random.h"
#include "views/record_table.h"
#include "views/sampling.h"
#include "views/view_base.h"

#include <stdlib.h>

typedef struct weighted_sample_dataset_attrs {
    pfd_list_string fields;
    int64_t weights, num_samples, seed;
} weighted_sample_dataset_attrs;

typedef struct weighted_sample {
    pfd_view base;
    pfd_view_args args;
    int64_t seed, records;
    pfd_alias_column *columns;
} weighted_sample;

static void close_view(pfd_view *view)
{
    free(((weighted_sample *)view)->columns);
    free(view);
}

enum { rows_at_once = 64 };

/* Position p of an epoch is the p-th draw of its key.  The columns of some rows are drawn before
 * they are read, so that the waits for memory overlap. */
static void map_some(const weighted_sample *self, const pfd_places *places, int64_t begin,
                     int64_t end)
{
    pfd_alias_draw drawn[rows_at_once];
    uint64_t key = 0;
    for (int64_t i = begin, epoch = -1; i < end; i++) {
        if (places->epochs[i] != epoch)
            key = pfd_view_key(&self->args, self->seed, epoch = places->epochs[i]);
        uint64_t position = (uint64_t)places->positions[i];
        drawn[i - begin] = pfd_alias_draw_column(self->records, pfd_random_bits(key, position));
        __builtin_prefetch(&self->columns[drawn[i - begin].column]);
        pfd_view_count_draw(&places->draws[i], position);
        places->epochs[i] = 0;
    }
    for (int64_t i = begin; i < end; i++)
        places->positions[i] = pfd_alias_draw_record(self->columns, drawn[i - begin]);
}

static void map(const pfd_view *view, const pfd_places *places)
{
    for (int64_t begin = 0; begin < places->n; begin += rows_at_once) {
        int64_t end = begin + rows_at_once;
        map_some((const weighted_sample *)view, places, begin, end < places->n ? end : places->n);
    }
}

static const pfd_view_methods methods = {
    .name = "WeightedSampleDataset", .close = close_view, .map = map};

static pfd_status open_view(const pfd_view_args *args, pfd_view **out, pfd_error *err)
{
    const weighted_sample_dataset_attrs *attrs = args->attrs;
    const double *weights;
    PFD_TRY(pfd_record_weights(args, "weights", attrs->weights, &weights, err));
    int64_t records = args->inner[0]->size;
    size_t bytes = (size_t)records * sizeof(pfd_alias_column);
    weighted_sample *self;
    PFD_TRY(pfd_view_create(sizeof *self, &methods, &self, err));
    self->columns = malloc(bytes);
    if (!self->columns) {
        close_view(&self->base);
        return pfd_fail_memory(err, (int64_t)bytes, "the table of weights");
    }
    pfd_alias_table_make(weights, records, self->columns);
    self->args = *args;
    self->seed = attrs->seed;
    self->records = records;
    self->base.size = attrs->num_samples > 0 ? attrs->num_samples : records;
    *out = &self->base;
    return PFD_OK;
}

static const pfd_attr attr_table[] = {
    PFD_FIELDS_ATTR(weighted_sample_dataset_attrs),
    PFD_ATTR_ROW(weighted_sample_dataset_attrs, weights, PFD_ATTR_OBJECT, NULL, 0, 0, NULL,
                 "A float64 for each record: how often it is drawn, in proportion to the others."),
    PFD_ATTR_ROW(weighted_sample_dataset_attrs, num_samples, PFD_ATTR_INT64, "0", 0, 4.6e18, NULL,
                 "The number of records in an epoch; 0: as many as the data set has."),
    PFD_SEED_ATTR(weighted_sample_dataset_attrs),
};

static const pfd_op weighted_sample_dataset = {
    PFD_VIEW_OP(weighted_sample_dataset_attrs, attr_table, pfd_view_infer),
    .name = "WeightedSampleDataset",
    .doc = "Draws records of a data set with replacement, with probabilities in proportion to "
           "their weights. A weight belongs to a position of epoch 0 of the data set, and each "
           "epoch draws from these records.",
};

const pfd_view_op pfd_view_weighted_sample_dataset = {
    &weighted_sample_dataset, PFD_VIEW_ORDER, open_view, "sample"};
