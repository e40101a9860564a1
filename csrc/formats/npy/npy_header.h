/* formats/npy/npy_header.h -- the header of NumPy's .npy format, versions 1 to 3.
 *
 * ERRORS   err->byte is the offset in `data`.  PFD_CORRUPT_DATA: the bytes are not a header, or the
 *          array cannot be rows of numbers, which may come from damage, too.
 * THREADS  Pure functions.
 */
#ifndef PFD_FORMATS_NPY_NPY_HEADER_H
#define PFD_FORMATS_NPY_NPY_HEADER_H
#include "pyflowdata/op.h"

enum {
    PFD_NPY_PREFIX_BYTES = 12, /* enough to know how long the header is */
    PFD_NPY_MAX_DIMS = PFD_MAX_DIMS + 1
};

typedef struct pfd_npy_header {
    int64_t header_bytes; /* the array's numbers begin here */
    int32_t dtype;        /* PFD_BOOL ... */
    int32_t byte_order;   /* PFD_ORDER_* of core/rows.h; little for a dtype of one byte */
    int32_t is_fortran;   /* the first index changes fastest; 0 if C order is the same */
    int32_t ndim;
    int64_t shape[PFD_NPY_MAX_DIMS];
    int64_t num_bytes; /* of the numbers */
} pfd_npy_header;

/* Finds the size of the header.  `data` is the first PFD_NPY_PREFIX_BYTES or more of the file,
 * or all of a shorter file. */
pfd_status pfd_npy_header_size(const pfd_host *host, const uint8_t *data, int64_t size,
                               int64_t *bytes, pfd_error *err);

/* Reads the header at the beginning of `data`; the bytes after it are ignored. */
pfd_status pfd_npy_header_read(const pfd_host *host, const uint8_t *data, int64_t size,
                               pfd_npy_header *out, pfd_error *err);
#endif
