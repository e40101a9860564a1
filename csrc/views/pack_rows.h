/* views/pack_rows.h -- the rows of packs: records one after another, and what tells them apart. */
#ifndef PFD_VIEWS_PACK_ROWS_H
#define PFD_VIEWS_PACK_ROWS_H
#include "dataset/view.h"

typedef struct pack_dataset_attrs {
    pfd_list_string fields;
    int64_t length, lengths, window;
    int32_t rule, longer, last;
    pfd_list_float64 padding;
} pack_dataset_attrs;

/* infer() and compute() of PackDataset. */
pfd_status pfd_pack_infer(const pfd_infer_args *args, pfd_error *err);
pfd_status pfd_pack_compute(const pfd_compute_args *args, pfd_error *err);
#endif
