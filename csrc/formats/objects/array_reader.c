/* ArrayReader: the rows of an array in the program's memory, which is not copied. */
#include "core/hash.h"
#include "core/op_shorthand.h"
#include "core/rows.h"
#include "core/tables.h"

#include <inttypes.h>
#include <stdlib.h>

typedef struct array_reader_attrs {
    int64_t array, splits;
    pfd_list_int64 shape;
    int32_t dtype;
} array_reader_attrs;

typedef struct array_source {
    const uint8_t *data;
    const int64_t *splits; /* NULL: each row is one unit */
    int64_t num_rows, unit_bytes;
    uint64_t fingerprint;
} array_source;

static int32_t is_ragged(const array_reader_attrs *attrs)
{
    return attrs->shape.size > 0 && attrs->shape.data[0] < 0;
}

/* Finds the type of a unit: a row if all rows have one size, else an element of its first
 * dimension. */
static pfd_status find_unit(const array_reader_attrs *attrs, pfd_row_type *out, pfd_error *err)
{
    pfd_list_int64 shape = attrs->shape;
    if (is_ragged(attrs)) {
        shape.data++;
        shape.size--;
    }
    return pfd_stored_row_type(attrs->dtype, shape, out, err);
}

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const array_reader_attrs *attrs = args->attrs;
    pfd_row_type unit, *out = &args->outputs[0];
    PFD_TRY(find_unit(attrs, &unit, err));
    *out = unit;
    if (!is_ragged(attrs)) return PFD_OK;
    out->shape[0] = -1;
    for (int32_t i = 0; i < unit.ndim; i++) out->shape[i + 1] = unit.shape[i];
    out->ndim++;
    return PFD_OK;
}

PFD_SOURCE_NUMBER(size_of, array_source, num_rows)

static pfd_status at(void *self, const int64_t *ordinals, int64_t n, pfd_scratch *scratch,
                     pfd_record *out, pfd_error *err)
{
    (void)scratch, (void)err;
    const array_source *array = self;
    const int64_t *splits = array->splits;
    for (int64_t i = 0; i < n; i++) {
        int64_t begin = splits ? splits[ordinals[i]] : ordinals[i];
        int64_t units = splits ? splits[ordinals[i] + 1] - begin : 1;
        out[i] = (pfd_record){.data = array->data + begin * array->unit_bytes,
                              .size = units * array->unit_bytes,
                              .offset = begin * array->unit_bytes,
                              .ordinal = ordinals[i]};
    }
    return PFD_OK;
}

static uint64_t fingerprint_of(void *self)
{
    return ((const array_source *)self)->fingerprint;
}

static const pfd_source_methods methods = {PFD_SIZE(pfd_source_methods), .close = free,
                                           .size = size_of, .at = at,
                                           .fingerprint = fingerprint_of};

static pfd_status check_array(const pfd_host *host, const array_reader_attrs *attrs,
                              const pfd_table *table, int64_t unit_bytes, pfd_error *err)
{
    int64_t bytes = table->count * pfd_dtype_size(table->dtype);
    if (table->dtype != attrs->dtype)
        return host->fail_attr(err, "array", NULL, PFD_INVALID_ARGUMENT, " has %s, not %s",
                               pfd_dtype_name(table->dtype), pfd_dtype_name(attrs->dtype));
    if (bytes % unit_bytes == 0) return PFD_OK;
    return host->fail_attr(err, "array", NULL, PFD_INVALID_ARGUMENT,
                           " has %" PRId64 " bytes, which are no rows of %" PRId64, bytes,
                           unit_bytes);
}

/* Checks the splits; the array has `units` units. */
static pfd_status check_splits(const pfd_host *host, const pfd_table *splits, int64_t units,
                               pfd_error *err)
{
    const int64_t *at = splits->data;
    int64_t n = splits->count;
    if (splits->dtype != PFD_INT64 || n < 1 || at[0] != 0 || at[n - 1] != units)
        return host->fail_attr(err, "splits", NULL, PFD_INVALID_ARGUMENT,
                               "; it must be int64, and go from 0 to %" PRId64 ", the length of "
                               "the array", units);
    for (int64_t i = 1; i < n; i++)
        if (at[i] < at[i - 1])
            return host->fail_attr(err, "splits", NULL, PFD_INVALID_ARGUMENT,
                                   " has %" PRId64 " after %" PRId64 "; they must not "
                                   "decrease", at[i],
                                   at[i - 1]);
    return PFD_OK;
}

static pfd_status find_table(const pfd_host *host, const char *attr, int64_t number,
                             pfd_table *out, pfd_error *err)
{
    if (pfd_table_find(number, out, err) == PFD_OK) return PFD_OK;
    return host->fail_attr(err, attr, NULL, PFD_INVALID_ARGUMENT,
                           " is not a Table; flow.from_arrays() makes a data set of arrays");
}

static pfd_status find_rows(const pfd_open_args *args, array_source *self, pfd_error *err)
{
    const array_reader_attrs *attrs = args->attrs;
    pfd_row_type unit;
    pfd_table table, splits;
    PFD_TRY(find_unit(attrs, &unit, err));
    PFD_TRY(find_table(args->host, "array", attrs->array, &table, err));
    int64_t bytes = pfd_stored_row_bytes(&unit);
    PFD_TRY(check_array(args->host, attrs, &table, bytes, err));
    int64_t units = table.count * pfd_dtype_size(table.dtype) / bytes;
    *self = (array_source){.data = table.data, .num_rows = units, .unit_bytes = bytes,
                           .fingerprint = table.fingerprint};
    if (!is_ragged(attrs)) return PFD_OK;
    PFD_TRY(find_table(args->host, "splits", attrs->splits, &splits, err));
    PFD_TRY(check_splits(args->host, &splits, units, err));
    self->splits = splits.data;
    self->num_rows = splits.count - 1;
    self->fingerprint = pfd_hash_word(table.fingerprint, splits.fingerprint);
    return PFD_OK;
}

static pfd_status open_source(const pfd_open_args *args, pfd_source *out, pfd_error *err)
{
    array_source found, *self;
    PFD_TRY(find_rows(args, &found, err));
    self = malloc(sizeof *self);
    if (!self) return args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for a reader");
    *self = found;
    return pfd_source_opened(PFD_OK, &methods, self, out);
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    pfd_tensor *out = args->outputs[0];
    if (!out->is_ragged) return pfd_copy_stored_rows(args, 0, 0, out, err);
    int64_t item = pfd_dtype_size(out->type.dtype);
    for (int64_t i = 0; i < args->num_rows; i++)
        pfd_set_row(args, 0, i, args->records[i].data, args->records[i].size / item);
    return PFD_OK;
}

static const pfd_attr attr_table[] = {
    PFD_ATTR_ROW(array_reader_attrs, array, PFD_ATTR_OBJECT, NULL, 0, 0, NULL,
                 "The elements of all rows, one row after another, as a Table."),
    PFD_ATTR_ROW(array_reader_attrs, splits, PFD_ATTR_OBJECT, NULL, 0, 0, NULL,
                 "The index at which each row begins in the first dimension of the array, and the "
                 "index at which the last row ends, as a Table of int64; not used if all rows have "
                 "one size."),
    PFD_RAGGED_SHAPE_ATTR(array_reader_attrs, shape, NULL,
                          "Shape of one row; empty for one number per record; -1 first where rows "
                          "differ in length."),
    PFD_DTYPE_ATTR(array_reader_attrs, dtype, NULL, NULL, "The dtype of the array."),
};

static const pfd_port outputs[] = {{"out", "The rows, with the dtype and shape of the attrs."}};

const pfd_op pfd_op_array_reader = {
    PFD_READER(0, outputs),
    .name = "ArrayReader",
    .doc = "Reads the rows of an array in memory, in any order. The array is not copied; it must "
           "not change while a loader reads it. flow.from_arrays() makes a data set of arrays.",
    PFD_OP_ATTRS(array_reader_attrs, attr_table),
};
