/* views/view_base.h -- what views share: attrs, ports, types of outputs, ranges of records. */
#ifndef PFD_VIEWS_VIEW_BASE_H
#define PFD_VIEWS_VIEW_BASE_H
#include "dataset/view.h"

/* The attr that every view has whose outputs are its fields; first in its struct. */
#define PFD_FIELDS_ATTR(type)                                                                      \
    PFD_ATTR_ROW(type, fields, PFD_ATTR_LIST_STRING, "", 0, 0, NULL,                               \
                 "Names of the outputs; if left out, the names of the inputs.")

/* The attr of a view of several data sets. */
#define PFD_NUM_SOURCES_ATTR(type)                                                                 \
    PFD_ATTR_ROW(type, num_sources, PFD_ATTR_INT64, NULL, 1, 65536, NULL,                          \
                 "The number of data sets that the inputs belong to.")

#define PFD_SEED_ATTR(type)                                                                        \
    PFD_ATTR_ROW(type, seed, PFD_ATTR_INT64, "-1", -1, 9.2e18, NULL,                               \
                 "The seed of the random numbers; -1: the seed of the batches.")

static const pfd_port pfd_view_inputs[] = {
    {"in", "The fields of a data set: blobs in batches of 1, of one reader or view."},
};
static const pfd_port pfd_choice_inputs[] = {
    {"in", "The fields of the first data set, then those of the second, and so on; they have the "
           "same types."},
};
static const pfd_port pfd_view_outputs[] = {
    {"out", "The same fields of the view's records."},
};
static const pfd_port pfd_batch_outputs[] = {
    {"out", "The same fields in batches."},
};

/* Members of every view's descriptor. */
#define PFD_VIEW_OP_WITH(owner, table, ins, outs, infer_view)                                      \
    PFD_OP_SIZES, .flags = PFD_VIEW | PFD_MANY_INPUTS | PFD_TAKES_RAGGED,                          \
                  PFD_OP_ATTRS(owner, table), PFD_OP_INPUTS(ins), PFD_OP_OUTPUTS(outs),            \
                  .infer = infer_view, .outputs_attr = "fields"

/* Those of a view of one data set, whose outputs are its fields. */
#define PFD_VIEW_OP(owner, table, infer_view)                                                      \
    PFD_VIEW_OP_WITH(owner, table, pfd_view_inputs, pfd_view_outputs, infer_view)

/* Each output has the type of its input. */
pfd_status pfd_view_infer(const pfd_infer_args *args, pfd_error *err);

/* The same for a view of `num_sources` data sets, whose fields must agree. */
pfd_status pfd_choice_infer(const pfd_infer_args *args, int64_t num_sources, pfd_error *err);

/* open() of an op that forms batches.  It always fails: the loader opens the views and readers
 * before the op instead. */
pfd_status pfd_view_open_no_source(const pfd_open_args *args, pfd_source *out, pfd_error *err);

/* PFD_INVALID_ARGUMENT if the inner view has no end, which `what` needs. */
pfd_status pfd_view_need_end(const pfd_view_args *args, const char *what, pfd_error *err);

/* A view of the records first, first + step, and so on of its inner view. */
pfd_status pfd_range_view_open(int64_t first, int64_t step, int64_t size, pfd_view **out,
                               pfd_error *err);
#endif
