/* MixUp: each row's image and labels mixed with another row's. */
#include "core/convert.h"
#include "core/op_shorthand.h"
#include "images/ops/mixing.h"
#include "parse/row_type.h"

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    if (!pfd_dtype_is_float(args->inputs[0].dtype))
        return pfd_refuse_rows(args, 0, "x", "they must be floats: take Normalize or Cast before",
                               err);
    args->outputs[0] = args->inputs[0];
    args->outputs[1] = args->inputs[1];
    return pfd_check_labels(args, err);
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    pfd_mix_group group;
    (void)err;
    for (int64_t first = 0; first < args->num_rows; first += group.size) {
        group = pfd_mix_group_at(args, args->attrs, first);
        for (int64_t i = first; i < first + group.size; i++)
            for (int32_t port = 0; port < 2; port++)
                pfd_mix_row(args, port, i, pfd_mix_partner(&group, i), group.share);
    }
    return PFD_OK;
}

static const pfd_attr attr_table[] = {PFD_MIX_ATTRS};

static const pfd_port inputs[] = {
    {"x", "Rows of floats, of any one shape."},
    {"labels", "Vectors of floats, a number for each class, as OneHot makes them."},
};
static const pfd_port outputs[] = {
    {"x", "The mixtures, of the type of the input."},
    {"labels", "The mixtures of the labels, with the same shares."},
};

const pfd_op pfd_op_mix_up = {
    PFD_ROW_OP(PFD_WHOLE_BATCH, inputs, outputs),
    .name = "MixUp",
    .doc = "Replaces each row by share * row + (1 - share) * other row, and labels likewise. The "
           "share of a group is drawn from Beta(alpha, alpha), as in torchvision, which draws one "
           "share for a complete batch. " PFD_MIX_DOC,
    PFD_OP_ATTRS(pfd_mix_attrs, attr_table),
};
