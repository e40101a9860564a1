/* The ops that the library brings along; the only file that names them.
 * To add one: its file in readers/ or decoders/, its line here, its test. */
#include "op/registry.h"

#define BUILTIN_OPS(X)                                                                             \
    X(mini_reader)                                                                                 \
    X(text_line_reader)                                                                            \
    X(csv_reader)                                                                                  \
    X(mini_decoder)                                                                                \
    X(affine)                                                                                      \
    X(tf_record_reader)                                                                            \
    X(example_decoder)                                                                             \
    X(sequence_example_decoder)

#define DECLARE(op) extern const pfd_op pfd_op_##op;
BUILTIN_OPS(DECLARE)

#define ADDRESS(op) &pfd_op_##op,
const pfd_op *const pfd_builtin_ops[] = {BUILTIN_OPS(ADDRESS) NULL};
