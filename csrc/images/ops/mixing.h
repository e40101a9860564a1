/* images/ops/mixing.h -- mixtures of the rows of a batch, as MixUp and CutMix make them.
 *
 * Rows are mixed within groups of consecutive rows of the batch: each row with the row before it in
 * its group, the first row with the last. The draws of a group are those of the record of its first
 * row. So, if no rank cuts a group, the results do not depend on the number of ranks.
 */
#ifndef PFD_IMAGES_OPS_MIXING_H
#define PFD_IMAGES_OPS_MIXING_H
#include "pyflowdata/op.h"

typedef struct pfd_mix_attrs {
    double alpha, probability;
    int64_t group_size;
} pfd_mix_attrs;

/* The rows of the attr table, for a struct that begins with pfd_mix_attrs. */
#define PFD_MIX_ATTRS                                                                              \
    PFD_FLOAT_ATTR(pfd_mix_attrs, alpha, "1", 1e-3, 1e3,                                           \
                   "The share of a row in its mixture is drawn from Beta(alpha, alpha)."),         \
        PFD_FLOAT_ATTR(pfd_mix_attrs, probability, "1", 0, 1,                                      \
                       "The probability that the rows of a group are mixed, drawn for each "       \
                       "group."),                                                                  \
        PFD_INT_ATTR(pfd_mix_attrs, group_size, "2", 2, 1 << 20,                                   \
                     "The number of rows in a group, which share one draw. Each row is mixed "     \
                     "with the row before it, the first with the last. The remaining rows of a "   \
                     "rank are a smaller group.")

#define PFD_MIX_DOC                                                                                \
    "A group has consecutive rows. Results are the same for every number of ranks if each rank "   \
    "has a multiple of group_size rows of every batch: if batch_size is a multiple of world_size " \
    "* group_size, and last_batch is 'drop', 'pad' or 'wrap'. The draws depend on seed, epoch, "   \
    "the first record of the group and the name of the node."

/* A group of rows, and what was drawn for it. */
typedef struct pfd_mix_group {
    int64_t first, size;
    double share; /* the row's own part in its mixture; 1: rows do not change */
} pfd_mix_group;

/* Draws the group whose first row is `first`. Draws: 0, and from 1000 on. */
pfd_mix_group pfd_mix_group_at(const pfd_compute_args *args, const pfd_mix_attrs *attrs,
                               int64_t first);

/* The row to mix with row i of the group. */
int64_t pfd_mix_partner(const pfd_mix_group *group, int64_t i);

/* Makes row i of an output: share * row i + (1 - share) * row `other` of an input of the same float
 * type. Products and sum are rounded one after the other: to float64 for float64, else to float32;
 * floats of 16 bits are rounded once more. */
void pfd_mix_row(const pfd_compute_args *args, int32_t port, int64_t i, int64_t other,
                 double share);

/* Fails unless input 1 is `labels`, vectors of floats. */
pfd_status pfd_check_labels(const pfd_infer_args *args, pfd_error *err);
#endif
