/* numbers_plugin.h -- the descriptor of a plugin over numbers.h; what is faulty is defined
 * before. */
#ifndef NUMBERS_INFER
#define NUMBERS_INFER numbers_infer
#endif
#ifndef NUMBERS_COMPUTE
#define NUMBERS_COMPUTE numbers_compute
#endif

static const pfd_attr numbers_attr_table[] = {
    PFD_FLOAT_ATTR(numbers_attrs, scale, "1", 0, 0, "What numbers are multiplied by."),
    PFD_BOOL_ATTR(numbers_attrs, is_clipped, "false", "Whether numbers above 100 become 100."),
    PFD_CHOICE_ATTR(numbers_attrs, mode, "plain", "plain|square|absolute", "What is computed."),
};
static const pfd_port numbers_inputs[] = {{"in", "Rows of numbers."}};
static const pfd_port numbers_outputs[] = {{"out", "Rows of numbers."}};

static const pfd_op numbers_op = {
    PFD_OP_SIZES,
    .name = "Numbers",
    .doc = "Computes with numbers.",
    PFD_OP_ATTRS(numbers_attrs, numbers_attr_table),
    PFD_OP_INPUTS(numbers_inputs),
    PFD_OP_OUTPUTS(numbers_outputs),
    .infer = NUMBERS_INFER,
    .compute = NUMBERS_COMPUTE,
};

PFD_PLUGIN("numbers", "1.0", &numbers_op)
