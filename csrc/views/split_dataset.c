/* SplitDataset: one of several subsets, which are runs of records. */
#include "core/error.h"
#include "views/view_base.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

typedef struct split_dataset_attrs {
    pfd_list_string fields;
    pfd_list_float64 fractions;
    pfd_list_int64 counts;
    int64_t part;
} split_dataset_attrs;

/* ---- The sizes of the subsets ---------------------------------------------------------------- */

static double sum_of(const pfd_list_float64 *fractions)
{
    double sum = 0;
    for (int64_t i = 0; i < fractions->size; i++) sum += fractions->data[i];
    return sum;
}

/* By largest remainders: each subset has its share, rounded down, and the records that are left go
 * to the subsets that lost most; of equal ones to the first. */
static pfd_status share_out(const pfd_list_float64 *fractions, int64_t rows, int64_t *sizes,
                            pfd_error *err)
{
    const double sum = sum_of(fractions);
    double *lost = malloc((size_t)fractions->size * sizeof *lost);
    if (!lost) return pfd_fail_memory(err, fractions->size * 8, "a split");
    int64_t left = rows;
    for (int64_t i = 0; i < fractions->size; i++) {
        const double share = fractions->data[i] / sum * (double)rows;
        sizes[i] = (int64_t)floor(share);
        lost[i] = share - floor(share);
        left -= sizes[i];
    }
    for (; left > 0; left--) {
        int64_t most = 0;
        for (int64_t i = 1; i < fractions->size; i++)
            if (lost[i] > lost[most] + 1e-9) most = i; /* 0.7 * 2 and 0.2 * 2 lose the same */
        sizes[most]++;
        lost[most] = -1;
    }
    free(lost);
    return PFD_OK;
}

static pfd_status take_counts(const pfd_list_int64 *counts, int64_t rows, int64_t *sizes,
                              pfd_error *err)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < counts->size; i++) {
        sizes[i] = counts->data[i];
        sum += sizes[i] <= rows - sum ? sizes[i] : rows - sum + 1;
    }
    if (sum == rows) return PFD_OK;
    return pfd_fail_attr(err, "counts", NULL, PFD_INVALID_ARGUMENT,
                         ": the subsets have %s records than the data set, which has %" PRId64,
                         sum < rows ? "fewer" : "more", rows);
}

static pfd_status open_view(const pfd_view_args *args, pfd_view **out, pfd_error *err)
{
    const split_dataset_attrs *attrs = args->attrs;
    const int64_t num = attrs->counts.size + attrs->fractions.size, rows = args->inner[0]->size;
    PFD_TRY(pfd_view_need_end(args, "subsets are cut from all records", err));
    int64_t *sizes = malloc((size_t)num * sizeof *sizes), begin = 0;
    if (!sizes) return pfd_fail_memory(err, num * 8, "a split");
    pfd_status status = attrs->counts.size > 0 ? take_counts(&attrs->counts, rows, sizes, err)
                                               : share_out(&attrs->fractions, rows, sizes, err);
    if (status == PFD_OK) {
        for (int64_t i = 0; i < attrs->part; i++) begin += sizes[i];
        status = pfd_range_view_open(begin, 1, sizes[attrs->part], out, err);
    }
    free(sizes);
    return status;
}

/* ---- The op ---------------------------------------------------------------------------------- */

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const split_dataset_attrs *attrs = args->attrs;
    const int64_t num = attrs->counts.size + attrs->fractions.size;
    if ((attrs->counts.size > 0) == (attrs->fractions.size > 0))
        return pfd_fail_attr(err, "fractions", NULL, PFD_INVALID_ARGUMENT,
                             ": give fractions or counts, and not both");
    if (attrs->fractions.size > 0 && !(fabs(sum_of(&attrs->fractions) - 1) <= 1e-6))
        return pfd_fail_attr(err, "fractions", NULL, PFD_INVALID_ARGUMENT,
                             ": they sum to %.9g; the sum must be 1", sum_of(&attrs->fractions));
    if (attrs->part >= num)
        return pfd_fail_attr(err, "part", NULL, PFD_INVALID_ARGUMENT,
                             " = %" PRId64 "; it must be in [0, %" PRId64 "), the subsets",
                             attrs->part, num);
    return pfd_view_infer(args, err);
}

static const pfd_attr attr_table[] = {
    PFD_FIELDS_ATTR(split_dataset_attrs),
    PFD_FLOATS_ATTR(split_dataset_attrs, fractions, "", 0, 1,
                    "The fraction of the records that each subset has, in the order of the "
                    "records; the sum is 1. Sizes are rounded by largest remainders."),
    PFD_INTS_ATTR(split_dataset_attrs, counts, "", 0, 9.2e18,
                  "The number of records in each subset, in place of fractions; their sum is the "
                  "number of all records."),
    PFD_INT_ATTR(split_dataset_attrs, part, NULL, 0, 9.2e18,
                 "The number of the subset to select, from 0."),
};

static const pfd_op split_dataset = {
    PFD_VIEW_OP(split_dataset_attrs, attr_table, infer),
    .name = "SplitDataset",
    .doc = "Selects one subset of a data set that is cut into consecutive subsets.",
};

const pfd_view_op pfd_view_split_dataset = {&split_dataset, PFD_VIEW_ORDER, open_view, "split"};
