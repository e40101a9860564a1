/* The ops that the library brings along; the only file that names them.
 * To add one: its file in readers/ or decoders/, its line here, its test. */
#include "op/registry.h"

#define BUILTIN_OPS(X)                                                                             \
    X(mini_reader)                                                                                 \
    X(text_line_reader)                                                                            \
    X(csv_reader)                                                                                  \
    X(mini_decoder)                                                                                \
    X(affine)                                                                                      \
    X(cast)                                                                                        \
    X(concat)                                                                                      \
    X(decode_class)                                                                                \
    X(decode_npy)                                                                                  \
    X(decode_raw)                                                                                  \
    X(one_hot)                                                                                     \
    X(pad)                                                                                         \
    X(pad_batch)                                                                                   \
    X(slice)                                                                                       \
    X(raw_reader)                                                                                  \
    X(npy_reader)                                                                                  \
    X(generator_reader)

#define DECLARE(op) extern const pfd_op pfd_op_##op;
BUILTIN_OPS(DECLARE)

#define ADDRESS(op) &pfd_op_##op,
const pfd_op *const pfd_builtin_ops[] = {BUILTIN_OPS(ADDRESS) NULL};
