/* BucketDataset: batches of records of similar lengths.  It has the attrs of every reader, and the
 * loader makes of it what it makes of a reader. */
#include "core/error.h"
#include "core/random.h"
#include "dataset/dataset.h"
#include "views/bucket_table.h"
#include "views/view_infer.h"

#include <inttypes.h>

typedef struct bucket_dataset_attrs {
    pfd_list_string fields;
    int64_t lengths, max_tokens, multiple_of;
    pfd_list_int64 boundaries, batch_sizes;
} bucket_dataset_attrs;

/* ---- Checks ---------------------------------------------------------------------------------- */

static pfd_status check_boundaries(const bucket_dataset_attrs *attrs, pfd_error *err)
{
    const pfd_list_int64 *boundaries = &attrs->boundaries, *sizes = &attrs->batch_sizes;
    for (int64_t i = 1; i < boundaries->size; i++)
        if (boundaries->data[i] <= boundaries->data[i - 1])
            return pfd_fail_attr(err, "boundaries", NULL, PFD_INVALID_ARGUMENT,
                                 ": element %" PRId64 " is %" PRId64 ", the one before %" PRId64
                                 "; they must increase",
                                 i, boundaries->data[i], boundaries->data[i - 1]);
    if (sizes->size > 0 && sizes->size != boundaries->size + 1)
        return pfd_fail_attr(err, "batch_sizes", NULL, PFD_INVALID_ARGUMENT,
                             " has %" PRId64 " elements; %" PRId64
                             " boundaries make %" PRId64 " buckets, and each needs its size",
                             sizes->size, boundaries->size, boundaries->size + 1);
    if (sizes->size > 0 && attrs->max_tokens > 0)
        return pfd_fail_attr(err, "batch_sizes", NULL, PFD_INVALID_ARGUMENT,
                             " and max_tokens are given; give one of the two");
    return PFD_OK;
}

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const bucket_dataset_attrs *attrs = args->attrs;
    PFD_TRY(check_boundaries(attrs, err));
    if (attrs->multiple_of > 1 && attrs->max_tokens == 0)
        return pfd_fail_attr(err, "multiple_of", NULL, PFD_INVALID_ARGUMENT,
                             " = %" PRId64 " is for batch sizes that follow from max_tokens",
                             attrs->multiple_of);
    return pfd_view_infer(args, err);
}

static pfd_status check_sizes(const bucket_dataset_attrs *attrs, const pfd_batching *args,
                              pfd_error *err)
{
    for (int64_t i = 0; i < attrs->batch_sizes.size; i++)
        if (attrs->batch_sizes.data[i] > args->batch_size)
            return pfd_fail_attr(err, "batch_sizes", NULL, PFD_INVALID_ARGUMENT,
                                 ": element %" PRId64 " is %" PRId64 "; batch_size = %" PRId64
                                 " must be the largest",
                                 i, attrs->batch_sizes.data[i], args->batch_size);
    if (attrs->multiple_of > args->batch_size)
        return pfd_fail_attr(err, "multiple_of", NULL, PFD_INVALID_ARGUMENT,
                             " = %" PRId64 " is above batch_size = %" PRId64
                             ", the most rows of a batch",
                             attrs->multiple_of, args->batch_size);
    if (args->last_batch != PFD_LAST_BATCH_SHORT && args->last_batch != PFD_LAST_BATCH_DROP)
        return pfd_fail_attr(err, "last_batch", NULL, PFD_UNSUPPORTED,
                             "; batches of similar lengths can be 'short' or 'drop'");
    return PFD_OK;
}

/* ---- Batches --------------------------------------------------------------------------------- */

typedef struct buckets {
    pfd_view base;
    pfd_view_args args; /* for keys */
    int32_t is_random, reshuffle;
    pfd_bucket_table table;
} buckets;

static void close_view(pfd_view *view)
{
    pfd_bucket_table_close(&((buckets *)view)->table);
    pfd_view_free(view);
}

static int64_t size(const pfd_view *view)
{
    return ((const buckets *)view)->table.num_positions;
}

static int64_t num_batches(const pfd_view *view)
{
    return ((const buckets *)view)->table.num_batches;
}

static int64_t most_rows(const pfd_view *view)
{
    return ((const buckets *)view)->table.most_rows;
}

/* Key 0 is that of the order of batches, key 1 that of the records in them. */
static uint64_t key_of(const buckets *self, int64_t epoch, uint64_t number)
{
    return pfd_random_bits(pfd_view_key(&self->args, -1, self->reshuffle ? epoch : 0), number);
}

static void batch(const pfd_view *view, int64_t epoch, int64_t step, int64_t *begin, int64_t *end)
{
    const buckets *self = (const buckets *)view;
    if (self->is_random) {
        pfd_permutation permutation;
        pfd_permutation_init(&permutation, key_of(self, epoch, 0), self->table.num_batches);
        pfd_permute(&permutation, &step, 1, &step);
    }
    pfd_bucket_table_batch(&self->table, step, begin, end);
}

/* The lengths are those of the first epoch's order, so the records of every epoch are. */
static void map(const pfd_view *view, const pfd_places *places)
{
    const buckets *self = (const buckets *)view;
    if (places->n == 0) return;
    pfd_bucket_table_records(&self->table, key_of(self, places->epochs[0], 1), self->is_random,
                             places->positions, places->n, places->positions);
    for (int64_t i = 0; i < places->n; i++) places->epochs[i] = 0;
}

static const pfd_view_methods methods = {.name = "BucketDataset",
                                         .close = close_view,
                                         .size = size,
                                         .map = map,
                                         .num_batches = num_batches,
                                         .batch = batch,
                                         .most_rows = most_rows};

static pfd_status open_view(const pfd_view_args *args, pfd_view **out, pfd_error *err)
{
    const bucket_dataset_attrs *attrs = args->attrs;
    const pfd_batching *batching = args->batching;
    pfd_lengths lengths;
    PFD_TRY(check_sizes(attrs, batching, err));
    PFD_TRY(pfd_lengths_find("lengths", attrs->lengths, batching->num_records, &lengths, err));
    pfd_bucket_rule rule = {
        .boundaries = attrs->boundaries.data,
        .num_boundaries = attrs->boundaries.size,
        .batch_sizes = attrs->batch_sizes.size > 0 ? attrs->batch_sizes.data : NULL,
        .batch_size = batching->batch_size,
        .max_tokens = attrs->max_tokens,
        .multiple_of = attrs->multiple_of,
        .drops_short = batching->last_batch == PFD_LAST_BATCH_DROP,
    };
    buckets *self;
    PFD_TRY(pfd_view_create(sizeof *self, &methods, &self, err));
    pfd_status status = pfd_bucket_table_open(&rule, &lengths, &self->table, err);
    if (status != PFD_OK) {
        pfd_view_free(&self->base);
        return status;
    }
    self->args = *args;
    self->args.batching = NULL; /* it ends with this call */
    self->is_random = batching->is_random;
    self->reshuffle = batching->reshuffle;
    *out = &self->base;
    return PFD_OK;
}

/* The loader opens the views and readers before it in its place. */
static pfd_status open_source(const pfd_open_args *args, pfd_source *out, pfd_error *err)
{
    (void)args, (void)out;
    return pfd_fail(err, PFD_INTERNAL, "BucketDataset is no source of its own");
}

static const pfd_attr attr_table[] = {
    PFD_FIELDS_ATTR(bucket_dataset_attrs),
    PFD_ATTR_ROW(bucket_dataset_attrs, lengths, PFD_ATTR_OBJECT, NULL, 0, 0, NULL,
                 "An array with the length of each record of the data set, in the order of its "
                 "first epoch."),
    PFD_INT_ATTR(bucket_dataset_attrs, max_tokens, "0", 0, 1099511627776.0,
                 "The most elements of a padded batch, of all ranks together: rows times the "
                 "longest of the bucket; batch_size limits the rows too. 0: no limit."),
    PFD_INT_ATTR(bucket_dataset_attrs, multiple_of, "1", 1, 1048576,
                 "With max_tokens: batches have a multiple of this many rows, such as world_size, "
                 "except where a bucket has fewer."),
    PFD_INTS_ATTR(bucket_dataset_attrs, boundaries, "", 1, 9.2e18,
                  "Lengths at which buckets end, each below the next; a bucket has the lengths "
                  "from one boundary up to the next, without it. Left out, they are chosen so that "
                  "lengths in a bucket differ by at most 1/16, or more where records are few."),
    PFD_INTS_ATTR(bucket_dataset_attrs, batch_sizes, "", 1, 2147483647.0,
                  "Rows of a batch for each bucket, one more than boundaries; batch_size is the "
                  "largest of them. Left out, all batches have batch_size rows."),
};

static const pfd_port outputs[] = {
    {"out", "The same fields in batches."},
};

static const pfd_op bucket_dataset = {
    PFD_OP_SIZES,
    .flags = PFD_VIEW | PFD_MANY_INPUTS | PFD_TAKES_RAGGED,
    .name = "BucketDataset",
    .doc = "Batches of records of similar lengths, so that little is padded. "
           "Each epoch has every record once, in batches that are drawn again, in a random order "
           "if random_shuffle is set, else with the longest first. How many batches an epoch has "
           "is known and does not change. Rows are ordered so that the sums of squared lengths of "
           "all ranks are nearly equal. last_batch is short or drop, for each bucket; with drop "
           "other records are left out in each epoch. A shuffle before it keeps its first epoch's "
           "order. PadBatch makes rows of one length.",
    PFD_OP_ATTRS(bucket_dataset_attrs, attr_table),
    PFD_OP_INPUTS(pfd_view_inputs),
    PFD_OP_OUTPUTS(outputs),
    .infer = infer,
    .open = open_source,
    .outputs_attr = "fields",
};

const pfd_view_op pfd_view_bucket_dataset = {&bucket_dataset, PFD_VIEW_BATCHES, open_view};
