/* FixedReader: records of one size between a header and a footer. */
#include "pyflowdata/op.h"

#include <string.h>

typedef struct fixed_reader {
    int64_t header_bytes, record_bytes, footer_bytes;
} fixed_reader;

#define ROW(field, default_value, doc)                                                             \
    PFD_ATTR_ROW(fixed_reader, field, PFD_ATTR_INT64, default_value, -1, 1000000, NULL, doc)

static const pfd_attr attrs[] = {
    ROW(header_bytes, "0", "Bytes before the first record."),
    ROW(record_bytes, "8", "Bytes of a record."),
    ROW(footer_bytes, "0", "Bytes behind the last record."),
};

static pfd_status fixed_reader_open(const pfd_open_args *args, pfd_source *out, pfd_error *err)
{
    const fixed_reader *attr = args->attrs;
    pfd_fixed_layout layout = {PFD_SIZE(pfd_fixed_layout), attr->header_bytes, attr->record_bytes,
                               attr->footer_bytes};
    return args->host->open_fixed(args, &layout, out, err);
}

static pfd_status fixed_reader_infer(const pfd_infer_args *args, pfd_error *err)
{
    const fixed_reader *attr = args->attrs;
    if (attr->record_bytes > 1000)
        return args->host->fail(err, PFD_INVALID_ARGUMENT, "such records are too large");
    args->outputs[0] = (pfd_row_type){.dtype = PFD_UINT8, .ndim = 1, .shape = {1}};
    if (attr->record_bytes > 0) args->outputs[0].shape[0] = attr->record_bytes;
    return PFD_OK;
}

static pfd_status fixed_reader_compute(const pfd_compute_args *args, pfd_error *err)
{
    (void)err;
    const pfd_tensor *out = args->outputs[0];
    for (int64_t i = 0; i < args->num_rows; i++)
        memcpy(out->data + i * out->row_bytes, args->records[i].data, (size_t)out->row_bytes);
    return PFD_OK;
}

static const pfd_port outputs[] = {{"out", "The bytes of each record."}};

const pfd_op pfd_op_fixed_reader = {
    PFD_OP_SIZES,
    .flags = PFD_READS_FILES,
    .name = "FixedReader",
    .doc = "Reads records of one size.",
    PFD_OP_ATTRS(fixed_reader, attrs),
    PFD_OP_OUTPUTS(outputs),
    .infer = fixed_reader_infer,
    .open = fixed_reader_open,
    .compute = fixed_reader_compute,
};
