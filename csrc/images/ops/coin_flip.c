/* CoinFlip: 1 or 0 for each record, by chance. */
#include "core/op_shorthand.h"
#include "images/pixels/random_draws.h"

typedef struct coin_flip_attrs {
    double probability;
    int64_t batch_size; /* for the host */
} coin_flip_attrs;

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    (void)err;
    args->outputs[0] = (pfd_row_type){.dtype = PFD_INT8};
    return PFD_OK;
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    const coin_flip_attrs *attrs = args->attrs;
    (void)err;
    for (int64_t i = 0; i < args->num_rows; i++)
        args->outputs[0]->data[i] = (uint8_t)pfd_bernoulli(args, i, 0, attrs->probability);
    return PFD_OK;
}

static const pfd_attr attr_table[] = {
    PFD_FLOAT_ATTR(coin_flip_attrs, probability, "0.5", 0, 1, "Probability of a 1."),
    PFD_INT_ATTR(coin_flip_attrs, batch_size, "0", 0, 4294967296.0,
                 "The batch_size of the readers if there is no input; 0 if there is one."),
};

static const pfd_port inputs[] = {
    {"in", "Any blob of the batch, also ragged. It only tells which records there are; its values "
           "do not matter. Without this input the records are those of the loader's first reader."},
};
static const pfd_port outputs[] = {{"out", "int8 (), 1 or 0 for each record."}};

const pfd_op pfd_op_coin_flip = {
    PFD_ROW_OP(PFD_TAKES_RAGGED | PFD_OPTIONAL_INPUT, inputs, outputs),
    .name = "CoinFlip",
    .doc = "Draws 1 or 0 for each record, for example for the mirror of CropMirrorNormalize. The "
           "draw depends on seed, epoch, record and the name of the node; two nodes draw "
           "independently.",
    PFD_OP_ATTRS(coin_flip_attrs, attr_table),
    .batch_size_attr = "batch_size",
};
