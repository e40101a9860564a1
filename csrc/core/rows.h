/* core/rows.h -- rows of a blob one at a time, dense or ragged; copies of parts of arrays; rows of
 * numbers as files store them. */
#ifndef PFD_CORE_ROWS_H
#define PFD_CORE_ROWS_H
#include "pyflowdata/op.h"

/* ---- Rows of a tensor ------------------------------------------------------------------------ */

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

/* For a message: the offset of a place in row i's record or at its end; -1: the place is in the
 * output of an op. */
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

/* Makes all rows of a ragged output have this shape, which outlives the call, back to back in the
 * scratch.  NULL: out of memory. */
uint8_t *pfd_equal_rows_to_write(const pfd_compute_args *args, int32_t output,
                                 const int64_t *shape, int64_t *row_bytes);

/* Points ragged row i of an output at existing memory, which outlives the call.  0: out of memory,
 * and *err says so. */
int32_t pfd_row_points_at(const pfd_compute_args *args, int32_t output, int64_t i,
                          const void *data, const int64_t *shape, pfd_error *err);

/* ---- Parts of arrays, and padding ------------------------------------------------------------ */

/* Copies a box of runs: for every index below `counts` (each > 0 or nothing is copied) run_bytes
 * from `from` plus index times from_strides to `to` plus index times to_strides, in bytes. */
void pfd_copy_box(const uint8_t *from, const int64_t *from_strides, uint8_t *to,
                  const int64_t *to_strides, const int64_t *counts, int32_t ndim,
                  int64_t run_bytes);

/* n copies of an element. */
void pfd_fill(void *out, int64_t n, const void *element, int64_t element_bytes);

/* Writes an array of shape `in` into the corner of one of shape `out`, both C-contiguous; elements
 * outside `out` are dropped, and the rest of `out` is set to the element. */
void pfd_pad_array(const void *from, const int64_t *in, void *to, const int64_t *out, int32_t ndim,
                   const void *element, int64_t element_bytes);

/* infer() of an op whose outputs are padded rows, their mask, and the lengths of the rows: infers
 * the mask and the lengths from input 0 and output 0.  The mask has the dimensions up to the last
 * one that may be padded, at least one.  Fails unless the rows can hold the value. */
pfd_status pfd_infer_padding(const pfd_infer_args *args, double value, pfd_error *err);

/* Writes the mask of a padded array: true for its own elements. */
void pfd_pad_mask(const int64_t *in, uint8_t *mask, const int64_t *out, int32_t ndim);

/* ---- Rows as files store them ---------------------------------------------------------------- */

/* The choices of an attr byte_order, "little|big". */
#define PFD_ORDER_LITTLE 0
#define PFD_ORDER_BIG 1

/* Whether this byte order is not that of this machine. */
int32_t pfd_order_is_foreign(int32_t order);

/* The type of rows with these values of the attrs dtype and shape.  PFD_INVALID_ARGUMENT where a
 * row would have no bytes, or more than any machine has. */
pfd_status pfd_stored_row_type(int32_t dtype, pfd_list_int64 shape, pfd_row_type *out,
                               pfd_error *err);

/* Bytes of a row of a type from the function above. */
int64_t pfd_stored_row_bytes(const pfd_row_type *type);

/* Copies n numbers; `from` may lie anywhere, `to` is aligned.  With `swap` the bytes of each are
 * reversed.  A bool that is not 0 becomes 1. */
void pfd_copy_stored(void *to, const uint8_t *from, int64_t n, int32_t dtype, int32_t swap);

/* Makes the rows of a dense output: copies the bytes of each record from `offset` on.
 * PFD_CORRUPT_DATA, with the row, where a record is too short. */
pfd_status pfd_copy_stored_rows(const pfd_compute_args *args, int64_t offset, int32_t swap,
                                pfd_tensor *out, pfd_error *err);
#endif
