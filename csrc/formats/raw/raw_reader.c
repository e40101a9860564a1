/* RawReader: flat binary files of rows of one size. */
#include "core/op_shorthand.h"
#include "core/rows.h"

typedef struct raw_reader_attrs {
    pfd_list_int64 shape;
    int32_t dtype, byte_order;
    int64_t header_bytes, footer_bytes;
} raw_reader_attrs;

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const raw_reader_attrs *attrs = args->attrs;
    return pfd_stored_row_type(attrs->dtype, attrs->shape, &args->outputs[0], err);
}

static pfd_status open_source(const pfd_open_args *args, pfd_source *out, pfd_error *err)
{
    const raw_reader_attrs *attrs = args->attrs;
    pfd_row_type row;
    PFD_TRY(pfd_stored_row_type(attrs->dtype, attrs->shape, &row, err));
    pfd_fixed_layout layout = {PFD_SIZE(pfd_fixed_layout), attrs->header_bytes,
                               pfd_stored_row_bytes(&row), attrs->footer_bytes};
    return args->host->open_fixed(args, &layout, out, err);
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    const raw_reader_attrs *attrs = args->attrs;
    int32_t swap = pfd_order_is_foreign(attrs->byte_order);
    return pfd_copy_stored_rows(args, 0, swap, args->outputs[0], err);
}

#define MOST_BYTES 9.007199254740992e15 /* 2^53 */

static const pfd_attr attr_table[] = {
    PFD_SHAPE_ATTR(raw_reader_attrs, shape, NULL,
                   "Shape of one row, for example \"3,32,32\"; empty for one number per record."),
    PFD_DTYPE_ATTR(raw_reader_attrs, dtype, "uint8", NULL,
                   "The dtype of the stored numbers; for bool, every byte other than 0 is true."),
    PFD_CHOICE_ATTR(raw_reader_attrs, byte_order, "little", "little|big",
                    "Which byte of a number is stored first: little: the lowest, as x86 and ARM "
                    "machines write numbers; big: the highest."),
    PFD_INT_ATTR(raw_reader_attrs, header_bytes, "0", 0, MOST_BYTES,
                 "How many bytes to skip at the beginning of each file."),
    PFD_INT_ATTR(raw_reader_attrs, footer_bytes, "0", 0, MOST_BYTES,
                 "How many bytes to skip at the end of each file."),
};

static const pfd_port outputs[] = {{"out", "The rows, with the dtype and shape of the attrs."}};

const pfd_op pfd_op_raw_reader = {
    PFD_READER(PFD_READS_FILES, outputs),
    .name = "RawReader",
    .aliases = "FixedLengthRecordReader",
    .doc = "Reads flat binary files of rows of one dtype and shape, back to back. "
           "numpy.ndarray.tofile() writes such files. Without its header and footer, each file "
           "must be a whole number of rows; otherwise opening fails. The place of a record is "
           "computed, so no index is needed.",
    PFD_OP_ATTRS(raw_reader_attrs, attr_table),
};
