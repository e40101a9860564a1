/* JSONLinesReader: fields of the JSON objects that are the lines of a file. */
#include "core/op_parts.h"
#include "files/file_stream.h"
#include "formats/json/json_fields.h"
#include "sources/text.h"
#include "sources/wrapped_source.h"

typedef struct json_lines_attrs {
    pfd_list_string fields;
    int32_t invalid_utf8;
} json_lines_attrs;

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const json_lines_attrs *attrs = args->attrs;
    for (int64_t i = 0; i < attrs->fields.size; i++) {
        pfd_json_field field;
        PFD_TRY(pfd_json_field_parse(args->host, attrs->fields.data[i], &field, err));
        args->outputs[i] = field.spec.type;
    }
    return PFD_OK;
}

/* Python finds the fields in the first records. */
static pfd_status propose(const pfd_propose_args *args, pfd_error *err)
{
    (void)args;
    (void)err;
    return PFD_OK;
}

/* ---- Open ------------------------------------------------------------------------------------ */

/* Finds where the lines of each file begin, after a byte order mark; the table is in the
 * scratch. */
static pfd_status find_heads(const pfd_open_args *args, const int64_t **out, pfd_error *err)
{
    int64_t *heads = args->host->alloc(args->scratch, args->num_files * (int64_t)sizeof *heads);
    if (!heads) return args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for a table of files");
    for (int64_t i = 0; i < args->num_files; i++)
        PFD_TRY(pfd_text_head(args->host, args->files[i], 0, args->scratch, &heads[i], err));
    *out = heads;
    return PFD_OK;
}

static pfd_status open_source(const pfd_open_args *args, pfd_source *out, pfd_error *err)
{
    const json_lines_attrs *attrs = args->attrs;
    pfd_json_fields *fields = NULL;
    pfd_source_wrap wrap = {.free_state = pfd_json_fields_free, .text = args};
    PFD_TRY(pfd_text_check(args, '"', 0, err));
    if (!pfd_files_are_stream(args)) PFD_TRY(find_heads(args, &wrap.heads, err));
    PFD_TRY(pfd_json_fields_make(args->host, attrs->fields, &fields, err));
    fields->invalid_utf8 = attrs->invalid_utf8;
    wrap.state = fields;
    pfd_status status = args->host->open_lines(args, out, err);
    if (status != PFD_OK) {
        pfd_json_fields_free(fields);
        return status;
    }
    return pfd_source_wrap_open(&wrap, out, err);
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    return pfd_json_rows(pfd_wrapped_source_state(args->source), args, err);
}

/* ---- The op ---------------------------------------------------------------------------------- */

static const pfd_attr attrs_table[] = {
    PFD_FOUND_ATTR_ROW(json_lines_attrs, fields, PFD_ATTR_LIST_STRING, NULL, 0, 0, NULL,
                       "The values to read, one output each: [NAME=]KEY[:TYPE][=DEFAULT]. KEY is a "
                       "path: names with dots between them, and [N] for an element of an array, "
                       "such as meta.lang or tags[0]; a name with dots, brackets or colons is "
                       "written in single quotes. TYPE is bool, an integer, float32 or float64, "
                       "with a shape for arrays, such as float32[3] or int64[?]; bytes or str for "
                       "a string; json for the text of any value. Left out, they are all fields "
                       "of the first records, with the types that these have."),
    PFD_CHOICE_ATTR(json_lines_attrs, invalid_utf8, "error", "error|replace|keep",
                    "What becomes of bytes in strings that are not UTF-8: \"error\": the line is "
                    "damaged; \"replace\": U+FFFD takes their place, as by Python's "
                    "decode(errors=\"replace\"); \"keep\": they stay as they are, also in names."),
};

static const pfd_port outputs[] = {
    {"field", "The values of a field, ragged where a dimension varies or the type is bytes."},
};

const pfd_op pfd_op_json_lines_reader = {
    PFD_READER(PFD_READS_FILES, outputs),
    .name = "JSONLinesReader",
    .doc = "Reads fields of JSON Lines files, in which each line is a JSON object. Each element of "
           "fields becomes an output. All of a line is checked as RFC 8259 says, with at most 64 "
           "levels of arrays and objects. Numbers are not changed: an integer field takes "
           "integers in its range, a float field the nearest float. Strings become UTF-8. A value "
           "that is missing or null is an error without a default, and so is a value of another "
           "kind. Where a name is repeated, its last value counts. Blank lines, empty files and a "
           "UTF-8 byte order mark are skipped.",
    PFD_OP_ATTRS(json_lines_attrs, attrs_table),
    .outputs_attr = "fields",
    .same_without = pfd_always_same,
    .propose = propose,
};
