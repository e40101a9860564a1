/* GeneratorReader: reads samples from a Python object. */
#include "core/op_shorthand.h"
#include "parse/row_type.h"
#include "pyflowdata/pyflowdata.h"
#include "sources/fields.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* ---- Python's functions ---------------------------------------------------------------------- */

/* Python sets them once; NULL: a program without Python. */
static const pfd_object_source *_Atomic object_source;

void pfd_object_source_set(const pfd_object_source *source)
{
    atomic_store_explicit(&object_source, source, memory_order_release);
}

/* ---- The op ---------------------------------------------------------------------------------- */

typedef struct generator_reader_attrs {
    int64_t source;
    pfd_list_string fields;
    int32_t thread_safe;
} generator_reader_attrs;

typedef struct reader {
    const pfd_host *host;
    const pfd_object_source *objects;
    int64_t session, num_records;
} reader;

static pfd_status parse_field(const pfd_host *host, const char *element, pfd_field_spec *out,
                              pfd_error *err)
{
    PFD_TRY(pfd_field_spec_parse_with(host, "fields", element, "str", out, err));
    if (!out->has_type)
        return host->fail_attr(err, "fields", NULL, PFD_INVALID_ARGUMENT,
                               ": '%.200s' has no type; write KEY:TYPE, such as y:int64, "
                               "x:float32[3], x:float32[?] or name:bytes", element);
    if (out->default_text)
        return host->fail_attr(err, "fields", NULL, PFD_INVALID_ARGUMENT,
                               ": '%.200s' has a default; a sample must have every field", element);
    return PFD_OK;
}

static pfd_status find_objects(const pfd_host *host, const pfd_object_source **out, pfd_error *err)
{
    *out = atomic_load_explicit(&object_source, memory_order_acquire);
    if (*out) return PFD_OK;
    return host->fail(err, PFD_UNSUPPORTED,
                      "GeneratorReader reads Python objects, and this program has no Python");
}

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const generator_reader_attrs *attrs = args->attrs;
    const pfd_object_source *objects;
    for (int64_t i = 0; i < args->num_outputs; i++) {
        pfd_field_spec field;
        PFD_TRY(parse_field(args->host, attrs->fields.data[i], &field, err));
        args->outputs[i] = field.type;
    }
    PFD_TRY(find_objects(args->host, &objects, err));
    return objects->check(attrs->source, err);
}

static void close_reader(void *self)
{
    reader *r = self;
    r->objects->close(r->session);
    free(r);
}

PFD_SOURCE_NUMBER(size_of, reader, num_records)

static pfd_status at(void *self, const int64_t *ordinals, int64_t n, pfd_scratch *scratch,
                     pfd_record *out, pfd_error *err)
{
    reader *r = self;
    return r->objects->at(r->session, ordinals, n, r->host, scratch, out, err);
}

static pfd_status next(void *self, int64_t max, pfd_scratch *scratch, pfd_record *out, int64_t *n,
                       pfd_error *err)
{
    reader *r = self;
    return r->objects->next(r->session, max, r->host, scratch, out, n, err);
}

static pfd_status seek(void *self, int64_t epoch, int64_t position, pfd_scratch *scratch,
                       pfd_error *err)
{
    reader *r = self;
    return r->objects->seek(r->session, epoch, position, r->host, scratch, err);
}

static const pfd_source_methods indexed = {
    PFD_SIZE(pfd_source_methods), .close = close_reader, .size = size_of, .at = at};
static const pfd_source_methods stream = {
    PFD_SIZE(pfd_source_methods), .close = close_reader, .next = next, .seek = seek};

/* Makes copies of the keys, which end with a 0, and a list of the types, in the scratch. */
static pfd_status make_fields(const pfd_open_args *args, pfd_object_fields *out, pfd_error *err)
{
    const generator_reader_attrs *attrs = args->attrs;
    int64_t n = attrs->fields.size;
    const char **keys = args->host->alloc(args->scratch, n * (int64_t)sizeof *keys);
    pfd_row_type *types = args->host->alloc(args->scratch, n * (int64_t)sizeof *types);
    if (!keys || !types) return args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for fields");
    for (int64_t i = 0; i < n; i++) {
        pfd_field_spec field;
        PFD_TRY(parse_field(args->host, attrs->fields.data[i], &field, err));
        char *key = args->host->alloc(args->scratch, field.key_size + 1);
        if (!key) return args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for fields");
        memcpy(key, field.key, (size_t)field.key_size);
        key[field.key_size] = '\0';
        keys[i] = key;
        types[i] = field.type;
    }
    *out = (pfd_object_fields){PFD_SIZE(pfd_object_fields), n, keys, types};
    return PFD_OK;
}

static pfd_status open_source(const pfd_open_args *args, pfd_source *out, pfd_error *err)
{
    const generator_reader_attrs *attrs = args->attrs;
    pfd_object_fields fields;
    reader *r = calloc(1, sizeof *r);
    if (!r) return args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for a reader");
    r->host = args->host;
    pfd_status status = find_objects(args->host, &r->objects, err);
    if (status == PFD_OK) status = make_fields(args, &fields, err);
    if (status == PFD_OK)
        status = r->objects->open(attrs->source, &fields, attrs->thread_safe, args->host,
                                  &r->session, &r->num_records, err);
    if (status != PFD_OK) {
        free(r);
        return status;
    }
    out->methods = r->num_records < 0 ? &stream : &indexed;
    out->self = r;
    return PFD_OK;
}

/* ---- Records --------------------------------------------------------------------------------- */

static const char BROKEN[] = "the record of a sample has another size than its fields";

/* The record of a damaged sample has the cause and the message instead of values. */
static pfd_status fail_damaged(const pfd_compute_args *args, int64_t row, const uint8_t *data,
                               int64_t left, pfd_error *err)
{
    uint64_t cause;
    if (left < (int64_t)sizeof cause)
        return args->host->fail_row(err, row, -1, PFD_INTERNAL, "%s", BROKEN);
    memcpy(&cause, data, sizeof cause);
    left -= (int64_t)sizeof cause;
    (void)args->host->fail_row(err, row, -1, PFD_CORRUPT_DATA, "%.*s",
                               (int)(left < 1000 ? left : 1000),
                               (const char *)data + sizeof cause);
    err->cause = cause;
    return err->status;
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    for (int64_t i = 0; i < args->num_rows; i++) {
        const uint8_t *data = args->records[i].data;
        int64_t left = args->records[i].size, kind = 0;
        if (left < 8) return args->host->fail_row(err, i, -1, PFD_INTERNAL, "%s", BROKEN);
        memcpy(&kind, data, sizeof kind);
        data += sizeof kind;
        left -= (int64_t)sizeof kind;
        if (kind) return fail_damaged(args, i, data, left, err);
        for (int64_t k = 0; k < args->num_outputs; k++)
            if (!pfd_packed_field_read(args->outputs[k], i, &data, &left))
                return args->host->fail_row(err, i, -1, PFD_INTERNAL, "%s", BROKEN);
    }
    return PFD_OK;
}

static const pfd_attr attr_table[] = {
    PFD_ATTR_ROW(generator_reader_attrs, source, PFD_ATTR_OBJECT, NULL, 0, 0, NULL,
                 "An object with __len__ and __getitem__; or a function without arguments, which "
                 "is called for each epoch and returns an iterable; or an iterable that starts "
                 "again each time."),
    PFD_STRINGS_ATTR(generator_reader_attrs, fields, NULL,
                     "The fields of a sample, each [NAME=]KEY:TYPE, such as x:float32[3], y:int64, "
                     "tokens:int32[?] or name:bytes, or name:str, which is the same. A dict has "
                     "the fields by their keys, a tuple in this order; if there is one field, it "
                     "may be the sample itself."),
    PFD_BOOL_ATTR(generator_reader_attrs, thread_safe, "false",
                  "Whether several threads may call __getitem__ at the same time; otherwise only "
                  "one thread at a time calls it."),
};

static const pfd_port outputs[] = {
    {"out", "The values of a field, ragged where a dimension varies or the type is bytes."},
};

const pfd_op pfd_op_generator_reader = {
    PFD_READER(0, outputs),
    .name = "GeneratorReader",
    .doc = "Reads the samples of a Python object: arrays, numbers, bytes and texts. "
           "An object with __len__ and __getitem__ is read in any order, like files with an index; "
           "iterables are streams. A sample whose values do not fit the types is damaged. The "
           "loader raises the exceptions of the object, with their tracebacks.",
    PFD_OP_ATTRS(generator_reader_attrs, attr_table),
    .outputs_attr = "fields",
};
