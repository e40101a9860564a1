/* Rows as messages of features.  The sizes of a range are found first, so that each message is
 * written once, into one piece of memory for all rows.  What stands in front of the values of a
 * feature, its head, depends on their size only; it is kept until the size changes. */
#include "sources/feature_message.h"

#include "core/narrow_floats.h"
#include "core/rows.h"
#include "parse/wire.h"
#include "parse/words.h"
#include "pyflowdata/pyflowdata.h"

#include <inttypes.h>
#include <string.h>

enum {
    BYTES = 1, /* the field of the list of bytes */
    MOST_HEAD = 64, /* bytes of the head of a feature, besides its name */
    PIECE = 16      /* bytes of a head that are copied at once, up to the end of the last piece */
};

typedef struct feature {
    const pfd_tensor *rows;
    const char *name;
    int64_t name_size;
    uint32_t list;
    int32_t dtype;
    int64_t elements; /* elements of a dense row */
    int64_t fixed;    /* the size of the values of every row; -1: it varies */
    int64_t head_of;  /* the size of the values for which `head` is; -1: none yet */
    int64_t head_size;
    int64_t entry; /* bytes of head and values */
    int64_t next;  /* number of the next feature with values that vary in size */
    uint8_t *head;
} feature;

/* ---- Types ----------------------------------------------------------------------------------- */

static pfd_status check_type(const pfd_infer_args *args, const pfd_feature_kinds *kinds,
                             const char *name, int32_t dtype, pfd_error *err)
{
    if (kinds->list[dtype]) return PFD_OK;
    return args->host->fail(err, PFD_INVALID_ARGUMENT, "%s is of %s, which %s cannot hold%s", name,
                            pfd_dtype_name(dtype), kinds->message,
                            dtype == PFD_FLOAT64 ? "; Cast(dtype='float32') makes it one that is"
                                                 : "");
}

/* Names must differ, and be text. */
static pfd_status check_names(const pfd_infer_args *args, const pfd_list_string *names,
                              pfd_error *err)
{
    char text[256];
    for (int64_t i = 0; i < names->size; i++) {
        const char *name = names->data[i];
        int64_t size = (int64_t)strlen(name);
        if (size == 0)
            return args->host->fail_attr(err, "names", NULL, PFD_INVALID_ARGUMENT,
                                         ": the name of input %" PRId64 " is empty", i);
        if (!pfd_is_utf8((const uint8_t *)name, size))
            return args->host->fail_attr(
                err, "names", NULL, PFD_INVALID_ARGUMENT,
                "has '%s', which is not UTF-8, as the names of features are",
                pfd_quote_bytes((const uint8_t *)name, size, text, sizeof text));
        for (int64_t j = 0; j < i; j++)
            if (!strcmp(names->data[j], name))
                return args->host->fail_attr(err, "names", NULL, PFD_INVALID_ARGUMENT,
                                             "has '%s' twice; each input needs its own name",
                                             name);
    }
    return PFD_OK;
}

const pfd_attr pfd_feature_message_table[1] = {
    PFD_STRINGS_ATTR(pfd_feature_message_attrs, names, NULL,
                     "The name of the feature that each input becomes, in their order."),
};

pfd_status pfd_feature_message_infer(const pfd_infer_args *args, const pfd_feature_kinds *kinds,
                                     pfd_error *err)
{
    const pfd_list_string *names = &((const pfd_feature_message_attrs *)args->attrs)->names;
    if (names->size != args->num_inputs)
        return args->host->fail_attr(err, "names", NULL, PFD_INVALID_ARGUMENT,
                                     "has %" PRId64 " names, and there are %" PRId64
                                     " inputs; each needs one",
                                     names->size, args->num_inputs);
    PFD_TRY(check_names(args, names, err));
    for (int64_t i = 0; i < args->num_inputs; i++)
        PFD_TRY(check_type(args, kinds, names->data[i], args->inputs[i].dtype, err));
    args->outputs[0] = (pfd_row_type){.dtype = PFD_UINT8, .ndim = 1, .shape = {-1}};
    return PFD_OK;
}

/* ---- Values ---------------------------------------------------------------------------------- */

static const uint8_t *row_data(const feature *f, int64_t row, int64_t *elements)
{
    if (!f->rows->is_ragged) {
        *elements = f->elements;
        return f->rows->data + row * f->rows->row_bytes;
    }
    *elements = f->rows->rows[row].num_elements;
    return f->rows->rows[row].data;
}

/* The integers, by dtype: negative ones as two's complement of 64 bits. */
#define EACH_INTEGER(X)                                                                            \
    X(PFD_BOOL, uint8_t)                                                                           \
    X(PFD_INT8, int8_t)                                                                            \
    X(PFD_INT16, int16_t)                                                                          \
    X(PFD_UINT16, uint16_t)                                                                        \
    X(PFD_INT32, int32_t)                                                                          \
    X(PFD_UINT32, uint32_t)                                                                        \
    X(PFD_INT64, int64_t)                                                                          \
    X(PFD_UINT64, uint64_t)

static int64_t varints_bytes(int32_t dtype, const void *data, int64_t n)
{
    int64_t bytes = 0;
    switch (dtype) {
#define CASE(number, type)                                                                         \
    case number:                                                                                   \
        for (int64_t i = 0; i < n; i++)                                                            \
            bytes += pfd_varint_bytes((uint64_t)(int64_t)((const type *)data)[i]);                 \
        break;
        EACH_INTEGER(CASE)
#undef CASE
    default: break;
    }
    return bytes;
}

static uint8_t *put_varints(int32_t dtype, const void *data, int64_t n, uint8_t *to)
{
    switch (dtype) {
#define CASE(number, type)                                                                         \
    case number:                                                                                   \
        for (int64_t i = 0; i < n; i++)                                                            \
            to = pfd_put_varint((uint64_t)(int64_t)((const type *)data)[i], to);                   \
        break;
        EACH_INTEGER(CASE)
#undef CASE
    default: break;
    }
    return to;
}

/* Floats in the byte order of files. */
static uint8_t *put_floats(const uint8_t *data, int64_t n, int64_t size, uint8_t *to)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    for (int64_t i = 0; i < n; i++)
        for (int64_t byte = 0; byte < size; byte++)
            to[i * size + byte] = data[(i + 1) * size - 1 - byte];
#else
    if (n) memcpy(to, data, (size_t)(n * size));
#endif
    return to + n * size;
}

/* A few at a time: the halves may be anywhere in the message. */
static uint8_t *put_halves(int32_t dtype, const uint16_t *data, int64_t n, uint8_t *to)
{
    float wide[64];
    for (int64_t begin = 0; begin < n; begin += 64) {
        int64_t part = n - begin < 64 ? n - begin : 64;
        pfd_narrow_to_float32(dtype, data + begin, wide, part);
        to = put_floats((const uint8_t *)wide, part, sizeof *wide, to);
    }
    return to;
}

/* Bytes of each value in a message; 0: they vary, as it is a varint. */
static int64_t value_bytes(int32_t dtype)
{
    switch (dtype) {
    case PFD_UINT8: return 1;
    case PFD_FLOAT16:
    case PFD_BFLOAT16:
    case PFD_FLOAT32: return 4;
    case PFD_FLOAT64: return 8;
    default: return 0;
    }
}

static int64_t values_bytes(const feature *f, int64_t row)
{
    int64_t n, each = value_bytes(f->dtype);
    const uint8_t *data = row_data(f, row, &n);
    return each ? n * each : varints_bytes(f->dtype, data, n);
}

static uint8_t *put_values(const feature *f, int64_t row, uint8_t *to)
{
    int64_t n;
    const uint8_t *data = row_data(f, row, &n);
    if (f->dtype == PFD_FLOAT32 && n == 1) return put_floats(data, 1, 4, to);
    switch (f->dtype) {
    case PFD_UINT8: return put_floats(data, n, 1, to);
    case PFD_FLOAT16:
    case PFD_BFLOAT16: return put_halves(f->dtype, (const void *)data, n, to);
    case PFD_FLOAT32: return put_floats(data, n, 4, to);
    case PFD_FLOAT64: return put_floats(data, n, 8, to);
    default: return put_varints(f->dtype, data, n, to);
    }
}

static pfd_status check_range(const pfd_compute_args *args, const feature *f, int64_t row,
                              pfd_error *err)
{
    int64_t n;
    const uint64_t *values = (const void *)row_data(f, row, &n);
    for (int64_t i = 0; i < n; i++)
        if (values[i] > INT64_MAX)
            return args->host->fail_row(err, row, -1, PFD_INVALID_ARGUMENT,
                                        "%s has %" PRIu64 ", which does not fit into int64",
                                        f->name, values[i]);
    return PFD_OK;
}

/* ---- Messages -------------------------------------------------------------------------------- */

/* A list of no numbers is empty; a byte string may be. */
static int64_t list_bytes(const feature *f, int64_t values)
{
    return values || f->list == BYTES ? pfd_field_bytes(values) : 0;
}

/* Makes the head for so many bytes of values. */
static void make_head(feature *f, int64_t values)
{
    int64_t list = list_bytes(f, values), wrapped = pfd_field_bytes(list);
    int64_t entry = pfd_field_bytes(f->name_size) + pfd_field_bytes(wrapped);
    uint8_t *to = pfd_put_field(1, entry, f->head);
    to = pfd_put_field(1, f->name_size, to);
    memcpy(to, f->name, (size_t)f->name_size);
    to = pfd_put_field(2, wrapped, to + f->name_size);
    to = pfd_put_field(f->list, list, to);
    if (list) to = pfd_put_field(1, values, to);
    f->head_of = values;
    f->head_size = to - f->head;
    f->entry = f->head_size + values;
}

static int64_t entry_bytes(feature *f, int64_t values)
{
    if (values != f->head_of) make_head(f, values);
    return f->entry;
}

/* Writes a few bytes too many: the next feature is written over them. */
static inline uint8_t *put_feature(feature *f, int64_t row, int64_t values, uint8_t *to)
{
    if (values != f->head_of) make_head(f, values);
    for (int64_t i = 0; i < f->head_size; i += PIECE) memcpy(to + i, f->head + i, PIECE);
    return put_values(f, row, to + f->head_size);
}

/* The size of the values of all rows, where it is the same. */
static int64_t fixed_bytes(const feature *f)
{
    int64_t each = value_bytes(f->dtype);
    if (f->rows->is_ragged || (!each && f->elements)) return -1;
    return f->elements * each;
}

static feature *features_of(const pfd_compute_args *args, const pfd_feature_kinds *kinds,
                            const pfd_list_string *names)
{
    int64_t n = args->num_inputs;
    feature *features = args->host->alloc(args->scratch, n * (int64_t)sizeof *features);
    if (!features) return NULL;
    for (int64_t i = 0; i < n; i++) {
        const pfd_tensor *rows = args->inputs[i];
        feature f = {.rows = rows,
                     .name = names->data[i],
                     .name_size = (int64_t)strlen(names->data[i]),
                     .list = kinds->list[rows->type.dtype],
                     .dtype = rows->type.dtype,
                     .head_of = -1};
        if (!rows->is_ragged) f.elements = pfd_row_elements(&rows->type);
        f.fixed = fixed_bytes(&f);
        f.next = n;
        f.head = args->host->alloc(args->scratch, f.name_size + MOST_HEAD + PIECE);
        if (!f.head) return NULL;
        features[i] = f;
    }
    return features;
}

/* Finds the size of each message, and of the values of each feature where it varies. */
static pfd_status measure(const pfd_compute_args *args, feature *features, int64_t *values,
                          int64_t *sizes, pfd_error *err)
{
    int64_t n = args->num_inputs, fixed = 0, first = n, end = 0;
    for (int64_t i = 0; i < n; i++) {
        if (features[i].fixed >= 0) {
            fixed += entry_bytes(&features[i], features[i].fixed);
            continue;
        }
        if (first == n) first = i;
        if (end > first) features[end - 1].next = i;
        end = i + 1;
    }
    for (int64_t row = 0; row < args->num_rows; row++) {
        sizes[row] = fixed;
        for (int64_t i = first; i < end; i = features[i].next) {
            feature *f = &features[i];
            if (f->dtype == PFD_UINT64) PFD_TRY(check_range(args, f, row, err));
            values[row * n + i] = values_bytes(f, row);
            sizes[row] += entry_bytes(f, values[row * n + i]);
        }
    }
    return PFD_OK;
}

pfd_status pfd_feature_message_encode(const pfd_compute_args *args, const pfd_feature_kinds *kinds,
                                      pfd_error *err)
{
    const pfd_host *host = args->host;
    const pfd_feature_message_attrs *attrs = args->attrs;
    int64_t rows = args->num_rows, n = args->num_inputs, total = 0;
    feature *features = features_of(args, kinds, &attrs->names);
    int64_t *values = host->alloc(args->scratch, rows * n * (int64_t)sizeof *values);
    int64_t *sizes = host->alloc(args->scratch, rows * (int64_t)sizeof *sizes);
    if (!features || !values || !sizes)
        return host->fail(err, PFD_OUT_OF_MEMORY, "no memory for the sizes of messages");
    PFD_TRY(measure(args, features, values, sizes, err));
    for (int64_t row = 0; row < rows; row++)
        total += kinds->is_wrapped ? pfd_field_bytes(sizes[row]) : sizes[row];
    uint8_t *to = host->alloc(args->scratch, total + PIECE);
    if (!to) return host->fail(err, PFD_OUT_OF_MEMORY, "no memory for messages");
    for (int64_t row = 0; row < rows; row++) {
        uint8_t *begin = to;
        if (kinds->is_wrapped) to = pfd_put_field(1, sizes[row], to);
        for (int64_t i = 0; i < n; i++) {
            int64_t fixed = features[i].fixed;
            to = put_feature(&features[i], row, fixed >= 0 ? fixed : values[row * n + i], to);
        }
        args->outputs[0]->rows[row] = (pfd_ragged_row){.data = begin, .num_elements = to - begin};
    }
    return PFD_OK;
}
