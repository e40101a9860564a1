/* CarelessReader -- breaks the rules of reporting in the way that its attr names. */
#include "pyflowdata/op.h"

typedef struct careless_reader {
    const char *fault;
} careless_reader;

static const pfd_attr attrs[] = {
    PFD_ATTR_ROW(careless_reader, fault, PFD_ATTR_STRING, NULL, 0, 0,
                 "open|compute|forgotten|end|nothing", "What is done wrong."),
};

static int is(const char *fault, char first)
{
    return fault[0] == first;
}

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    (void)err;
    args->outputs[0] = (pfd_row_type){.dtype = PFD_UINT8};
    return PFD_OK;
}

static pfd_status open(const pfd_open_args *args, pfd_source *out, pfd_error *err)
{
    const careless_reader *attr = args->attrs;
    if (is(attr->fault, 'o')) return PFD_CORRUPT_DATA; /* and no word about it */
    if (is(attr->fault, 'n')) return PFD_OK;           /* and no dataset */
    return args->host->open_lines(args, out, err);
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    const careless_reader *attr = args->attrs;
    for (int64_t row = 0; row < args->num_rows; row++) args->outputs[0]->data[row] = 1;
    if (is(attr->fault, 'c')) return PFD_CORRUPT_DATA;
    if (is(attr->fault, 'e')) return PFD_END;
    args->host->fail(err, PFD_CORRUPT_DATA, "a failure that is not returned");
    return PFD_OK;
}

static const pfd_port outputs[] = {{"out", "Ones."}};

const pfd_op pfd_op_careless_reader = {
    PFD_OP_SIZES,
    .name = "CarelessReader",
    .doc = "Breaks the rules of reporting.",
    .flags = PFD_READS_FILES,
    PFD_OP_ATTRS(careless_reader, attrs),
    PFD_OP_OUTPUTS(outputs),
    .infer = infer,
    .open = open,
    .compute = compute,
};
