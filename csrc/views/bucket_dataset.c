/* BucketDataset: batches of records of similar lengths.  It has the attrs of every reader, and the
 * loader treats it as a reader. */
#include "views/bucket_dataset.h"

#include "core/error.h"
#include "core/random.h"
#include "dataset/dataset.h"
#include "views/view_base.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct bucket_dataset_attrs {
    pfd_list_string fields;
    int64_t lengths, max_tokens, multiple_of;
    pfd_list_int64 boundaries, batch_sizes;
} bucket_dataset_attrs;

/* ---- The order of a batch's rows ------------------------------------------------------------- */

/* Parts rows, the heaviest first, into two halves of about the same weight: each row goes to the
 * lighter half that has room.  Both halves keep the heaviest first.  Returns the size of the first
 * half. */
static int64_t halve(const double *weights, int32_t *rows, int64_t n, int32_t *work)
{
    int64_t most = (n + 1) / 2, first = 0, second = 0;
    double heavier = 0; /* weight of the first half */
    for (int64_t i = 0; i < n; i++) {
        int32_t is_first = first < most && (second == n / 2 || heavier <= 0);
        heavier += is_first ? weights[rows[i]] : -weights[rows[i]];
        if (is_first)
            rows[first++] = rows[i];
        else
            work[second++] = rows[i];
    }
    memcpy(rows + first, work, (size_t)second * sizeof *work);
    return first;
}

static void spread(const double *weights, int32_t *rows, int64_t n, int32_t *work)
{
    if (n < 3) return;
    int64_t first = halve(weights, rows, n, work);
    spread(weights, rows, first, work);
    spread(weights, rows + first, n - first, work);
}

int32_t *pfd_spread_order(const double *weights, int64_t n)
{
    int32_t *rows = malloc((size_t)n * sizeof *rows), *work = malloc((size_t)n * sizeof *work);
    for (int64_t i = 0; rows && i < n; i++) rows[i] = (int32_t)i;
    if (rows && work) spread(weights, rows, n, work);
    free(work);
    if (work) return rows;
    free(rows);
    return NULL;
}

/* ---- Records, the longest first -------------------------------------------------------------- */

enum { digit_bits = 11, digits = 1 << digit_bits };

static void sort_by_digit(const pfd_lengths *lengths, int32_t shift, const int64_t *in,
                          int64_t *out)
{
    int64_t places[digits] = {0}, place = 0;
    for (int64_t i = 0; i < lengths->count; i++)
        places[pfd_length_at(lengths, i) >> shift & (digits - 1)]++;
    for (int32_t d = digits - 1; d >= 0; d--) {
        int64_t count = places[d];
        places[d] = place;
        place += count;
    }
    for (int64_t i = 0; i < lengths->count; i++)
        out[places[pfd_length_at(lengths, in[i]) >> shift & (digits - 1)]++] = in[i];
}

/* Sorts the records by length, the longest first; equally long ones stay in order. */
static pfd_status sort(pfd_bucket_table *table, const pfd_lengths *lengths, pfd_error *err)
{
    int64_t n = lengths->count, longest = 0, bytes = (n + 1) * (int64_t)sizeof(int64_t);
    int64_t *from = malloc((size_t)bytes), *to = malloc((size_t)bytes);
    if (!from || !to) {
        free(from);
        free(to);
        return pfd_fail_memory(err, 2 * bytes, "a table of buckets");
    }
    for (int64_t i = 0; i < n; i++) {
        from[i] = i;
        if (pfd_length_at(lengths, i) > longest) longest = pfd_length_at(lengths, i);
    }
    for (int32_t shift = 0; shift < 63 && longest >> shift > 0; shift += digit_bits) {
        sort_by_digit(lengths, shift, from, to);
        int64_t *sorted = to;
        to = from;
        from = sorted;
    }
    free(to);
    table->records = from;
    return PFD_OK;
}

/* ---- Making the buckets ---------------------------------------------------------------------- */

/* Groups are as equal as they can be: group g begins at record g * records / rows, rounded down. */
static int64_t group_begin(const pfd_bucket *bucket, int64_t group)
{
    int64_t size = bucket->num_records / bucket->rows, rest = bucket->num_records % bucket->rows;
    return group * size + group * rest / bucket->rows;
}

/* A short batch has rows of the larger groups only: the number of the i-th of these. */
static int64_t larger_group(const pfd_bucket *bucket, int64_t i)
{
    int64_t rest = bucket->num_records % bucket->rows;
    return ((i + 1) * bucket->rows + rest - 1) / rest - 1;
}

/* What buckets are made from. */
typedef struct making {
    const pfd_bucket_rule *rule;
    const pfd_lengths *lengths;
    pfd_bucket_table *table;
    int64_t room; /* buckets that there is memory for */
} making;

/* Chosen boundaries: a bucket's shortest record has at least this share of the longest one's
 * length, or the bucket has this many batches. */
#define LEAST_SHARE(longest) ((longest) - (longest) / 17) /* the longest is 1/16 longer */
enum { least_batches = 4 };

static int64_t length_of(const making *m, int64_t sorted)
{
    return pfd_length_at(m->lengths, m->table->records[sorted]);
}

/* The first of the sorted records from `begin` on that is shorter than `length`. */
static int64_t find_shorter(const making *m, int64_t begin, int64_t length)
{
    int64_t end = m->lengths->count;
    while (begin < end) {
        int64_t middle = begin + (end - begin) / 2;
        if (length_of(m, middle) >= length)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

/* The most rows of a batch of a bucket whose longest record is sorted number `first`. */
static int64_t most_rows(const making *m, int64_t first, int64_t boundary)
{
    const pfd_bucket_rule *rule = m->rule;
    if (rule->max_tokens > 0) {
        int64_t longest = length_of(m, first), rows = rule->max_tokens / (longest ? longest : 1);
        if (rows > rule->batch_size) rows = rule->batch_size;
        return rows - rows % rule->multiple_of;
    }
    return rule->batch_sizes ? rule->batch_sizes[boundary] : rule->batch_size;
}

static pfd_status fail_budget(const making *m, int64_t first, pfd_error *err)
{
    return pfd_fail_attr(err, "max_tokens", NULL, PFD_INVALID_ARGUMENT,
                         " = %" PRId64 ", but record %" PRId64 " has length %" PRId64 ", and the "
                         "smallest batch has %" PRId64 " rows; raise max_tokens, or first leave "
                         "out or cut long records",
                         m->rule->max_tokens, m->table->records[first], length_of(m, first),
                         m->rule->multiple_of);
}

/* Rows and batches of n records, of batches of up to `most` rows.  With a budget of tokens a batch
 * may have any number of rows, so all get about as many. */
static void size_batches(const pfd_bucket_rule *rule, int64_t most, pfd_bucket *bucket)
{
    int64_t n = bucket->num_records, rows = most;
    if (rule->max_tokens > 0) {
        int64_t batches = (n + most - 1) / most, multiple = rule->multiple_of;
        rows = (rule->drops_short ? n : n + batches - 1) / batches;
        rows = (rule->drops_short ? rows : rows + multiple - 1) / multiple * multiple;
        if (rule->drops_short) {
            bucket->num_batches = rows > 0 ? batches : 0;
            bucket->rows = rows > 0 ? rows : 1;
            return;
        }
    }
    if (rows > n) rows = rule->drops_short ? 0 : n;
    bucket->rows = rows > 0 ? rows : 1;
    bucket->num_batches = rows > 0 ? n / rows + (!rule->drops_short && n % rows != 0) : 0;
}

/* The mean of the squared lengths of a group. */
static double weigh(const making *m, const pfd_bucket *bucket, int64_t group)
{
    int64_t begin = group_begin(bucket, group), end = group_begin(bucket, group + 1);
    double sum = 0;
    for (int64_t i = begin; i < end; i++) {
        double length = (double)length_of(m, bucket->first_record + i);
        sum += length * length;
    }
    return sum / (double)(end - begin);
}

/* The order of n rows, which are of all groups, or of the larger ones.  NULL: out of memory. */
static const int32_t *order_rows(const making *m, const pfd_bucket *bucket, int64_t n)
{
    pfd_bucket_table *table = m->table;
    int32_t **grown =
        realloc(table->orders, (size_t)(table->num_orders + 1) * sizeof *table->orders);
    if (grown) table->orders = grown;
    double *weights = grown ? malloc((size_t)n * sizeof *weights) : NULL;
    if (!weights) return NULL;
    for (int64_t i = 0; i < n; i++)
        weights[i] = weigh(m, bucket, n < bucket->rows ? larger_group(bucket, i) : i);
    int32_t *order = pfd_spread_order(weights, n);
    free(weights);
    if (order) table->orders[table->num_orders++] = order;
    return order;
}

static pfd_status order_batches(const making *m, pfd_bucket *bucket, int64_t last, pfd_error *err)
{
    bucket->order = order_rows(m, bucket, bucket->rows);
    if (bucket->order && last < bucket->rows) bucket->short_order = order_rows(m, bucket, last);
    if (bucket->order && (last == bucket->rows || bucket->short_order)) return PFD_OK;
    return pfd_fail_memory(err, bucket->rows * 16, "the order of a batch's rows");
}

static pfd_status add_bucket(making *m, int64_t begin, int64_t end, int64_t most, pfd_error *err)
{
    pfd_bucket_table *table = m->table;
    if (table->num_buckets == m->room) {
        m->room = m->room ? 2 * m->room : 64;
        pfd_bucket *grown = realloc(table->buckets, (size_t)m->room * sizeof *grown);
        if (!grown) return pfd_fail_memory(err, m->room * (int64_t)sizeof *grown, "buckets");
        table->buckets = grown;
    }
    pfd_bucket bucket = {.first_record = begin, .num_records = end - begin,
                         .first_batch = table->num_batches,
                         .first_position = table->num_positions};
    size_batches(m->rule, most, &bucket);
    if (bucket.num_batches == 0) return PFD_OK;
    int64_t last = bucket.num_records - (bucket.num_batches - 1) * bucket.rows;
    if (last > bucket.rows) last = bucket.rows; /* more records are left out */
    PFD_TRY(order_batches(m, &bucket, last, err));
    table->num_batches += bucket.num_batches;
    table->num_positions += (bucket.num_batches - 1) * bucket.rows + last;
    if (bucket.rows > table->most_rows) table->most_rows = bucket.rows;
    table->buckets[table->num_buckets++] = bucket;
    return PFD_OK;
}

static pfd_status cut_at_boundaries(making *m, pfd_error *err)
{
    int64_t begin = 0;
    for (int64_t i = m->rule->num_boundaries; i >= 0; i--) {
        int64_t end = find_shorter(m, begin, i > 0 ? m->rule->boundaries[i - 1] : 0);
        if (begin == end) continue;
        int64_t most = most_rows(m, begin, i);
        if (most == 0) return fail_budget(m, begin, err);
        PFD_TRY(add_bucket(m, begin, end, most, err));
        begin = end;
    }
    return PFD_OK;
}

/* With one batch size all buckets but the last have whole batches: then one batch is short. */
static pfd_status cut_by_growth(making *m, pfd_error *err)
{
    int64_t n = m->lengths->count;
    for (int64_t begin = 0, end; begin < n; begin = end) {
        int64_t most = most_rows(m, begin, 0);
        if (most == 0) return fail_budget(m, begin, err);
        int64_t least = most <= n / least_batches ? least_batches * most : n;
        end = find_shorter(m, begin, LEAST_SHARE(length_of(m, begin)));
        if (end - begin < least) end = n - begin < least ? n : begin + least;
        if (m->rule->max_tokens == 0) end += (most - (end - begin) % most) % most;
        if (n - end < least) end = n;
        PFD_TRY(add_bucket(m, begin, end, most, err));
    }
    return PFD_OK;
}

pfd_status pfd_bucket_table_open(const pfd_bucket_rule *rule, const pfd_lengths *lengths,
                                 pfd_bucket_table *out, pfd_error *err)
{
    *out = (pfd_bucket_table){0};
    making m = {.rule = rule, .lengths = lengths, .table = out};
    pfd_status status = sort(out, lengths, err);
    if (status == PFD_OK)
        status = rule->num_boundaries > 0 ? cut_at_boundaries(&m, err) : cut_by_growth(&m, err);
    if (status != PFD_OK) pfd_bucket_table_close(out);
    return status;
}

void pfd_bucket_table_close(pfd_bucket_table *table)
{
    for (int64_t i = 0; i < table->num_orders; i++) free(table->orders[i]);
    free(table->orders);
    free(table->buckets);
    free(table->records);
    *table = (pfd_bucket_table){0};
}

/* ---- The record of each row ------------------------------------------------------------------ */

/* A random order of the n records of a group.  All groups of a bucket with this size share it, each
 * from another record on.  An order of few records is made by swaps: the domain of a
 * pfd_permutation would be much larger. */
enum { most_swapped = 64 };

typedef struct group_order {
    int64_t n; /* 0: not made */
    uint64_t key;
    pfd_permutation permutation;
    uint8_t places[most_swapped];
} group_order;

static void make_order(group_order *order, uint64_t key, int64_t n)
{
    order->n = n;
    order->key = key;
    if (n > most_swapped) {
        pfd_permutation_init(&order->permutation, key, n);
        return;
    }
    for (int64_t i = 0; i < n; i++) { /* Fisher and Yates, inside out */
        int64_t other = pfd_random_below(key, (uint64_t)i, i + 1);
        order->places[i] = order->places[other];
        order->places[other] = (uint8_t)i;
    }
}

static int64_t ordered(const group_order *order, uint64_t group, int64_t i)
{
    i += pfd_random_below(~order->key, group, order->n);
    if (i >= order->n) i -= order->n;
    if (order->n <= most_swapped) return order->places[i];
    pfd_permute(&order->permutation, &i, 1, &i);
    return i;
}

/* A bucket whose rows are looked up, and the orders of its groups, which have two sizes. */
typedef struct lookup {
    const pfd_bucket_table *table;
    const pfd_bucket *bucket;
    uint64_t key;
    int32_t is_random;
    int64_t size, num_larger; /* size of a group, rounded down; groups with one record more */
    group_order orders[2];
} lookup;

/* The last bucket whose int64_t at `offset`, first_position or first_batch, is at most `value`. */
static const pfd_bucket *find_bucket(const pfd_bucket_table *table, size_t offset, int64_t value)
{
    const pfd_bucket *bucket = table->buckets;
    for (int64_t left = table->num_buckets; left > 1;) {
        int64_t half = left / 2;
        const void *first = (const char *)&bucket[half] + offset;
        if (*(const int64_t *)first <= value) bucket += half;
        left -= half;
    }
    return bucket;
}

static void enter_bucket(lookup *at, int64_t position)
{
    at->bucket = find_bucket(at->table, offsetof(pfd_bucket, first_position), position);
    at->size = at->bucket->num_records / at->bucket->rows;
    at->num_larger = at->bucket->num_records % at->bucket->rows;
    at->orders[0].n = at->orders[1].n = 0;
}

static int64_t end_of(const pfd_bucket_table *table, const pfd_bucket *bucket)
{
    return bucket + 1 < table->buckets + table->num_buckets ? bucket[1].first_position
                                                            : table->num_positions;
}

static int64_t find_record(lookup *at, int64_t position)
{
    const pfd_bucket *bucket = at->bucket;
    int64_t place = position - bucket->first_position, batch = place / bucket->rows;
    int64_t row = place - batch * bucket->rows;
    int32_t is_short = bucket->short_order && batch == bucket->num_batches - 1;
    int64_t group = is_short ? larger_group(bucket, bucket->short_order[row]) : bucket->order[row];
    int64_t larger_before = group * at->num_larger / bucket->rows;
    int64_t is_larger = (group + 1) * at->num_larger / bucket->rows - larger_before;
    int64_t first = bucket->first_record + group * at->size + larger_before;
    if (!at->is_random) return at->table->records[first + batch];
    group_order *order = &at->orders[is_larger];
    uint64_t number = (uint64_t)(2 * bucket->first_record + is_larger);
    if (order->n == 0) make_order(order, pfd_random_bits(at->key, number), at->size + is_larger);
    return at->table->records[first + ordered(order, (uint64_t)group, batch)];
}

void pfd_bucket_table_records(const pfd_bucket_table *table, uint64_t key, int32_t is_random,
                              const int64_t *positions, int64_t n, int64_t *records)
{
    lookup at = {.table = table, .key = key, .is_random = is_random};
    for (int64_t i = 0; i < n; i++) {
        int64_t position = positions[i];
        if (!at.bucket || position < at.bucket->first_position ||
            position >= end_of(table, at.bucket))
            enter_bucket(&at, position);
        records[i] = find_record(&at, position);
    }
}

void pfd_bucket_table_batch(const pfd_bucket_table *table, int64_t batch, int64_t *begin,
                            int64_t *end)
{
    const pfd_bucket *bucket = find_bucket(table, offsetof(pfd_bucket, first_batch), batch);
    int64_t after = end_of(table, bucket);
    *begin = bucket->first_position + (batch - bucket->first_batch) * bucket->rows;
    *end = after - *begin < bucket->rows ? after : *begin + bucket->rows;
}

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

/* ---- View ------------------------------------------------------------------------------------ */

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

/* The lengths belong to the records of the first epoch, so every epoch has these records. */
static void map(const pfd_view *view, const pfd_places *places)
{
    const buckets *self = (const buckets *)view;
    if (places->n == 0) return;
    pfd_bucket_table_records(&self->table, key_of(self, places->epochs[0], 1), self->is_random,
                             places->positions, places->n, places->positions);
    for (int64_t i = 0; i < places->n; i++) places->epochs[i] = 0;
}

static const pfd_view_methods methods = {
    .name = "BucketDataset", .close = close_view, .map = map, .batch = batch};

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
    self->args = *args;
    self->args.batching = NULL; /* it ends with this call */
    self->is_random = batching->is_random;
    self->reshuffle = batching->reshuffle;
    self->base.size = self->table.num_positions;
    self->base.num_batches = self->table.num_batches;
    self->base.most_rows = self->table.most_rows;
    return pfd_view_opened(status, self, out);
}

/* ---- Descriptor ------------------------------------------------------------------------------ */

static const pfd_attr attr_table[] = {
    PFD_FIELDS_ATTR(bucket_dataset_attrs),
    PFD_ATTR_ROW(bucket_dataset_attrs, lengths, PFD_ATTR_OBJECT, NULL, 0, 0, NULL,
                 "An array with the length of each record of the data set, in the order of its "
                 "first epoch."),
    PFD_INT_ATTR(bucket_dataset_attrs, max_tokens, "0", 0, 1099511627776.0,
                 "The maximum number of elements of a padded batch, for all ranks together: its "
                 "rows times the longest length of its bucket; batch_size limits the rows, too. 0: "
                 "no limit."),
    PFD_INT_ATTR(bucket_dataset_attrs, multiple_of, "1", 1, 1048576,
                 "With max_tokens: the number of rows in a batch is a multiple of this number, "
                 "such as world_size, except if a bucket has fewer rows."),
    PFD_INTS_ATTR(bucket_dataset_attrs, boundaries, "", 1, 9.2e18,
                  "Lengths at which buckets end, in increasing order; a bucket has the lengths "
                  "from one boundary up to the next, but not that one. If left out, boundaries are "
                  "chosen so that lengths in a bucket differ by at most 1/16, or by more if there "
                  "are few records."),
    PFD_INTS_ATTR(bucket_dataset_attrs, batch_sizes, "", 1, 2147483647.0,
                  "The number of rows of a batch for each bucket, one element more than "
                  "boundaries; batch_size is the largest of them. If left out, all batches have "
                  "batch_size rows."),
};

static const pfd_op bucket_dataset = {
    PFD_VIEW_OP_WITH(bucket_dataset_attrs, attr_table, pfd_view_inputs, pfd_batch_outputs, infer),
    .name = "BucketDataset",
    .doc = "Makes batches of records of similar lengths, which need little padding. Each epoch has "
           "every record once, in batches that are drawn again; the batches have a random order if "
           "random_shuffle is set, otherwise the longest comes first. The number of batches in an "
           "epoch is known and does not change. Rows are ordered so that the sums of squared "
           "lengths are nearly equal in all ranks. last_batch is short or drop, for each bucket; "
           "drop leaves out other records in each epoch. A shuffle before this view keeps the "
           "order of its first epoch. PadBatch makes rows of one length.",
    .open = pfd_view_open_no_source,
};

const pfd_view_op pfd_view_bucket_dataset = {
    &bucket_dataset, PFD_VIEW_BATCHES, open_view, "batch_by_length"};
