/* RepeatDataset: a data set several times, or without end, each time in its own epoch. */
#include "core/error.h"
#include "views/view_base.h"

#include <inttypes.h>

typedef struct repeat_dataset_attrs {
    pfd_list_string fields;
    int64_t times;
} repeat_dataset_attrs;

typedef struct repeat {
    pfd_view base;
    int64_t times, records; /* repeats; records of one repeat */
} repeat;

#define MOST_RECORDS (INT64_C(1) << 62) /* as of a permutation */

/* Each repeat is a separate epoch of the inner view, so a shuffle before it reshuffles.  The
 * number of the repeat tells the draws of a record in one epoch apart. */
static void map(const pfd_view *view, const pfd_places *places)
{
    const uint64_t times = (uint64_t)((const repeat *)view)->times;
    const uint64_t records = (uint64_t)((const repeat *)view)->records;
    for (int64_t i = 0; i < places->n; i++) {
        uint64_t number = (uint64_t)places->positions[i] / records;
        uint64_t epoch = (uint64_t)places->epochs[i] * times + number;
        places->positions[i] -= (int64_t)(number * records);
        places->epochs[i] = (int64_t)(epoch & INT64_MAX);
        pfd_view_count_draw(&places->draws[i], number);
    }
}

static const pfd_view_methods methods = {
    .name = "RepeatDataset", .close = pfd_view_free, .map = map};

static pfd_status open_view(const pfd_view_args *args, pfd_view **out, pfd_error *err)
{
    const repeat_dataset_attrs *attrs = args->attrs;
    const int64_t records = args->inner[0]->size, most = MOST_RECORDS / (records > 0 ? records : 1);
    if (attrs->times > 1) PFD_TRY(pfd_view_need_end(args, "all records are repeated", err));
    if (records > 0 && attrs->times > most)
        return pfd_fail_attr(err, "times", NULL, PFD_INVALID_ARGUMENT,
                             " = %" PRId64 " makes more than 2^62 records out of %" PRId64
                             "; at most %" PRId64 " times are possible",
                             attrs->times, records, most);
    repeat *self;
    PFD_TRY(pfd_view_create(sizeof *self, &methods, &self, err));
    self->times = attrs->times > 0 ? attrs->times : most; /* more than PFD_ENDLESS records */
    self->records = records;
    self->base.size = self->times * records;
    *out = &self->base;
    return PFD_OK;
}

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    if (((const repeat_dataset_attrs *)args->attrs)->times == 0)
        return pfd_fail_attr(err, "times", NULL, PFD_INVALID_ARGUMENT,
                             " = 0; it must be 1 or more, or -1 for without end");
    return pfd_view_infer(args, err);
}

static const pfd_attr attr_table[] = {
    PFD_FIELDS_ATTR(repeat_dataset_attrs),
    PFD_ATTR_ROW(repeat_dataset_attrs, times, PFD_ATTR_INT64, "-1", -1, 9.2e18, NULL,
                 "How often an epoch has each record; -1: without end."),
};

static const pfd_op repeat_dataset = {
    PFD_VIEW_OP(repeat_dataset_attrs, attr_table, infer),
    .name = "RepeatDataset",
    .doc = "Repeats a data set several times in an epoch. Epoch e of this view has the epochs e * "
           "times to e * times + times - 1 of the data set, one after another, so a shuffle before "
           "this view makes another order each time.",
};

const pfd_view_op pfd_view_repeat_dataset = {&repeat_dataset, PFD_VIEW_ORDER, open_view, "repeat"};
