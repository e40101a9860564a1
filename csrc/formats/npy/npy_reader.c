/* NpyReader: reads .npy files; each row of the array is a record. */
#include "core/error.h"
#include "core/op_shorthand.h"
#include "core/rows.h"
#include "files/file_hint.h"
#include "formats/npy/npy_header.h"
#include "parse/row_type.h"
#include "pyflowdata/pyflowdata.h"
#include "sources/fixed.h"
#include "sources/wrapped_source.h"

#include <inttypes.h>
#include <string.h>

typedef struct npy_reader_attrs {
    pfd_list_int64 shape;
    int32_t dtype, byte_order;
} npy_reader_attrs;

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const npy_reader_attrs *attrs = args->attrs;
    return pfd_stored_row_type(attrs->dtype, attrs->shape, &args->outputs[0], err);
}

static pfd_status read_header(const pfd_host *host, const pfd_file *file, pfd_scratch *scratch,
                              pfd_npy_header *header, pfd_error *err)
{
    int64_t bytes, first = file->size < PFD_HINT_BYTES ? file->size : PFD_HINT_BYTES;
    const uint8_t *data;
    PFD_TRY(host->read(file, 0, first, scratch, &data, err));
    pfd_status status = pfd_npy_header_size(host, data, first, &bytes, err);
    if (status == PFD_OK) {
        if (bytes > file->size) bytes = file->size;
        PFD_TRY(host->read(file, 0, bytes, scratch, &data, err));
        status = pfd_npy_header_read(host, data, bytes, header, err);
    }
    if (status != PFD_OK) {
        pfd_error_set_file(err, file->path);
        return status;
    }
    if (header->ndim == 0)
        return host->fail_file(err, file, 0, PFD_CORRUPT_DATA,
                               "the array has no axis: it is a single number, not rows");
    if (header->is_fortran)
        return host->fail_file(err, file, 0, PFD_CORRUPT_DATA,
                               "the array is stored in Fortran order, in which rows are not "
                               "contiguous; save numpy.ascontiguousarray(a)");
    return PFD_OK;
}

static pfd_status propose(const pfd_propose_args *args, pfd_error *err)
{
    const pfd_file *file;
    pfd_npy_header header;
    PFD_TRY(args->open(args->found, 0, &file, err));
    PFD_TRY(read_header(args->host, file, args->scratch, &header, err));
    PFD_TRY(args->set_int(args->found, "dtype", header.dtype, err));
    PFD_TRY(args->set_ints(args->found, "shape", header.shape + 1, header.ndim - 1, err));
    return args->set_int(args->found, "byte_order", header.byte_order, err);
}

/* ---- Open: every header says what the attrs say ---------------------------------------------- */

static const char *order_name(const pfd_row_type *row, int32_t order)
{
    if (pfd_dtype_size(row->dtype) == 1) return "";
    return order == PFD_ORDER_BIG ? ", big-endian" : ", little-endian";
}

static pfd_status check_row(const pfd_host *host, const npy_reader_attrs *attrs,
                            const pfd_row_type *expected, const pfd_file *file,
                            const pfd_npy_header *header, pfd_error *err)
{
    pfd_row_type found = {.dtype = header->dtype, .ndim = header->ndim - 1};
    size_t dims = (size_t)found.ndim * sizeof found.shape[0];
    memcpy(found.shape, header->shape + 1, dims);
    if (found.dtype == expected->dtype && found.ndim == expected->ndim &&
        memcmp(found.shape, expected->shape, dims) == 0 &&
        (header->byte_order == attrs->byte_order || pfd_dtype_size(found.dtype) == 1))
        return PFD_OK;
    char one[256], other[256];
    return host->fail_file(
        err, file, 0, PFD_CORRUPT_DATA,
        "the rows of this array are %s%s, but the attrs dtype, shape and byte_order say %s%s",
        pfd_format_row_type(&found, one, sizeof one), order_name(&found, header->byte_order),
        pfd_format_row_type(expected, other, sizeof other),
        order_name(expected, attrs->byte_order));
}

static pfd_status check_size(const pfd_host *host, const pfd_file *file,
                             const pfd_npy_header *header, pfd_error *err)
{
    int64_t there = file->size - header->header_bytes;
    if (there == header->num_bytes) return PFD_OK;
    if (there < header->num_bytes)
        return host->fail_file(err, file, file->size, PFD_CORRUPT_DATA,
                               "the file ends here: the array has %" PRId64 " bytes, but the file "
                               "only has %" PRId64 " of them; is it truncated?",
                               header->num_bytes, there);
    return host->fail_file(err, file, header->header_bytes + header->num_bytes, PFD_CORRUPT_DATA,
                           "the array ends here, and %" PRId64
                           " bytes follow; several arrays in one file cannot be read",
                           there - header->num_bytes);
}

static pfd_status open_arrays(const pfd_open_args *args, pfd_source *out, pfd_error *err)
{
    const pfd_file *const *files = args->files;
    const npy_reader_attrs *attrs = args->attrs;
    pfd_row_type row;
    PFD_TRY(pfd_stored_row_type(attrs->dtype, attrs->shape, &row, err));
    int64_t n = args->num_files, bytes = n * (int64_t)sizeof(pfd_fixed_layout);
    pfd_fixed_layout *layouts = args->host->alloc(args->scratch, bytes);
    if (!layouts)
        return args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for the layouts of the files");
    for (int64_t i = 0; i < n; i++) {
        pfd_npy_header header;
        PFD_TRY(read_header(args->host, files[i], args->scratch, &header, err));
        PFD_TRY(check_row(args->host, attrs, &row, files[i], &header, err));
        PFD_TRY(check_size(args->host, files[i], &header, err));
        layouts[i] = (pfd_fixed_layout){PFD_SIZE(pfd_fixed_layout), header.header_bytes,
                                        pfd_stored_row_bytes(&row), 0};
    }
    return pfd_fixed_open_each(files, layouts, n, out, err);
}

static pfd_status open_source(const pfd_open_args *args, pfd_source *out, pfd_error *err)
{
    return pfd_open_inflated(args, open_arrays, out, err);
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    const npy_reader_attrs *attrs = args->attrs;
    int32_t swap = pfd_order_is_foreign(attrs->byte_order);
    return pfd_copy_stored_rows(args, 0, swap, args->outputs[0], err);
}

static const pfd_attr attr_table[] = {
    PFD_FOUND_ATTR_ROW(npy_reader_attrs, dtype, PFD_ATTR_DTYPE, NULL, 0, 0, NULL,
                       "The dtype of the arrays, the same in every file. In an array of bools, "
                       "every byte other than 0 is true."),
    PFD_FOUND_ATTR_ROW(npy_reader_attrs, shape, PFD_ATTR_SHAPE, NULL, 0, 0, NULL,
                       "Shape of one row: the shape of the array without its first axis, the same "
                       "in every file."),
    PFD_FOUND_ATTR_ROW(npy_reader_attrs, byte_order, PFD_ATTR_CHOICE, NULL, 0, 0, "little|big",
                       "Which byte of a number is stored first, the same in every file."),
};

static const pfd_port outputs[] = {
    {"out", "The rows of the arrays, with the dtype and shape of the attrs."},
};

const pfd_op pfd_op_npy_reader = {
    PFD_READER(PFD_READS_FILES, outputs),
    .name = "NpyReader",
    .doc = "Reads .npy files of NumPy along their first axis: a record is array[i]. "
           "The arrays have numbers or bools, are in C order, and have one dtype and row shape; "
           "their lengths may differ. Attrs that are left out are inferred from the header of the "
           "first file; each header is checked against the attrs when the loader opens. The place "
           "of a record is computed, so no index is needed. Compressed files are decompressed into "
           "memory as a whole.",
    PFD_OP_ATTRS(npy_reader_attrs, attr_table),
    .propose = propose,
};
