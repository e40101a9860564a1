/* BatchDataset: batches of a data set's records.  It has the attrs of every reader
 * (registry/attrs.h), and the loader treats it as a reader. */
#include "views/view_base.h"

typedef struct batch_dataset_attrs {
    pfd_list_string fields;
} batch_dataset_attrs;

static const pfd_attr attr_table[] = {PFD_FIELDS_ATTR(batch_dataset_attrs)};

static const pfd_op batch_dataset = {
    PFD_VIEW_OP_WITH(batch_dataset_attrs, attr_table, pfd_view_inputs, pfd_batch_outputs,
                     pfd_view_infer),
    .name = "BatchDataset",
    .doc = "Makes batches of the records of a data set. The op has the attrs of every reader: the "
           "order, the ranks, and the rules for damaged records.",
    .open = pfd_view_open_no_source,
};

const pfd_view_op pfd_view_batch_dataset = {&batch_dataset, PFD_VIEW_BATCHES, NULL, "batch"};
