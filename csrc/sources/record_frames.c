/* Puts frames around records. */
#include "sources/record_frames.h"

#include "parse/row_type.h"

pfd_status pfd_record_frames_infer(const pfd_infer_args *args, pfd_error *err)
{
    args->outputs[0] = (pfd_row_type){.dtype = PFD_UINT8, .ndim = 1, .shape = {-1}};
    return pfd_expect_bytes(args, err);
}

pfd_status pfd_record_frames_put(const pfd_compute_args *args, int64_t frame_bytes,
                                 pfd_put_frame put, pfd_error *err)
{
    int64_t total = args->num_rows * frame_bytes;
    for (int64_t row = 0; row < args->num_rows; row++)
        total += pfd_row_bytes(args->inputs[0], row).size;
    uint8_t *to = args->host->alloc(args->scratch, total);
    if (!to) return args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for records");
    for (int64_t row = 0; row < args->num_rows; row++) {
        uint8_t *begin = to;
        to = put(pfd_row_bytes(args->inputs[0], row), to);
        args->outputs[0]->rows[row] = (pfd_ragged_row){.data = begin, .num_elements = to - begin};
    }
    return PFD_OK;
}
