/* ManyPorts: as many inputs and outputs as the user gives and names. */
#include "pyflowdata/op.h"

#include <stdlib.h>
#include <string.h>

typedef struct many_ports {
    pfd_list_string outputs;
    double scale;
} many_ports;

#define ROW(owner, field, type, default_value, doc)                                                \
    PFD_ATTR_ROW(owner, field, type, default_value, 0, 0, NULL, doc)

static const pfd_attr many_ports_attrs[] = {
    ROW(many_ports, outputs, PFD_ATTR_LIST_STRING, NULL, "NAME=i: a copy of input number i."),
    ROW(many_ports, scale, PFD_ATTR_FLOAT64, "1", "What every number is multiplied by."),
};

static int64_t input_of(const char *element)
{
    const char *equals = strchr(element, '=');
    return equals ? strtoll(equals + 1, NULL, 10) : -1;
}

static pfd_status many_ports_infer(const pfd_infer_args *args, pfd_error *err)
{
    const many_ports *attrs = args->attrs;
    if (args->num_outputs != attrs->outputs.size)
        return args->host->fail(err, PFD_INTERNAL, "the host counts other outputs");
    for (int64_t i = 0; i < args->num_outputs; i++) {
        int64_t from = input_of(attrs->outputs.data[i]);
        if (from < 0 || from >= args->num_inputs || args->inputs[from].dtype != PFD_FLOAT64)
            return args->host->fail(err, PFD_INVALID_ARGUMENT,
                                    "attr 'outputs': %s is no input of float64",
                                    attrs->outputs.data[i]);
        args->outputs[i] = args->inputs[from];
    }
    return PFD_OK;
}

static pfd_status many_ports_compute(const pfd_compute_args *args, pfd_error *err)
{
    const many_ports *attrs = args->attrs;
    (void)err;
    for (int64_t i = 0; i < args->num_outputs; i++) {
        const pfd_tensor *in = args->inputs[input_of(attrs->outputs.data[i])];
        const double *from = (const void *)in->data;
        double *to = (void *)args->outputs[i]->data;
        int64_t n = args->num_rows * in->row_bytes / (int64_t)sizeof *to;
        for (int64_t k = 0; k < n; k++) to[k] = from[k] * attrs->scale;
    }
    return PFD_OK;
}

static const pfd_port many_ports_inputs[] = {{"in", "Rows of float64."}};
static const pfd_port many_ports_outputs[] = {{"out", "Copies of inputs."}};

const pfd_op pfd_op_many_ports = {
    PFD_OP_SIZES,
    .flags = PFD_MANY_INPUTS,
    .name = "ManyPorts",
    .doc = "Copies inputs to outputs.",
    .attrs = many_ports_attrs,
    .num_attrs = PFD_COUNT(many_ports_attrs),
    .attrs_struct_size = sizeof(many_ports),
    .inputs = many_ports_inputs,
    .num_inputs = PFD_COUNT(many_ports_inputs),
    .outputs = many_ports_outputs,
    .num_outputs = PFD_COUNT(many_ports_outputs),
    .infer = many_ports_infer,
    .compute = many_ports_compute,
    .outputs_attr = "outputs",
};
