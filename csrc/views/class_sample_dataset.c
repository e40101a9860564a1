/* ClassSampleDataset: equally many records of each class, in runs of one class.
 *
 * The runs of all epochs are one sequence: epoch e begins at run e * runs.  The classes of runs are
 * dealt in rounds, each class once in a round.  So the k-th run of a class is in round k; it has
 * the draws from k * per_class on of the class's members, which are dealt in rounds as well: see
 * views/sampling.h.
 *
 * All keys come from the key of epoch 0: its number 0 is the key of the classes; number c of its
 * number 1 is the key of the records of class c, in the order of labels.  The position of a row
 * tells its draw apart.
 */
#include "core/error.h"
#include "core/radix_sort.h"
#include "core/random.h"
#include "views/record_table.h"
#include "views/sampling.h"
#include "views/view_base.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { too_few_wrap, too_few_drop };

typedef struct class_sample_dataset_attrs {
    pfd_list_string fields;
    int64_t labels, classes, per_class, num_samples, seed;
    int32_t too_few;
} class_sample_dataset_attrs;

/* ---- Classes: records sorted by their labels ------------------------------------------------- */

typedef struct class_members {
    int64_t num_classes;
    int64_t num_records; /* records of all classes */
    int64_t *begins;     /* begin of each class in records[], and their end */
    uint32_t *records;   /* class by class, by ascending label; those of a class in their order */
} class_members;

/* Keeps the classes with at least `least` of the n records, at the front of records[]. */
static pfd_status keep_classes(const uint64_t *keys, int64_t n, int64_t least,
                               class_members *members, pfd_error *err)
{
    uint32_t *records = members->records;
    int64_t num_classes = 0;
    for (int64_t i = 0, end; i < n; i = end) {
        end = pfd_run_end(keys, records, n, i, 0);
        num_classes += end - i >= least;
    }
    size_t bytes = (size_t)(num_classes + 1) * sizeof *members->begins;
    members->begins = malloc(bytes);
    if (!members->begins) return pfd_fail_memory(err, (int64_t)bytes, "the classes of records");
    for (int64_t i = 0, end; i < n; i = end) {
        end = pfd_run_end(keys, records, n, i, 0);
        if (end - i < least) continue;
        memmove(records + members->num_records, records + i, (size_t)(end - i) * sizeof *records);
        members->begins[members->num_classes++] = members->num_records;
        members->num_records += end - i;
    }
    members->begins[num_classes] = members->num_records;
    return PFD_OK;
}

/* A failure leaves members that can be freed. */
static pfd_status find_members(const int64_t *labels, int64_t n, int64_t least,
                               class_members *members, pfd_error *err)
{
    uint64_t *keys = malloc(((size_t)n + 1) * sizeof *keys);
    for (int64_t i = 0; keys && i < n; i++) keys[i] = pfd_int64_key(labels[i]);
    if (keys) members->records = pfd_sort_records(keys, n);
    pfd_status status = members->records ? keep_classes(keys, n, least, members, err)
                                         : pfd_fail_memory(err, (n + 1) * 16, "sorting labels");
    free(keys);
    return status;
}

typedef struct class_sample {
    pfd_view base;
    pfd_view_args args;
    int64_t seed;
    int64_t classes, per_class; /* runs that are of different classes; records of a run */
    class_members members;
} class_sample;

static void close_view(pfd_view *view)
{
    class_members *members = &((class_sample *)view)->members;
    free(members->begins);
    free(members->records);
    free(view);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

enum { rows_at_once = 1024, most_chains = 512, rows_of_class = 16 };

typedef struct dealer {
    const class_sample *self;
    uint64_t class_key, member_key;
    int64_t round; /* round of `classes`; -1 at first */
    pfd_deal classes;
} dealer;

/* Some rows of a call: the class of each, and the number of its draw from the class. */
typedef struct drawn_rows {
    int64_t labels[rows_at_once], draws[rows_at_once];
} drawn_rows;

/* Deals the classes of `count` rows in a row, from `row` of a run on, to rows from i on. */
static void deal_classes(dealer *by, int64_t run, int64_t row, int64_t count, drawn_rows *rows,
                         int64_t i)
{
    enum { runs_at_once = 64 };
    const int64_t per_class = by->self->per_class, n = by->self->members.num_classes;
    while (count > 0) {
        int64_t labels[runs_at_once], round = run / n, first = run - round * n;
        int64_t runs = (row + count - 1) / per_class + 1;
        if (runs > runs_at_once) runs = runs_at_once;
        if (runs > n - first) runs = n - first;
        if (round != by->round)
            pfd_deal_init(&by->classes, by->class_key, n, by->self->classes, by->round = round);
        pfd_deal_items(&by->classes, first, runs, labels);
        for (int64_t k = 0; k < runs; k++, row = 0) {
            for (; row < per_class && count > 0; row++, count--, i++) {
                rows->labels[i] = labels[k];
                rows->draws[i] = round * per_class + row;
            }
        }
        run += runs;
    }
}

/* The places in members.records of `count` draws of a class, one after another.  Classes with fewer
 * members than a run has are dealt without groups. */
static void deal_members(const dealer *by, int64_t label, int64_t draw, int64_t count, int64_t *out)
{
    const class_members *members = &by->self->members;
    int64_t begin = members->begins[label], n = members->begins[label + 1] - begin;
    int64_t group = n < by->self->per_class ? 1 : by->self->per_class;
    uint64_t key = pfd_random_bits(by->member_key, (uint64_t)label);
    while (count > 0) {
        int64_t round = draw / n, first = draw - round * n;
        int64_t taken = n - first < count ? n - first : count;
        pfd_deal deal;
        pfd_deal_init(&deal, key, n, group, round);
        pfd_deal_items(&deal, first, taken, out);
        for (int64_t i = 0; i < taken; i++) {
            out[i] += begin;
            __builtin_prefetch(&members->records[out[i]]);
        }
        draw += taken;
        count -= taken;
        out += taken;
    }
}

/* The same for rows [0, n).  The rows of a class are dealt together, as its round then has to be
 * made once only: they are in one chain if there are few classes.  Else all rows are in one. */
static void deal_rows(const dealer *by, const drawn_rows *rows, int64_t n, int64_t *out)
{
    int64_t num_chains = by->self->members.num_classes;
    if (num_chains > most_chains) num_chains = 1;
    int16_t first[most_chains], next[rows_at_once], run[rows_at_once];
    for (int64_t c = 0; c < num_chains; c++) first[c] = -1;
    for (int64_t i = n - 1; i >= 0; i--) {
        int64_t chain = num_chains > 1 ? rows->labels[i] : 0;
        next[i] = first[chain];
        first[chain] = (int16_t)i;
    }
    for (int64_t c = 0; c < num_chains; c++) {
        for (int64_t i = first[c]; i >= 0;) {
            const int64_t label = rows->labels[i], draw = rows->draws[i];
            int64_t places[rows_at_once], count = 0;
            for (; i >= 0 && rows->labels[i] == label && rows->draws[i] == draw + count;
                 i = next[i])
                run[count++] = (int16_t)i;
            deal_members(by, label, draw, count, places);
            for (int64_t k = 0; k < count; k++) out[run[k]] = places[k];
        }
    }
}

/* The rows [i, end) that are one after another in an epoch, up to `end` at most. */
static int64_t successive_end(const pfd_places *places, int64_t i, int64_t end)
{
    int64_t k = i + 1;
    while (k < end && places->epochs[k] == places->epochs[i] &&
           places->positions[k] == places->positions[k - 1] + 1)
        k++;
    return k;
}

static void map_some(dealer *by, const pfd_places *places, int64_t begin, int64_t end)
{
    const class_sample *self = by->self;
    const uint64_t runs = (uint64_t)(self->base.size / self->per_class);
    drawn_rows rows;
    for (int64_t i = begin, next; i < end; i = next) {
        int64_t position = places->positions[i], of_epoch = position / self->per_class;
        uint64_t run = (uint64_t)places->epochs[i] * runs + (uint64_t)of_epoch;
        next = successive_end(places, i, end);
        deal_classes(by, (int64_t)(run & INT64_MAX), position - of_epoch * self->per_class,
                     next - i, &rows, i - begin);
    }
    for (int64_t i = begin; i < end; i++) {
        pfd_view_count_draw(&places->draws[i], (uint64_t)places->positions[i]);
        places->epochs[i] = 0;
    }
    deal_rows(by, &rows, end - begin, places->positions + begin);
    /* The records are read last, so that the waits for memory overlap. */
    for (int64_t i = begin; i < end; i++)
        places->positions[i] = self->members.records[places->positions[i]];
}

static void map(const pfd_view *view, const pfd_places *places)
{
    const class_sample *self = (const class_sample *)view;
    uint64_t key = pfd_view_key(&self->args, self->seed, 0); /* epochs continue each other */
    dealer by;
    by.self = self;
    by.round = -1;
    by.class_key = pfd_random_bits(key, 0);
    by.member_key = pfd_random_bits(key, 1);
    for (int64_t begin = 0; begin < places->n; begin += rows_at_once) {
        int64_t rest = places->n - begin;
        map_some(&by, places, begin, begin + (rest < rows_at_once ? rest : rows_at_once));
    }
}

static const pfd_view_methods methods = {
    .name = "ClassSampleDataset", .close = close_view, .map = map};

/* ---- Opening --------------------------------------------------------------------------------- */

static pfd_status find_size(class_sample *self, const class_sample_dataset_attrs *attrs,
                            pfd_error *err)
{
    int64_t num_classes = self->members.num_classes, per_class = attrs->per_class;
    if (num_classes == 0 || attrs->classes > num_classes)
        return pfd_fail_attr(err, "classes", NULL, PFD_INVALID_ARGUMENT,
                             " = %" PRId64 ", but there are only %" PRId64 " classes%s",
                             attrs->classes, num_classes,
                             attrs->too_few == too_few_drop ? " with per_class records" : "");
    self->classes = attrs->classes > 0 ? attrs->classes : num_classes;
    self->per_class = per_class;
    int64_t unit = self->classes * per_class, rest = attrs->num_samples % unit;
    int64_t whole = self->members.num_records / unit * unit;
    if (rest > 0)
        return pfd_fail_attr(err, "num_samples", NULL, PFD_INVALID_ARGUMENT,
                             " = %" PRId64 " is not a multiple of classes * per_class = %" PRId64
                             "; the next one is %" PRId64,
                             attrs->num_samples, unit, attrs->num_samples - rest + unit);
    self->base.size = attrs->num_samples > 0 ? attrs->num_samples : whole > 0 ? whole : unit;
    return PFD_OK;
}

static pfd_status open_view(const pfd_view_args *args, pfd_view **out, pfd_error *err)
{
    const class_sample_dataset_attrs *attrs = args->attrs;
    const void *labels;
    PFD_TRY(pfd_record_table(args, "labels", attrs->labels, PFD_INT64, &labels, err));
    class_sample *self;
    PFD_TRY(pfd_view_create(sizeof *self, &methods, &self, err));
    int64_t least = attrs->too_few == too_few_drop ? attrs->per_class : 1;
    pfd_status status =
        find_members(labels, args->inner[0]->size, least, &self->members, err);
    if (status == PFD_OK) status = find_size(self, attrs, err);
    self->args = *args;
    self->seed = attrs->seed;
    /* A permutation is made for the rows of a class, see deal_rows(). */
    int64_t num_classes = self->members.num_classes;
    self->base.wanted_rows = num_classes <= most_chains ? num_classes * rows_of_class : 0;
    return pfd_view_opened(status, self, out);
}

/* ---- Descriptor ------------------------------------------------------------------------------ */

static const pfd_attr attr_table[] = {
    PFD_FIELDS_ATTR(class_sample_dataset_attrs),
    PFD_ATTR_ROW(class_sample_dataset_attrs, labels, PFD_ATTR_OBJECT, NULL, 0, 0, NULL,
                 "An int64 for each record: its class."),
    PFD_ATTR_ROW(class_sample_dataset_attrs, classes, PFD_ATTR_INT64, "0", 0, 2147483647, NULL,
                 "The number of consecutive runs that have different classes; 0: as many as there "
                 "are classes."),
    PFD_ATTR_ROW(class_sample_dataset_attrs, per_class, PFD_ATTR_INT64, "1", 1, 1048576, NULL,
                 "The number of records in a run: different records of one class."),
    PFD_ATTR_ROW(class_sample_dataset_attrs, num_samples, PFD_ATTR_INT64, "0", 0, 4.6e18, NULL,
                 "The number of records in an epoch, a multiple of classes * per_class; 0: the "
                 "largest multiple up to the number of records."),
    PFD_ATTR_ROW(class_sample_dataset_attrs, too_few, PFD_ATTR_CHOICE, "wrap", 0, 0, "wrap|drop",
                 "How to handle classes with fewer than per_class records: wrap uses their records "
                 "twice in a run, drop leaves these classes out."),
    PFD_SEED_ATTR(class_sample_dataset_attrs),
};

static const pfd_op class_sample_dataset = {
    PFD_VIEW_OP(class_sample_dataset_attrs, attr_table, pfd_view_infer),
    .name = "ClassSampleDataset",
    .doc = "Draws equally many records of each class, in runs of per_class records of one class. A "
           "batch of classes * per_class rows has that many classes, with that many records of "
           "each. Classes come in rounds, each class once in a round. The records of a class also "
           "come in rounds: each run of a class goes on where the previous one ended, also in the "
           "next epoch. A label belongs to a position of epoch 0 of the data set, and each epoch "
           "draws from these records.",
};

const pfd_view_op pfd_view_class_sample_dataset = {
    &class_sample_dataset, PFD_VIEW_ORDER, open_view, "balance"};
