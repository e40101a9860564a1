/* core/rows.h -- rows of a blob one at a time, dense or ragged. */
#ifndef PFD_CORE_ROWS_H
#define PFD_CORE_ROWS_H
#include "pyflowdata/op.h"

/* One row.  `shape` has all its dimensions. */
typedef struct pfd_row {
    const uint8_t *data;
    int64_t num_elements;
    int64_t shape[PFD_MAX_DIMS];
} pfd_row;

/* A row of bytes. */
typedef struct pfd_bytes {
    const uint8_t *data;
    int64_t size;
} pfd_bytes;

/* Row i of an input whose rows are bytes, uint8 (None,) or uint8 (n,). */
static inline pfd_bytes pfd_row_bytes(const pfd_tensor *tensor, int64_t i)
{
    if (!tensor->is_ragged)
        return (pfd_bytes){tensor->data + i * tensor->row_bytes, tensor->row_bytes};
    return (pfd_bytes){tensor->rows[i].data, tensor->rows[i].num_elements};
}

/* For a message: the offset of a place in row i's record, whose end is included; -1: the place is
 * not in the record, but in the output of an op. */
int64_t pfd_place_in_record(const pfd_compute_args *args, int64_t i, const void *place);

/* Row i of a range. */
void pfd_row_at(const pfd_tensor *tensor, int64_t i, pfd_row *out);

/* Elements of a row of a type without varying dimensions. */
int64_t pfd_row_elements(const pfd_row_type *type);

int32_t pfd_is_ragged(const pfd_row_type *type);

/* The memory for row i of an output, which has this shape (dense rows ignore it): in the tensor, or
 * in the scratch. NULL: out of memory, and *err says so. */
void *pfd_row_to_write(const pfd_compute_args *args, int32_t output, int64_t i,
                       const int64_t *shape, pfd_error *err);

/* Points ragged row i of an output at existing memory, which outlives the call.  0: out of memory,
 * and *err says so. */
int32_t pfd_row_points_at(const pfd_compute_args *args, int32_t output, int64_t i,
                          const void *data, const int64_t *shape, pfd_error *err);
#endif
