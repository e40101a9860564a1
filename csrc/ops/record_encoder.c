/* RecordEncoder: the fields of a row as one record, as caches store it. */
#include "core/op_shorthand.h"
#include "sources/fields.h"

PFD_INFER_BYTES

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    for (int64_t row = 0; row < args->num_rows; row++) {
        int64_t bytes = 0;
        for (int64_t i = 0; i < args->num_inputs; i++)
            bytes += pfd_packed_field_bytes(args->inputs[i], row);
        uint8_t *record = args->host->alloc(args->scratch, bytes), *to = record;
        if (!record) return args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for a record");
        for (int64_t i = 0; i < args->num_inputs; i++)
            to = pfd_packed_field_write(args->inputs[i], row, to);
        args->outputs[0]->rows[row] = (pfd_ragged_row){.data = record, .num_elements = bytes};
    }
    return PFD_OK;
}

static const pfd_port inputs[] = {{"in", "The fields: any blobs of one reader or data set."}};
static const pfd_port outputs[] = {{"out", "The bytes of the record, a multiple of 8."}};

const pfd_op pfd_op_record_encoder = {
    PFD_ROW_OP(PFD_MANY_INPUTS | PFD_TAKES_RAGGED, inputs, outputs),
    .name = "RecordEncoder",
    .doc = "Encodes the fields of each row as one record of bytes, which CacheReader reads. "
           "Dataset.cache() uses this op.",
};
