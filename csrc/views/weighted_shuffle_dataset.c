/* WeightedShuffleDataset: records drawn without replacement, those with large weights first.
 *
 * A record with weight w gets the key -ln(u) / w, u uniform in (0, 1] by epoch and record, and the
 * records go in ascending order of their keys.  So the next record is each of those left with a
 * probability in proportion to its weight (P. Efraimidis, P. Spirakis: Weighted random sampling
 * with a reservoir, 2006).
 *
 * Which record is at a position depends on the keys of all records: there is no function of the
 * position alone.  So the thread that first asks for an epoch sorts its keys, some 50 ns a record,
 * and the orders of two epochs are kept, as an epoch starts before the last one ends.  With
 * rows of more than two epochs side by side, as a shuffle of repeats has them, each change of the
 * epoch would sort.
 */
#include "core/error.h"
#include "core/radix_sort.h"
#include "core/random.h"
#include "views/record_table.h"
#include "views/view_base.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct weighted_shuffle_dataset_attrs {
    pfd_list_string fields;
    int64_t weights, num_samples, seed;
} weighted_shuffle_dataset_attrs;

enum { num_orders = 2 };

typedef struct epoch_order {
    uint64_t key; /* key of the epoch */
    int32_t is_made;
    uint32_t *records; /* `size` of them */
} epoch_order;

/* What the threads share, under the lock: to read an order, or to make one. */
typedef struct epoch_orders {
    pthread_rwlock_t lock;
    epoch_order kept[num_orders];
    int64_t num_made;
    uint64_t *sort_keys;        /* a number for each record */
    uint32_t *sorted, *sorting; /* the same */
} epoch_orders;

typedef struct weighted_shuffle {
    pfd_view base;
    pfd_view_args args;
    const double *weights;
    int64_t seed, records;
    epoch_orders *orders;
} weighted_shuffle;

/* ---- Orders of epochs ------------------------------------------------------------------------ */

static void free_orders(epoch_orders *orders)
{
    if (!orders) return;
    (void)pthread_rwlock_destroy(&orders->lock);
    for (int i = 0; i < num_orders; i++) free(orders->kept[i].records);
    free(orders->sort_keys);
    free(orders->sorted);
    free(orders->sorting);
    free(orders);
}

static pfd_status new_orders(int64_t records, int64_t kept, epoch_orders **out, pfd_error *err)
{
    size_t n = (size_t)records, index_bytes = n * sizeof(uint32_t);
    size_t kept_bytes = (size_t)kept * sizeof(uint32_t);
    epoch_orders *made = calloc(1, sizeof *made);
    if (made) {
        (void)pthread_rwlock_init(&made->lock, NULL);
        made->sort_keys = malloc(n * sizeof *made->sort_keys);
        made->sorted = malloc(index_bytes);
        made->sorting = malloc(index_bytes);
    }
    int32_t is_whole = made && made->sort_keys && made->sorted && made->sorting;
    for (int i = 0; is_whole && i < num_orders; i++)
        is_whole = (made->kept[i].records = malloc(kept_bytes)) != NULL;
    if (!is_whole) {
        free_orders(made);
        return pfd_fail_memory(err, (int64_t)(n * 16 + num_orders * kept_bytes),
                               "the orders of epochs");
    }
    *out = made;
    return PFD_OK;
}

static const epoch_order *find_order(const epoch_orders *orders, uint64_t key)
{
    for (int i = 0; i < num_orders; i++)
        if (orders->kept[i].is_made && orders->kept[i].key == key) return &orders->kept[i];
    return NULL;
}

/* In (0, 1]: a multiple of 2^-53. */
static double uniform_of(uint64_t bits)
{
    return ((double)(bits >> 11) + 1) * 0x1p-53;
}

/* Makes the order in the place of the older kept one.  Records of weight 0 come last. */
static const epoch_order *make_order(const weighted_shuffle *self, uint64_t key)
{
    epoch_orders *orders = self->orders;
    for (int64_t i = 0; i < self->records; i++) {
        double drawn = -pfd_log(uniform_of(pfd_random_bits(key, (uint64_t)i)));
        double weight = self->weights[i];
        orders->sort_keys[i] = weight > 0 ? pfd_double_key(drawn / weight) : UINT64_MAX;
    }
    pfd_radix_sort(orders->sort_keys, self->records, orders->sorted, orders->sorting);
    epoch_order *made = &orders->kept[orders->num_made++ % num_orders];
    memcpy(made->records, orders->sorted, (size_t)self->base.size * sizeof *made->records);
    made->key = key;
    made->is_made = 1;
    return made;
}

/* ---- The view -------------------------------------------------------------------------------- */

static void close_view(pfd_view *view)
{
    free_orders(((weighted_shuffle *)view)->orders);
    free(view);
}

/* The rows of an epoch, from row `first` on; their epoch becomes -1. */
static void take_from(const epoch_order *order, const pfd_places *places, int64_t first)
{
    const int64_t epoch = places->epochs[first];
    for (int64_t i = first; i < places->n; i++) {
        if (places->epochs[i] != epoch) continue;
        places->positions[i] = order->records[places->positions[i]];
        places->epochs[i] = -1;
    }
}

/* Who makes an order uses it before others may replace it. */
static void map_epoch(const weighted_shuffle *self, const pfd_places *places, int64_t first)
{
    const uint64_t key = pfd_view_key(&self->args, self->seed, places->epochs[first]);
    epoch_orders *orders = self->orders;
    (void)pthread_rwlock_rdlock(&orders->lock);
    const epoch_order *order = find_order(orders, key);
    if (!order) {
        (void)pthread_rwlock_unlock(&orders->lock);
        (void)pthread_rwlock_wrlock(&orders->lock);
        order = find_order(orders, key);
        if (!order) order = make_order(self, key);
    }
    take_from(order, places, first);
    (void)pthread_rwlock_unlock(&orders->lock);
}

/* One epoch after another, as few orders are kept: a shuffle after a repeat mixes epochs. */
static void map(const pfd_view *view, const pfd_places *places)
{
    const weighted_shuffle *self = (const weighted_shuffle *)view;
    for (int64_t i = 0; i < places->n; i++)
        if (places->epochs[i] >= 0) map_epoch(self, places, i);
    for (int64_t i = 0; i < places->n; i++) places->epochs[i] = 0;
}

static const pfd_view_methods methods = {
    .name = "WeightedShuffleDataset", .close = close_view, .map = map};

/* The number of records of an epoch: by default all that have a weight. */
static pfd_status find_size(const weighted_shuffle_dataset_attrs *attrs, const double *weights,
                            int64_t records, int64_t *out, pfd_error *err)
{
    int64_t most = 0;
    for (int64_t i = 0; i < records; i++) most += weights[i] > 0;
    if (attrs->num_samples > most)
        return pfd_fail_attr(err, "num_samples", NULL, PFD_INVALID_ARGUMENT,
                             " = %" PRId64 ", but only %" PRId64
                             " records have a weight above 0, and each is drawn once",
                             attrs->num_samples, most);
    *out = attrs->num_samples > 0 ? attrs->num_samples : most;
    return PFD_OK;
}

static pfd_status open_view(const pfd_view_args *args, pfd_view **out, pfd_error *err)
{
    const weighted_shuffle_dataset_attrs *attrs = args->attrs;
    const double *weights;
    PFD_TRY(pfd_record_weights(args, "weights", attrs->weights, &weights, err));
    int64_t records = args->inner[0]->size, kept = 0;
    PFD_TRY(find_size(attrs, weights, records, &kept, err));
    epoch_orders *orders = NULL;
    PFD_TRY(new_orders(records, kept, &orders, err));
    weighted_shuffle *self;
    pfd_status status = pfd_view_create(sizeof *self, &methods, &self, err);
    if (status != PFD_OK) {
        free_orders(orders);
        return status;
    }
    self->args = *args;
    self->weights = weights;
    self->seed = attrs->seed;
    self->base.size = kept;
    self->records = records;
    self->orders = orders;
    *out = &self->base;
    return PFD_OK;
}

static const pfd_attr attr_table[] = {
    PFD_FIELDS_ATTR(weighted_shuffle_dataset_attrs),
    PFD_ATTR_ROW(weighted_shuffle_dataset_attrs, weights, PFD_ATTR_OBJECT, NULL, 0, 0, NULL,
                 "A float64 for each record: how likely it is to be drawn next, in proportion to "
                 "the other records that are left."),
    PFD_ATTR_ROW(weighted_shuffle_dataset_attrs, num_samples, PFD_ATTR_INT64, "0", 0, 4.6e18, NULL,
                 "The number of records in an epoch; 0: all that have a weight above 0."),
    PFD_SEED_ATTR(weighted_shuffle_dataset_attrs),
};

static const pfd_op weighted_shuffle_dataset = {
    PFD_VIEW_OP(weighted_shuffle_dataset_attrs, attr_table, pfd_view_infer),
    .name = "WeightedShuffleDataset",
    .doc = "Draws records of a data set by weights, without replacement. Each record that is left "
           "is drawn next with a probability in proportion to its weight. A weight belongs to a "
           "position of epoch 0 of the data set, and each epoch draws from these records. The "
           "order of an epoch is computed when its first record is asked for, and kept for two "
           "epochs.",
};

const pfd_view_op pfd_view_weighted_shuffle_dataset = {
    &weighted_shuffle_dataset, PFD_VIEW_ORDER, open_view, "sample"};
