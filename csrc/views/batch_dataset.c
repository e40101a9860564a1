/* BatchDataset: batches of a data set's records.  It has the attrs of every reader, and the loader
 * makes of it what it makes of a reader: registry/reader_attrs.h. */
#include "core/error.h"
#include "views/view_infer.h"

typedef struct batch_dataset_attrs {
    pfd_list_string fields;
} batch_dataset_attrs;

/* The loader opens the views and readers before it in its place. */
static pfd_status open_source(const pfd_open_args *args, pfd_source *out, pfd_error *err)
{
    (void)args, (void)out;
    return pfd_fail(err, PFD_INTERNAL, "BatchDataset is no source of its own");
}

static const pfd_attr attr_table[] = {PFD_FIELDS_ATTR(batch_dataset_attrs)};

static const pfd_port outputs[] = {
    {"out", "The same fields in batches."},
};

static const pfd_op batch_dataset = {
    PFD_OP_SIZES,
    .flags = PFD_VIEW | PFD_MANY_INPUTS | PFD_TAKES_RAGGED,
    .name = "BatchDataset",
    .doc = "Batches of the records of a data set. It has the attrs of every reader: the order, "
           "the ranks, and the rules for damaged records.",
    PFD_OP_ATTRS(batch_dataset_attrs, attr_table),
    PFD_OP_INPUTS(pfd_view_inputs),
    PFD_OP_OUTPUTS(outputs),
    .infer = pfd_view_infer,
    .open = open_source,
    .outputs_attr = "fields",
};

const pfd_view_op pfd_view_batch_dataset = {&batch_dataset, PFD_VIEW_BATCHES, NULL};
