/* Writes a tf.train.Feature, or a list of steps, into its dense or ragged row of an output. */
#include "formats/tfrecord/feature_row.h"

#include "core/error.h"
#include "parse/words.h"

#include <inttypes.h>

static const char *const kind_names[] = {"nothing", "a bytes_list", "a float_list",
                                         "an int64_list"};
static const uint32_t step_tag = PFD_WIRE_TAG(1, PFD_WIRE_BYTES);

static const char *quote_key(const pfd_feature_spec *spec, char *out, size_t capacity)
{
    return pfd_quote_bytes((const uint8_t *)spec->field.key, spec->field.key_size, out, capacity);
}

/* ---- Failures -------------------------------------------------------------------------------- */
static pfd_status fail_memory(const pfd_feature_call *call)
{
    return call->args->host->fail(call->err, PFD_OUT_OF_MEMORY, "no memory for a row");
}

/* Names the attr that states the field, after a failure of a feature that does not fit it. */
static pfd_status of_features(const pfd_feature_call *call, pfd_status status)
{
    (void)pfd_error_set_attr(call->err, "features");
    return status;
}

static pfd_status fail_missing(const pfd_feature_call *call, const pfd_feature_spec *spec)
{
    char key[256];
    (void)quote_key(spec, key, sizeof key);
    if (spec->is_steps)
        return of_features(
            call,
            pfd_feature_fail(call, NULL,
                             "feature list %s is missing; the field '%.200s=' would take that "
                             "for no steps",
                             key, spec->element));
    return of_features(
        call,
        pfd_feature_fail(call, NULL, "feature %s is missing, and the field '%.200s' has no default",
                         key, spec->element));
}

static pfd_status fail_kind(const pfd_feature_call *call, const pfd_feature_spec *spec,
                            const pfd_feature_list *list)
{
    char key[256];
    const char *hint = "";
    if (list->kind == PFD_FEATURE_BYTES)
        hint = "; 'decode_raw' reads the bytes as numbers, 'bytes' leaves them as they are";
    return of_features(call,
                       pfd_feature_fail(call, list->values.at,
                                        "feature %s holds %s, and the field '%.200s' reads %s%s",
                                        quote_key(spec, key, sizeof key), kind_names[list->kind],
                                        spec->element, kind_names[spec->kind], hint));
}

static pfd_status fail_count(const pfd_feature_call *call, const pfd_feature_spec *spec,
                             const uint8_t *at, int64_t found, int64_t expected, const char *what)
{
    char key[256];
    return of_features(call, pfd_feature_fail(call, at,
                                              "feature %s has %" PRId64
                                              " %s, and the field '%.200s' takes %" PRId64
                                              "; see attr 'on_mismatch'",
                                              quote_key(spec, key, sizeof key), found, what,
                                              spec->element, expected));
}

/* Whether on_mismatch allows `found` values in place of `expected` ones. */
static int32_t is_tolerated(int32_t on_mismatch, int64_t found, int64_t expected)
{
    int32_t needed = found < expected ? PFD_MISMATCH_PAD : PFD_MISMATCH_TRUNCATE;
    return found == expected || on_mismatch == PFD_MISMATCH_FIT || on_mismatch == needed;
}

/* ---- Values ---------------------------------------------------------------------------------- */

/* Finds the only byte string of a list. */
static pfd_status find_string(const pfd_feature_call *call, const pfd_feature_spec *spec,
                              const pfd_feature_list *list, pfd_wire_cursor *out)
{
    int64_t n;
    char key[256];
    PFD_TRY(pfd_feature_list_count(call, list, &n));
    if (n == 1) return pfd_feature_list_string(call, list, out);
    return of_features(call, pfd_feature_fail(call, list->values.at,
                                              "feature %s has %" PRId64
                                              " byte strings; the field '%.200s' takes one",
                                              quote_key(spec, key, sizeof key), n, spec->element));
}

/* Counts the values; of a raw field, finds its bytes too. */
static pfd_status count_values(const pfd_feature_call *call, const pfd_feature_spec *spec,
                               const pfd_feature_list *list, int64_t *n, pfd_wire_cursor *raw)
{
    char key[256];
    if (!spec->is_raw) return pfd_feature_list_count(call, list, n);
    PFD_TRY(find_string(call, spec, list, raw));
    int64_t bytes = raw->end - raw->at;
    *n = bytes / spec->element_bytes;
    if (bytes % spec->element_bytes == 0) return PFD_OK;
    return of_features(call, pfd_feature_fail(call, raw->at,
                                              "feature %s has %" PRId64 " bytes, "
                                              "which is not a multiple of the %" PRId64
                                              " bytes of a value in the field '%.200s'",
                                              quote_key(spec, key, sizeof key), bytes,
                                              spec->element_bytes, spec->element));
}

static pfd_status copy_raw(const pfd_feature_call *call, const pfd_feature_spec *spec,
                           const uint8_t *from, int64_t n, uint8_t *to)
{
    char key[256];
    memcpy(to, from, (size_t)(n * spec->element_bytes));
    if (spec->field.type.dtype != PFD_BOOL) return PFD_OK;
    for (int64_t i = 0; i < n; i++) {
        if (from[i] > 1)
            return pfd_feature_fail(call, from + i,
                                    "feature %s: byte %" PRId64 " is %d, not a "
                                    "bool",
                                    quote_key(spec, key, sizeof key), i, from[i]);
    }
    return PFD_OK;
}

static pfd_status read_values(const pfd_feature_call *call, const pfd_feature_spec *spec,
                              const pfd_feature_list *list, const pfd_wire_cursor *raw, int64_t n,
                              uint8_t *to)
{
    if (spec->is_raw) return copy_raw(call, spec, raw->at, n, to);
    return pfd_feature_list_read(call, list, n, spec->field.type.dtype, to, spec->field.key,
                                 spec->field.key_size);
}

/* Writes exactly spec->count values. */
static pfd_status write_fixed(const pfd_feature_call *call, const pfd_feature_spec *spec,
                              const pfd_feature_list *list, int32_t on_mismatch, uint8_t *to)
{
    pfd_wire_cursor raw = list->values;
    int64_t n, bytes = spec->count * spec->element_bytes;
    PFD_TRY(count_values(call, spec, list, &n, &raw));
    if (!is_tolerated(on_mismatch, n, spec->count))
        return fail_count(call, spec, raw.at, n, spec->count, "values");
    if (n > spec->count) n = spec->count;
    int64_t read = n * spec->element_bytes;
    if (read < bytes) memcpy(to + read, spec->fill + read, (size_t)(bytes - read));
    return read_values(call, spec, list, &raw, n, to);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* Sets the elements of a ragged row: they stay in the record if possible, else they are copied. */
static pfd_status write_varying(const pfd_feature_call *call, const pfd_feature_spec *spec,
                                const pfd_feature_list *list, pfd_ragged_row *row)
{
    pfd_wire_cursor raw = list->values;
    char key[256];
    int64_t n;
    PFD_TRY(count_values(call, spec, list, &n, &raw));
    if (n % spec->count != 0)
        return pfd_feature_fail(call, raw.at,
                                "feature %s has %" PRId64 " values, which is not a multiple of the "
                                "%" PRId64 " that the field '%.200s' takes at once",
                                quote_key(spec, key, sizeof key), n, spec->count, spec->element);
    int32_t dtype = spec->field.type.dtype;
    int32_t as_it_is = spec->is_raw ? dtype != PFD_BOOL : list->is_plain && dtype == PFD_FLOAT32;
    if (as_it_is && (uintptr_t)raw.at % (uintptr_t)spec->element_bytes == 0) {
        *row = (pfd_ragged_row){raw.at, n, NULL};
        return PFD_OK;
    }
    if (n == 0) return PFD_OK;
    uint8_t *to = call->args->host->alloc(call->args->scratch, n * spec->element_bytes);
    if (!to) return fail_memory(call);
    *row = (pfd_ragged_row){to, n, NULL};
    return read_values(call, spec, list, &raw, n, to);
}

static pfd_status write_string(const pfd_feature_call *call, const pfd_feature_spec *spec,
                               const pfd_feature_list *list, pfd_ragged_row *row)
{
    pfd_wire_cursor string;
    pfd_status status = find_string(call, spec, list, &string);
    if (status == PFD_OK) *row = (pfd_ragged_row){string.at, string.end - string.at, NULL};
    return status;
}

static pfd_status write_missing(const pfd_feature_call *call, const pfd_feature_spec *spec,
                                pfd_tensor *out)
{
    const pfd_field_spec *field = &spec->field;
    if (spec->is_steps ? field->default_text != NULL : spec->is_ragged && !spec->is_bytes)
        return PFD_OK; /* the host gave an empty row */
    if (!field->default_text || spec->is_steps) return fail_missing(call, spec);
    if (spec->is_bytes)
        out->rows[call->row] = (pfd_ragged_row){field->default_text, field->default_size, NULL};
    else
        memcpy(out->data + call->row * out->row_bytes, spec->fill, (size_t)out->row_bytes);
    return PFD_OK;
}

/* Finds the list in the bytes of a Feature.  TensorFlow writes a Feature as one list, of packed
 * values or of one byte string: this form has a fast path. */
static inline pfd_status find_any_list(const pfd_feature_call *call, const pfd_wire_cursor *feature,
                                       pfd_feature_list *out)
{
    uint32_t tag = 0, value_tag = 0;
    const uint8_t *end = feature->end;
    const uint8_t *list = pfd_feature_only_content(feature->at, end, &tag);
    if (!list || tag > PFD_WIRE_TAG(PFD_FEATURE_INT64, PFD_WIRE_BYTES) || tag < 8)
        return pfd_feature_list_merge(call, *feature, out);
    const uint8_t *values = pfd_feature_only_content(list, end, &value_tag);
    out->kind = (int32_t)PFD_WIRE_FIELD(tag);
    out->is_plain = values && value_tag == PFD_FEATURE_VALUE;
    out->values.at = out->is_plain ? values : list;
    out->values.end = end;
    return PFD_OK;
}

static pfd_status find_list(const pfd_feature_call *call, const pfd_feature_spec *spec,
                            const pfd_wire_cursor *feature, pfd_feature_list *list)
{
    pfd_status status = find_any_list(call, feature, list);
    if (status != PFD_OK || list->kind == spec->kind || list->kind == PFD_FEATURE_NONE)
        return status;
    return fail_kind(call, spec, list);
}

/* ---- Steps ----------------------------------------------------------------------------------- */
static pfd_status count_steps(const pfd_feature_call *call, pfd_wire_cursor c, int64_t *n)
{
    *n = 0;
    while (c.at < c.end) {
        uint32_t tag = pfd_wire_tag(&c);
        if (!tag || !pfd_wire_skip(&c, tag)) return pfd_feature_damaged(call, c.at);
        *n += tag == step_tag;
    }
    return PFD_OK;
}

/* Writes the first n steps. count_steps() checked the bytes before. */
static pfd_status write_each(const pfd_feature_call *call, const pfd_feature_spec *spec,
                             pfd_wire_cursor c, int64_t n, int32_t on_mismatch, uint8_t *to)
{
    while (n > 0) {
        pfd_feature_list list;
        pfd_wire_cursor feature = c;
        uint32_t tag = pfd_wire_tag(&c);
        if (tag != step_tag) {
            (void)pfd_wire_skip(&c, tag);
            continue;
        }
        (void)pfd_wire_bytes(&c, &feature);
        PFD_TRY(find_list(call, spec, &feature, &list));
        if (list.kind == PFD_FEATURE_NONE)
            return fail_count(call, spec, feature.at, 0, spec->count, "values in a step");
        PFD_TRY(write_fixed(call, spec, &list, on_mismatch, to));
        to += spec->count * spec->element_bytes;
        n--;
    }
    return PFD_OK;
}

static pfd_status write_steps(const pfd_feature_call *call, const pfd_feature_spec *spec,
                              pfd_wire_cursor steps, int32_t on_mismatch, pfd_tensor *out)
{
    int64_t n, step_bytes = spec->count * spec->element_bytes;
    PFD_TRY(count_steps(call, steps, &n));
    if (!spec->is_ragged) {
        int64_t expected = spec->field.type.shape[0];
        uint8_t *to = out->data + call->row * out->row_bytes;
        if (!is_tolerated(on_mismatch, n, expected))
            return fail_count(call, spec, steps.at, n, expected, "steps");
        if (n < expected) memset(to + n * step_bytes, 0, (size_t)((expected - n) * step_bytes));
        return write_each(call, spec, steps, n < expected ? n : expected, on_mismatch, to);
    }
    if (n == 0) return PFD_OK;
    if (n > INT64_MAX / step_bytes) return fail_memory(call);
    uint8_t *to = call->args->host->alloc(call->args->scratch, n * step_bytes);
    if (!to) return fail_memory(call);
    out->rows[call->row] = (pfd_ragged_row){to, n * spec->count, NULL};
    return write_each(call, spec, steps, n, on_mismatch, to);
}

pfd_status pfd_feature_row_write(const pfd_feature_call *call, const pfd_feature_spec *spec,
                                 const pfd_wire_cursor *feature, int32_t on_mismatch,
                                 pfd_tensor *out)
{
    pfd_feature_list list;
    if (!feature->at) return write_missing(call, spec, out);
    if (spec->is_steps) return write_steps(call, spec, *feature, on_mismatch, out);
    PFD_TRY(find_list(call, spec, feature, &list));
    if (list.kind == PFD_FEATURE_NONE) return write_missing(call, spec, out);
    if (spec->is_bytes) return write_string(call, spec, &list, &out->rows[call->row]);
    if (spec->is_ragged) return write_varying(call, spec, &list, &out->rows[call->row]);
    uint8_t *to = out->data + call->row * out->row_bytes;
    if (list.is_plain && spec->field.type.dtype == PFD_FLOAT32 && !spec->is_raw &&
        list.values.end - list.values.at == out->row_bytes) {
        memcpy(to, list.values.at, (size_t)out->row_bytes);
        return PFD_OK;
    }
    if (spec->kind == PFD_FEATURE_INT64 && spec->count == 1 &&
        pfd_feature_list_one(&list, spec->field.type.dtype, to))
        return PFD_OK;
    return write_fixed(call, spec, &list, on_mismatch, to);
}
