/* The ops that the library brings along; the only file that names them.
 * To add one: its file in formats/ or ops/, its line here, its test. */
#include "registry/registry.h"

#define BUILTIN_OPS(X)                                                                             \
    X(mini_reader)                                                                                 \
    X(mindrecord_reader)                                                                          \
    X(mds_reader)                                                                                  \
    X(text_line_reader)                                                                            \
    X(csv_reader)                                                                                  \
    X(mini_decoder)                                                                                \
    X(affine)                                                                                      \
    X(tfrecord_reader)                                                                            \
    X(example_decoder)                                                                             \
    X(sequence_example_decoder)                                                                    \
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
    X(ofrecord_reader)                                                                            \
    X(ofrecord_raw_decoder)                                                                       \
    X(ofrecord_bytes_decoder)                                                                     \
    X(idx_reader)                                                                                  \
    X(cifar_reader)                                                                                \
    X(onerec_reader)                                                                              \
    X(onerec_decoder)                                                                             \
    X(tar_reader)                                                                                  \
    X(megatron_reader)                                                                             \
    X(gpt_reader)                                                                                  \
    X(generator_reader)                                                                            \
    X(coco_reader)                                                                                 \
    X(image_folder_reader)                                                                         \
    X(manifest_reader)

#define DECLARE(op) extern const pfd_op pfd_op_##op;
BUILTIN_OPS(DECLARE)

#define ADDRESS(op) &pfd_op_##op,
const pfd_op *const pfd_builtin_ops[] = {BUILTIN_OPS(ADDRESS) NULL};
