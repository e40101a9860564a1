/* The header of the IDX format. */
#include "formats/idx/idx_header.h"

#include "core/bytes.h"
#include "files/file_hint.h"
#include "parse/words.h"

#include <inttypes.h>

int32_t pfd_idx_dtype(uint8_t code)
{
    switch (code) {
    case 0x08: return PFD_UINT8;
    case 0x09: return PFD_INT8;
    case 0x0b: return PFD_INT16;
    case 0x0c: return PFD_INT32;
    case 0x0d: return PFD_FLOAT32;
    case 0x0e: return PFD_FLOAT64;
    default: return 0;
    }
}

static pfd_status fail_magic(const pfd_host *host, const uint8_t *data, int64_t size,
                             pfd_error *err)
{
    char found[256], seems[100];
    const char *hint = pfd_looks_like_hint(host->looks_like(data, size, "idx"), "", seems,
                                           sizeof seems);
    return host->fail_row(err, -1, 0, PFD_CORRUPT_DATA,
                          "this is not an IDX file: it begins with %s%s; an IDX file begins with "
                          "two zeros, a code of its dtype (8, 9 or 11 to 14) and its number of "
                          "dimensions",
                          pfd_quote_bytes(data, size < 4 ? size : 4, found, sizeof found), hint);
}

pfd_status pfd_idx_header_read(const pfd_host *host, const uint8_t *data, int64_t size,
                               pfd_idx_header *out, pfd_error *err)
{
    *out = (pfd_idx_header){0};
    if (size < 4 || data[0] != 0 || data[1] != 0 || !pfd_idx_dtype(data[2]) || data[3] == 0)
        return fail_magic(host, data, size, err);
    int32_t ndim = data[3];
    out->row.dtype = pfd_idx_dtype(data[2]);
    out->row.ndim = ndim - 1;
    out->header_bytes = 4 + 4 * (int64_t)ndim;
    if (ndim > PFD_MAX_DIMS + 1)
        return host->fail_row(err, -1, 3, PFD_CORRUPT_DATA,
                              "the array has %" PRId32 " dimensions; at most %d can be read", ndim,
                              PFD_MAX_DIMS + 1);
    if (size < out->header_bytes)
        return host->fail_row(err, -1, size, PFD_CORRUPT_DATA,
                              "the file ends inside its header, after %" PRId64 " bytes of %" PRId64
                              "; is it truncated?",
                              size, out->header_bytes);
    for (int32_t i = 0; i < ndim; i++) {
        int64_t value = (int64_t)pfd_load_be(data + 4 + 4 * i, 4);
        if (i == 0)
            out->num_rows = value;
        else
            out->row.shape[i - 1] = value;
    }
    return PFD_OK;
}
