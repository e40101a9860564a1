/* The pairs of ops that are computed as one; see core/fusion.h. */
#include "core/fusion.h"
#include "registry/registry.h"

#define BUILTIN_FUSIONS(X)                                                                         \
    X(image_decoder, center_crop)                                                                  \
    X(image_decoder, image_random_crop)                                                            \
    X(image_decoder, random_crop)                                                                  \
    X(image_decoder, random_resized_crop)

#define DECLARE(first, second)                                                                     \
    extern const pfd_op pfd_op_##first, pfd_op_##second;                                           \
    pfd_status pfd_fused_##second(const pfd_compute_args *, const pfd_producer *, pfd_error *);
BUILTIN_FUSIONS(DECLARE)

#define ROW(first, second) {&pfd_op_##first, &pfd_op_##second, pfd_fused_##second},
const pfd_fusion pfd_builtin_fusions[] = {BUILTIN_FUSIONS(ROW){0}};
