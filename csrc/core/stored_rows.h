/* core/stored_rows.h -- rows of numbers as files store them: their size, and copies of them.
 *
 * THREADS  Everything here may be called from any thread.
 */
#ifndef PFD_CORE_STORED_ROWS_H
#define PFD_CORE_STORED_ROWS_H
#include "pyflowdata/op.h"

/* The choices of an attr byte_order, "little|big". */
#define PFD_ORDER_LITTLE 0
#define PFD_ORDER_BIG 1

/* Whether numbers in this order have their bytes the other way round than this machine's. */
int32_t pfd_order_is_foreign(int32_t order);

/* The row type that the attrs `dtype` and `shape` say.  PFD_INVALID_ARGUMENT where a row would have
 * no bytes, or more than any machine has. */
pfd_status pfd_stored_row_type(int32_t dtype, pfd_list_int64 shape, pfd_row_type *out,
                               pfd_error *err);

/* Bytes of a row of a type from the function above. */
int64_t pfd_stored_row_bytes(const pfd_row_type *type);

/* n numbers; `from` may lie anywhere, `to` is aligned.  With `swap` each has its bytes reversed.
 * A bool that is not 0 becomes 1. */
void pfd_copy_stored(void *to, const uint8_t *from, int64_t n, int32_t dtype, int32_t swap);

/* The rows of a dense output: of each record the bytes from `offset` on.  PFD_CORRUPT_DATA, with
 * the row, where a record is too short. */
pfd_status pfd_copy_stored_rows(const pfd_compute_args *args, int64_t offset, int32_t swap,
                                pfd_tensor *out, pfd_error *err);
#endif
