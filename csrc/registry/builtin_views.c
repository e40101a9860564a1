/* The views that the library brings along; the only file that names them.
 * To add one: its file in views/, its line here, its test. */
#include "registry/registry.h"

#define BUILTIN_VIEWS(X)                                                                           \
    X(batch_dataset)                                                                               \
    X(bucket_dataset)                                                                              \
    X(class_sample_dataset)                                                                        \
    X(concat_dataset)                                                                              \
    X(enumerate_dataset)                                                                           \
    X(explode_dataset)                                                                             \
    X(flat_dataset)                                                                                \
    X(mix_dataset)                                                                                 \
    X(pack_dataset)                                                                                \
    X(repeat_dataset)                                                                              \
    X(repeat_factor_dataset)                                                                       \
    X(select_dataset)                                                                              \
    X(shuffle_dataset)                                                                             \
    X(skip_dataset)                                                                                \
    X(slice_dataset)                                                                               \
    X(split_dataset)                                                                               \
    X(take_dataset)                                                                                \
    X(weighted_sample_dataset)                                                                     \
    X(weighted_shuffle_dataset)                                                                    \
    X(window_dataset)                                                                              \
    X(zip_dataset)

#define DECLARE(view) extern const pfd_view_op pfd_view_##view;
BUILTIN_VIEWS(DECLARE)

#define ADDRESS(view) &pfd_view_##view,
const pfd_view_op *const pfd_builtin_views[] = {BUILTIN_VIEWS(ADDRESS) NULL};

const pfd_view_op *pfd_view_op_of(const pfd_registered_op *op)
{
    for (size_t i = 0; pfd_builtin_views[i]; i++)
        if (pfd_builtin_views[i]->op == op->author) return pfd_builtin_views[i];
    return NULL;
}
