/* box_cpp.h -- the descriptor of an op in C++ over rows of float64, of which compute() is defined
 * before. */
static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const pfd_row_type &in = args->inputs[0];
    if (in.dtype != PFD_FLOAT64 || in.ndim != 1 || in.shape[0] < 1)
        return args->host->fail(err, PFD_INVALID_ARGUMENT, "in must be rows of some float64");
    args->outputs[0] = in;
    return PFD_OK;
}

static const pfd_port inputs[] = {{"in", "Rows of float64."}};
static const pfd_port outputs[] = {{"out", "Rows of the same type."}};

static pfd_op make_op()
{
    pfd_op op = pfd_op();
    op.struct_size = sizeof(pfd_op);
    op.attr_size = sizeof(pfd_attr);
    op.port_size = sizeof(pfd_port);
    op.name = "CppOp";
    op.doc = "Computes rows.";
    op.inputs = inputs;
    op.num_inputs = PFD_COUNT(inputs);
    op.outputs = outputs;
    op.num_outputs = PFD_COUNT(outputs);
    op.infer = infer;
    op.compute = compute;
    return op;
}

static const pfd_op op = make_op();
PFD_PLUGIN("cpp", "1.0", &op)
