/* The rows of packs: records one after another, and what tells them apart. */
#include "views/pack_rows.h"

#include "core/convert.h"
#include "core/error.h"
#include "core/rows.h"
#include "parse/row_type.h"
#include "pyflowdata/pyflowdata.h"

#include <inttypes.h>
#include <string.h>

/* A row on its way: its parts, in order. */
typedef struct packed {
    int64_t row;
    const pfd_part *parts;
    int64_t num_parts;
    int64_t used; /* elements before the padding */
    int64_t length;
} packed;

/* ---- Outputs that tell documents apart ------------------------------------------------------- */

static pfd_status write_segment_ids(const pfd_compute_args *args, const packed *pack,
                                    int32_t output, pfd_error *err)
{
    int32_t *out = pfd_row_to_write(args, output, pack->row, NULL, err);
    if (!out) return err->status;
    for (int64_t p = 0; p < pack->num_parts; p++) {
        const int32_t number = (int32_t)p + 1;
        pfd_fill(out + pack->parts[p].at, pack->parts[p].length, &number, sizeof number);
    }
    memset(out + pack->used, 0, (size_t)(pack->length - pack->used) * sizeof *out);
    return PFD_OK;
}

static void count_up(int32_t *out, int64_t n)
{
    for (int64_t i = 0; i < n; i++) out[i] = (int32_t)i;
}

static pfd_status write_position_ids(const pfd_compute_args *args, const packed *pack,
                                     int32_t output, pfd_error *err)
{
    int32_t *out = pfd_row_to_write(args, output, pack->row, NULL, err);
    if (!out) return err->status;
    for (int64_t p = 0; p < pack->num_parts; p++)
        count_up(out + pack->parts[p].at, pack->parts[p].length);
    count_up(out + pack->used, pack->length - pack->used);
    return PFD_OK;
}

static pfd_status write_loss_mask(const pfd_compute_args *args, const packed *pack, int32_t output,
                                  pfd_error *err)
{
    uint8_t *out = pfd_row_to_write(args, output, pack->row, NULL, err);
    if (!out) return err->status;
    memset(out, 1, (size_t)pack->used);
    memset(out + pack->used, 0, (size_t)(pack->length - pack->used));
    return PFD_OK;
}

/* Where segments begin, then the end of the last one: padding is a segment of its own. */
static pfd_status write_cu_seqlens(const pfd_compute_args *args, const packed *pack, int32_t output,
                                   pfd_error *err)
{
    int64_t ends = pack->num_parts + (pack->used < pack->length), count = ends + 1;
    int32_t *out = pfd_row_to_write(args, output, pack->row, &count, err);
    if (!out) return err->status;
    for (int64_t p = 0; p < pack->num_parts; p++) out[p] = (int32_t)pack->parts[p].at;
    out[pack->num_parts] = (int32_t)pack->used;
    out[ends] = (int32_t)pack->length;
    return PFD_OK;
}

static pfd_status write_max_seqlen(const pfd_compute_args *args, const packed *pack, int32_t output,
                                   pfd_error *err)
{
    int32_t *out = pfd_row_to_write(args, output, pack->row, NULL, err);
    if (!out) return err->status;
    int64_t longest = pack->length - pack->used;
    for (int64_t p = 0; p < pack->num_parts; p++)
        if (pack->parts[p].length > longest) longest = pack->parts[p].length;
    *out = (int32_t)longest;
    return PFD_OK;
}

typedef struct description {
    const char *kind;
    int32_t dtype, ndim;
    int32_t varies; /* one size per row; else the length of the pack */
    pfd_status (*write)(const pfd_compute_args *args, const packed *pack, int32_t output,
                        pfd_error *err);
} description;

static const description descriptions[] = {
    {"segment_ids", PFD_INT32, 1, 0, write_segment_ids},
    {"position_ids", PFD_INT32, 1, 0, write_position_ids},
    {"loss_mask", PFD_BOOL, 1, 0, write_loss_mask},
    {"cu_seqlens", PFD_INT32, 1, 1, write_cu_seqlens},
    {"max_seqlen", PFD_INT32, 0, 0, write_max_seqlen},
};

/* Of an element "segment_ids" or "NAME=segment_ids"; NULL: it is none of them. */
static const description *find_description(const char *element)
{
    const char *kind = strchr(element, '=');
    kind = kind ? kind + 1 : element;
    for (uint32_t i = 0; i < PFD_COUNT(descriptions); i++)
        if (!strcmp(kind, descriptions[i].kind)) return &descriptions[i];
    return NULL;
}

/* ---- Types ----------------------------------------------------------------------------------- */

static double padding_of(const pack_dataset_attrs *attrs, int64_t input)
{
    if (attrs->padding.size == 0) return 0;
    return attrs->padding.data[attrs->padding.size > 1 ? input : 0];
}

static pfd_status infer_field(const pfd_infer_args *args, int64_t i, pfd_error *err)
{
    const pack_dataset_attrs *attrs = args->attrs;
    const pfd_row_type *in = &args->inputs[i];
    char found[256];
    if (in->ndim != 1)
        return pfd_fail(err, PFD_INVALID_ARGUMENT,
                        "the rows of input number %" PRId64
                        " are %s; packs are made of rows with one dimension",
                        i, pfd_format_row_type(in, found, sizeof found));
    if (!pfd_is_exact(padding_of(attrs, i), in->dtype) && in->dtype < PFD_FLOAT16)
        return pfd_fail_attr(err, "padding", NULL, PFD_INVALID_ARGUMENT,
                             " = %g; input number %" PRId64 " is %s, which holds %s",
                             padding_of(attrs, i), i, pfd_dtype_name(in->dtype),
                             pfd_dtype_limits(in->dtype));
    args->outputs[i] = *in;
    args->outputs[i].shape[0] = attrs->length;
    return PFD_OK;
}

pfd_status pfd_pack_infer(const pfd_infer_args *args, pfd_error *err)
{
    const pack_dataset_attrs *attrs = args->attrs;
    if (attrs->padding.size > 1 && attrs->padding.size != args->num_inputs)
        return pfd_fail_attr(err, "padding", NULL, PFD_INVALID_ARGUMENT,
                             " has %" PRId64 " values; give one, or one for each of the %" PRId64
                             " inputs",
                             attrs->padding.size, args->num_inputs);
    if (args->num_outputs < args->num_inputs)
        return pfd_fail_attr(err, "fields", NULL, PFD_INVALID_ARGUMENT,
                             " has %" PRId64 " names; it begins with a name for each of the "
                             "%" PRId64 " inputs",
                             args->num_outputs, args->num_inputs);
    for (int64_t i = 0; i < args->num_inputs; i++) PFD_TRY(infer_field(args, i, err));
    for (int64_t i = args->num_inputs; i < args->num_outputs; i++) {
        const char *element = attrs->fields.data[i];
        const description *of = find_description(element);
        if (!of)
            return pfd_fail_attr(err, "fields", NULL, PFD_INVALID_ARGUMENT,
                                 ": element '%s'; after the inputs' names come segment_ids, "
                                 "position_ids, loss_mask, cu_seqlens and max_seqlen, or "
                                 "NAME=segment_ids and so on",
                                 element);
        args->outputs[i] = (pfd_row_type){.dtype = of->dtype, .ndim = of->ndim};
        args->outputs[i].shape[0] = of->varies ? -1 : attrs->length;
    }
    return PFD_OK;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static pfd_status fail_length(const pfd_compute_args *args, const packed *pack, int32_t input,
                              int64_t part, int64_t found, pfd_error *err)
{
    const pack_dataset_attrs *attrs = args->attrs;
    int64_t name = pfd_field_name_size(attrs->fields.size > input ? attrs->fields.data[input] : "");
    return args->host->fail_row(
        err, pack->row, -1, PFD_CORRUPT_DATA,
        "record %" PRId64 " of the %" PRId64 " in this pack has %" PRId64
        " elements in field number %d (%.*s), but attr 'lengths' says %" PRId64
        ": the lengths are not those of this data, or the data has changed",
        part + 1, pack->num_parts, found, input, (int)name,
        name > 0 ? attrs->fields.data[input] : "", pack->parts[part].whole);
}

/* Copies the parts of a row, `first_part` being the number of the first one among all. */
static pfd_status write_field(const pfd_compute_args *args, const packed *pack, int32_t i,
                              int64_t first_part, pfd_error *err)
{
    const pfd_tensor *in = args->inputs[i];
    int64_t bytes = pfd_dtype_size(in->type.dtype);
    uint8_t *out = pfd_row_to_write(args, i, pack->row, NULL, err);
    if (!out) return err->status;
    for (int64_t p = 0; p < pack->num_parts; p++) {
        const pfd_part *part = &pack->parts[p];
        pfd_row row;
        pfd_row_at(in, first_part + p, &row);
        if (row.num_elements != part->whole)
            return fail_length(args, pack, i, p, row.num_elements, err);
        memcpy(out + part->at * bytes, row.data + part->begin * bytes,
               (size_t)(part->length * bytes));
    }
    _Alignas(8) uint8_t element[8];
    double padding = padding_of(args->attrs, i);
    (void)pfd_convert(PFD_FLOAT64, &padding, in->type.dtype, element, 1, PFD_OVERFLOW_WRAP);
    pfd_fill(out + pack->used * bytes, pack->length - pack->used, element, bytes);
    return PFD_OK;
}

static pfd_status write_row(const pfd_compute_args *args, const packed *pack, int64_t first_part,
                            pfd_error *err)
{
    const pack_dataset_attrs *attrs = args->attrs;
    for (int32_t i = 0; i < args->num_inputs; i++)
        PFD_TRY(write_field(args, pack, i, first_part, err));
    for (int32_t i = (int32_t)args->num_inputs; i < args->num_outputs; i++)
        PFD_TRY(find_description(attrs->fields.data[i])->write(args, pack, i, err));
    return PFD_OK;
}

pfd_status pfd_pack_compute(const pfd_compute_args *args, pfd_error *err)
{
    const pfd_join_args *join = args->source;
    const pack_dataset_attrs *attrs = args->attrs;
    for (int64_t first = 0, end; first < join->num_parts; first = end) {
        const pfd_part *parts = join->parts + first, *last = parts;
        for (end = first + 1; end < join->num_parts && join->parts[end].row == parts->row; end++)
            last = &join->parts[end];
        packed pack = {.row = parts->row, .parts = parts, .num_parts = end - first,
                     .used = last->at + last->length, .length = attrs->length};
        PFD_TRY(write_row(args, &pack, first, err));
    }
    return PFD_OK;
}
