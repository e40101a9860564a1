/* The ops that the library brings along; the only file that names them.
 * To add one: its file in formats/, ops/ or images/ops/, its line here, its test. */
#include "registry/registry.h"

#define BUILTIN_OPS(X)                                                                             \
    X(mini_reader)                                                                                 \
    X(mindrecord_reader)                                                                           \
    X(arrow_reader)                                                                                \
    X(parquet_reader)                                                                              \
    X(mds_reader)                                                                                  \
    X(text_line_reader)                                                                            \
    X(json_lines_reader)                                                                           \
    X(csv_reader)                                                                                  \
    X(csv_cell_types)                                                                              \
    X(csv_encoder)                                                                                 \
    X(mini_decoder)                                                                                \
    X(affine)                                                                                      \
    X(tfrecord_reader)                                                                             \
    X(example_decoder)                                                                             \
    X(sequence_example_decoder)                                                                    \
    X(example_encoder)                                                                             \
    X(tfrecord_frame)                                                                              \
    X(cast)                                                                                        \
    X(concat)                                                                                      \
    X(decode_class)                                                                                \
    X(decode_npy)                                                                                  \
    X(decode_raw)                                                                                  \
    X(one_hot)                                                                                     \
    X(pad)                                                                                         \
    X(pad_batch)                                                                                   \
    X(record_encoder)                                                                              \
    X(row_length)                                                                                  \
    X(slice)                                                                                       \
    X(add_token)                                                                                   \
    X(sliding_window)                                                                              \
    X(to_number)                                                                                   \
    X(parse_date)                                                                                  \
    X(lookup)                                                                                      \
    X(hash_bucket)                                                                                 \
    X(fill_missing)                                                                                \
    X(bucketize)                                                                                   \
    X(truncate_pair)                                                                               \
    X(raw_reader)                                                                                  \
    X(npy_reader)                                                                                  \
    X(ofrecord_reader)                                                                             \
    X(ofrecord_raw_decoder)                                                                        \
    X(ofrecord_bytes_decoder)                                                                      \
    X(ofrecord_image_decoder)                                                                      \
    X(ofrecord_image_decoder_random_crop)                                                          \
    X(ofrecord_encoder)                                                                            \
    X(ofrecord_frame)                                                                              \
    X(idx_reader)                                                                                  \
    X(cifar_reader)                                                                                \
    X(onerec_reader)                                                                               \
    X(onerec_decoder)                                                                              \
    X(tar_reader)                                                                                  \
    X(megatron_reader)                                                                             \
    X(gpt_reader)                                                                                  \
    X(cache_reader)                                                                                \
    X(array_reader)                                                                                \
    X(arrow_table_reader)                                                                          \
    X(generator_reader)                                                                            \
    X(coco_reader)                                                                                 \
    X(image_folder_reader)                                                                         \
    X(manifest_reader)                                                                             \
    X(adjust_sharpness)                                                                            \
    X(auto_contrast)                                                                               \
    X(center_crop)                                                                                 \
    X(coin_flip)                                                                                   \
    X(color_jitter)                                                                                \
    X(crop_mirror_normalize)                                                                       \
    X(cut_mix)                                                                                     \
    X(equalize)                                                                                    \
    X(gaussian_blur)                                                                               \
    X(grayscale)                                                                                   \
    X(hwc2chw)                                                                                     \
    X(image_batch_align)                                                                           \
    X(image_decoder)                                                                               \
    X(image_encoder)                                                                               \
    X(image_flip)                                                                                  \
    X(image_normalize)                                                                             \
    X(image_pad)                                                                                   \
    X(image_random_crop)                                                                           \
    X(image_resize_keep_aspect_ratio)                                                              \
    X(image_resize_to_fixed)                                                                       \
    X(image_size)                                                                                  \
    X(image_target_resize)                                                                         \
    X(invert)                                                                                      \
    X(mix_up)                                                                                      \
    X(normalize)                                                                                   \
    X(object_bbox_flip)                                                                            \
    X(object_bbox_scale)                                                                           \
    X(object_segmentation_polygon_flip)                                                            \
    X(object_segmentation_polygon_scale)                                                           \
    X(object_segmentation_polygon_to_mask)                                                         \
    X(posterize)                                                                                   \
    X(rand_augment)                                                                                \
    X(random_affine)                                                                               \
    X(random_crop)                                                                                 \
    X(random_erasing)                                                                              \
    X(random_flip)                                                                                 \
    X(random_resized_crop)                                                                         \
    X(random_rotation)                                                                             \
    X(resize)                                                                                      \
    X(rotate)                                                                                      \
    X(size_ratio)                                                                                  \
    X(solarize)                                                                                    \
    X(trivial_augment)

#define DECLARE(op) extern const pfd_op pfd_op_##op;
BUILTIN_OPS(DECLARE)

#define ADDRESS(op) &pfd_op_##op,
const pfd_op *const pfd_builtin_ops[] = {BUILTIN_OPS(ADDRESS) NULL};
