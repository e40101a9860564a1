/* core/op_shorthand.h -- what most files of ops would write alike: members of descriptors, simple
 * functions, the end of an open(). */
#ifndef PFD_CORE_OP_SHORTHAND_H
#define PFD_CORE_OP_SHORTHAND_H
#include "pyflowdata/op.h"

/* ---- Descriptors ----------------------------------------------------------------------------- */

/* The members of an op that makes rows of rows with infer() and compute() of its file. */
#define PFD_ROW_OP(op_flags, ins, outs)                                                            \
    PFD_OP_SIZES, .flags = (op_flags), PFD_OP_INPUTS(ins), PFD_OP_OUTPUTS(outs), .infer = infer,   \
                  .compute = compute

/* The members of a reader with infer(), open_source() and compute() of its file. */
#define PFD_READER(op_flags, outs)                                                                 \
    PFD_OP_SIZES, .flags = (op_flags), PFD_OP_OUTPUTS(outs), .infer = infer, .open = open_source,  \
                  .compute = compute

/* ---- Functions ------------------------------------------------------------------------------- */

/* Defines infer() of an op whose only output is bytes, of any number in a row. */
#define PFD_INFER_BYTES                                                                            \
    static pfd_status infer(const pfd_infer_args *args, pfd_error *err)                            \
    {                                                                                              \
        (void)err;                                                                                 \
        args->outputs[0] = (pfd_row_type){.dtype = PFD_UINT8, .ndim = 1, .shape = {-1}};           \
        return PFD_OK;                                                                             \
    }

/* same_without() of an op that makes each output by itself. */
static inline int32_t pfd_always_same(const pfd_host *host, const void *attrs, const void *fewer)
{
    (void)host;
    (void)attrs;
    (void)fewer;
    return 1;
}

/* Defines compute() of an op that makes each row by itself:
 * pfd_status make_row(const pfd_compute_args *args, int64_t i, pfd_error *err). */
#define PFD_COMPUTE_EACH_ROW(make_row)                                                             \
    static pfd_status compute(const pfd_compute_args *args, pfd_error *err)                        \
    {                                                                                              \
        for (int64_t i = 0; i < args->num_rows; i++) PFD_TRY(make_row(args, i, err));              \
        return PFD_OK;                                                                             \
    }

/* Defines compute() of a reader whose rows are the bytes of its records. */
#define PFD_COMPUTE_BYTES                                                                          \
    static pfd_status compute(const pfd_compute_args *args, pfd_error *err)                        \
    {                                                                                              \
        (void)err;                                                                                 \
        for (int64_t i = 0; i < args->num_rows; i++)                                               \
            pfd_set_row(args, 0, i, args->records[i].data, args->records[i].size);                 \
        return PFD_OK;                                                                             \
    }

/* Defines open_source() of a reader whose records are frames that the function `find` finds. */
#define PFD_OPEN_FRAMES(find)                                                                      \
    static pfd_status open_source(const pfd_open_args *args, pfd_source *out, pfd_error *err)      \
    {                                                                                              \
        static const pfd_framing framing = {PFD_SIZE(pfd_framing), .frame = (find)};               \
        return args->host->open_frames(args, &framing, out, err);                                  \
    }

/* Defines a method of a source, a struct `owner`, that returns a number of it. */
#define PFD_SOURCE_NUMBER(method, owner, number)                                                   \
    static int64_t method(void *source)                                                            \
    {                                                                                              \
        return ((const owner *)source)->number;                                                    \
    }

/* Points ragged row i of an output at n elements, which outlive the call. */
static inline void pfd_set_row(const pfd_compute_args *args, int32_t output, int64_t i,
                               const void *data, int64_t n)
{
    args->outputs[output]->rows[i] = (pfd_ragged_row){.data = data, .num_elements = n};
}

/* Passes a status on; a failure is one of row i. */
static inline pfd_status pfd_in_row(pfd_status status, int64_t i, pfd_error *err)
{
    if (status != PFD_OK) err->row = i;
    return status;
}

/* The end of open(): *out gets the source; if `status` is a failure, the source is closed. */
static inline pfd_status pfd_source_opened(pfd_status status, const pfd_source_methods *methods,
                                           void *self, pfd_source *out)
{
    if (status != PFD_OK) {
        methods->close(self);
        return status;
    }
    out->methods = methods;
    out->self = self;
    return PFD_OK;
}
#endif
