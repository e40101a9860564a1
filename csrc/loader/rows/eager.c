/* An op for rows of the program: attrs and types checked once, for any number of calls. */
#include "loader/rows/eager.h"

#include "core/error.h"

#include <stdlib.h>

static pfd_status make_tensors(pfd_eager *eager, const pfd_row_type *inputs, pfd_error *err)
{
    const pfd_op *op = eager->node->op->op;
    uint32_t ports = op->num_inputs + op->num_outputs;
    eager->tensors = calloc(ports, sizeof *eager->tensors);
    if (!eager->tensors)
        return pfd_fail_memory(err, ports * (int64_t)sizeof *eager->tensors, "an op's types");
    pfd_plan_tensor *tensor = eager->tensors;
    for (uint32_t i = 0; i < op->num_inputs; i++)
        *tensor++ = pfd_plan_tensor_of(&inputs[i], op->inputs[i].name);
    for (uint32_t i = 0; i < op->num_outputs; i++)
        *tensor++ = pfd_plan_tensor_of(&eager->node->outputs[i], op->outputs[i].name);
    return PFD_OK;
}

pfd_status pfd_eager_create(const char *op, const char *name, const pfd_attr_value *values,
                            int64_t num_values, const pfd_row_type *inputs, int64_t num_inputs,
                            pfd_eager **out, pfd_error *err)
{
    pfd_eager *eager = calloc(1, sizeof *eager);
    if (!eager) return pfd_fail_memory(err, sizeof *eager, "an op");
    pfd_status status = pfd_node_create_on_rows(op, name, values, num_values, inputs, num_inputs,
                                                &eager->node, err);
    if (status == PFD_OK) status = make_tensors(eager, inputs, err);
    if (status == PFD_OK)
        *out = eager;
    else
        pfd_eager_release(eager);
    return status;
}

void pfd_eager_release(pfd_eager *eager)
{
    if (!eager) return;
    free(eager->tensors);
    pfd_node_release(eager->node);
    free(eager);
}

const pfd_op *pfd_eager_op(const pfd_eager *eager)
{
    return eager->node->op->public_op;
}

const pfd_row_type *pfd_eager_outputs(const pfd_eager *eager)
{
    return eager->node->outputs;
}
