/* formats/idx/idx_header.h -- the header of the IDX format of MNIST's files.
 *
 * Two zeros, a dtype, a number of dimensions, then the dimensions as 32-bit numbers; all numbers of
 * the file are big-endian.
 * ERRORS   err->byte is the offset in `data`.
 * THREADS  Pure functions.
 */
#ifndef PFD_FORMATS_IDX_IDX_HEADER_H
#define PFD_FORMATS_IDX_IDX_HEADER_H
#include "pyflowdata/op.h"

enum { PFD_IDX_MAX_HEADER_BYTES = 4 + 4 * (PFD_MAX_DIMS + 1) };

typedef struct pfd_idx_header {
    int64_t header_bytes; /* the numbers begin here */
    int64_t num_rows;     /* the first dimension */
    pfd_row_type row;
} pfd_idx_header;

/* The dtype (PFD_UINT8 ...) of a code in a header; 0: the code is unknown. */
int32_t pfd_idx_dtype(uint8_t code);
#define PFD_IDX_DTYPES "uint8|int8|int16|int32|float32|float64"

/* Reads a header.  `data` is the first PFD_IDX_MAX_HEADER_BYTES or more of the file, or all of a
 * shorter file. */
pfd_status pfd_idx_header_read(const pfd_host *host, const uint8_t *data, int64_t size,
                               pfd_idx_header *out, pfd_error *err);
#endif
