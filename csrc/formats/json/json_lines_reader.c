/* JSONLinesReader: fields of the JSON objects that are the lines of a file, or the elements of the
 * array that it holds. */
#include "core/op_shorthand.h"
#include "files/file_stream.h"
#include "formats/json/json_fields.h"
#include "pyflowdata/pyflowdata.h"
#include "sources/text.h"
#include "sources/wrapped_source.h"

#include <inttypes.h>
#include <stdio.h>

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

/* ---- Files that are one array of objects ----------------------------------------------------- */

/* A frame is an element with the comma or bracket after it.  Its end is found by brackets alone:
 * what is wrong inside an element costs one record. */
typedef struct element {
    int32_t is_first;        /* in: the bracket that begins the array is read, and no element */
    int64_t begin, end, next; /* out: in the text; end == begin: there is no element */
    int64_t at;               /* out: of the problem */
    const char *problem;      /* out: NULL: none */
} element;

static int64_t pass_blanks(const uint8_t *text, int64_t size, int64_t at)
{
    while (at < size && (text[at] == ' ' || text[at] == '\t' || text[at] == '\n' ||
                         text[at] == '\r'))
        at++;
    return at;
}

/* Passes a value, up to a comma or a bracket that is not the value's; `size` or more: the text ends
 * before. */
static int64_t pass_value(const uint8_t *text, int64_t size, int64_t at)
{
    int64_t depth = 0;
    for (int32_t is_text = 0; at < size; at++) {
        uint8_t c = text[at];
        if (is_text && c == '\\') at++;
        else if (c == '"') is_text = !is_text;
        else if (is_text) continue;
        else if (c == '{' || c == '[') depth++;
        else if (depth == 0 && (c == ',' || c == ']' || c == '}')) return at;
        else if (c == '}' || c == ']') depth--;
    }
    return at;
}

static pfd_status refuse(element *e, int64_t at, const char *problem)
{
    e->at = at;
    e->problem = problem;
    return PFD_OK;
}

/* What follows the array, from `at` on. */
static pfd_status end_array(element *e, const uint8_t *text, int64_t size, int64_t at,
                            int32_t is_end)
{
    e->next = pass_blanks(text, size, at);
    if (e->next < size) return refuse(e, e->next, "expected the end of the file after the array");
    return is_end ? PFD_OK : PFD_END;
}

static pfd_status begin_array(element *e, const uint8_t *text, int64_t size, int32_t is_end)
{
    int64_t at = pass_blanks(text, size, pfd_text_mark_bytes(text, size));
    if (at < size && text[at] != '[')
        return refuse(e, at, "expected '[', as the first file is an array");
    e->next = pass_blanks(text, size, at + 1);
    if (e->next < size) return text[e->next] == ']' ? end_array(e, text, size, e->next + 1, is_end)
                                                    : PFD_OK;
    return is_end ? refuse(e, at, "expected a value and ']' after the '['") : PFD_END;
}

/* Finds the end of an element, or begins the array; PFD_END: the text ends before. */
static pfd_status look_for_element(void *ctx, const uint8_t *text, int64_t size, int32_t is_end,
                                   pfd_error *err)
{
    (void)err;
    element *e = ctx;
    if (e->is_first) return begin_array(e, text, size, is_end);
    e->begin = pass_blanks(text, size, 0);
    int64_t at = pass_value(text, size, e->begin);
    if (at >= size && !is_end) return PFD_END;
    if (at >= size)
        return refuse(e, e->begin, "expected ',' or ']' after the element that begins here");
    if (text[at] == '}') return refuse(e, at, "expected ',' or ']'");
    e->end = at;
    while (e->end > e->begin && pass_blanks(text, e->end, e->end - 1) == e->end) e->end--;
    if (e->end == e->begin) return refuse(e, at, "expected a value");
    e->next = at + 1;
    if (text[at] == ']') return end_array(e, text, size, e->next, is_end);
    if (e->next < size) return PFD_OK;
    return is_end ? refuse(e, at, "expected a value after the ','") : PFD_END;
}

static pfd_status frame(const pfd_frame_args *args, pfd_frame *out, pfd_error *err)
{
    element e = {.is_first = args->offset == 0};
    PFD_TRY(pfd_text_look(args->host, args->file, args->offset, args->scratch, look_for_element,
                          &e, err));
    if (e.problem) {
        const uint8_t *text = pfd_file_data(args->file);
        int64_t byte = args->offset + e.at, line = byte;
        if (!text)
            return args->host->fail_file(err, args->file, byte, PFD_CORRUPT_DATA, "%s", e.problem);
        while (line > 0 && text[line - 1] != '\n') line--;
        pfd_status status = args->host->fail_file(err, args->file, byte, PFD_CORRUPT_DATA,
                                                  "column %" PRId64 ": %s", byte - line + 1,
                                                  e.problem);
        err->line = 1 + pfd_newline_scan_best()->count(text, byte);
        return status;
    }
    out->is_record = e.end > e.begin;
    out->data = args->offset + e.begin;
    out->size = e.end - e.begin;
    out->next = args->offset + e.next;
    return PFD_OK;
}

static const pfd_framing framing = {PFD_SIZE(pfd_framing), .frame = frame};

static pfd_status look_for_array(void *is_array, const uint8_t *text, int64_t size, int32_t is_end,
                                 pfd_error *err)
{
    (void)err;
    int64_t mark = pfd_text_mark_bytes(text, size);
    int32_t first = pfd_json_array_first(text + mark, size - mark);
    if (first < 0 && !is_end) return PFD_END;
    *(int32_t *)is_array = first == '{' || first == ']';
    return PFD_OK;
}

/* Whether the first file that is not empty begins as an array of objects. */
static pfd_status find_array(const pfd_open_args *args, int32_t *is_array, pfd_error *err)
{
    *is_array = 0;
    pfd_stream_window window = {0};
    pfd_status status = PFD_OK;
    for (int64_t i = 0; i < args->num_files && status == PFD_OK; i++) {
        const pfd_file *file;
        if (args->files[i]->size == 0) continue;
        status = pfd_text_file(args->files[i], &window, &file, err);
        if (status == PFD_OK)
            status = pfd_text_look(args->host, file, 0, args->scratch, look_for_array, is_array,
                                   err);
        break;
    }
    pfd_stream_window_close(&window);
    return status;
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
    int32_t is_array;
    PFD_TRY(find_array(args, &is_array, err));
    if (!is_array && !pfd_files_are_stream(args)) PFD_TRY(find_heads(args, &wrap.heads, err));
    PFD_TRY(pfd_json_fields_make(args->host, attrs->fields, &fields, err));
    fields->invalid_utf8 = attrs->invalid_utf8;
    fields->is_array = is_array;
    wrap.state = fields;
    pfd_status status = is_array ? args->host->open_frames(args, &framing, out, err)
                                 : args->host->open_lines(args, out, err);
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
                       "a string; json for the text of any value. If left out, all fields of the "
                       "first records, with the types that they have there."),
    PFD_CHOICE_ATTR(json_lines_attrs, invalid_utf8, "error", "error|replace|keep",
                    "How to handle bytes in strings that are not UTF-8: \"error\": the line is "
                    "damaged; \"replace\": U+FFFD replaces them, as in Python's "
                    "decode(errors=\"replace\"); \"keep\": they stay as they are, also in names."),
};

static const pfd_port outputs[] = {
    {"field", "The values of a field, ragged where a dimension varies or the type is bytes."},
};

const pfd_op pfd_op_json_lines_reader = {
    /* a call learns the order of the members */
    PFD_READER(PFD_READS_FILES | PFD_COSTLY_CALLS, outputs),
    .name = "JSONLinesReader",
    .doc = "Reads fields of JSON Lines files, in which each line is a JSON object, or of files "
           "that are one array of objects, of any layout. Each element of fields becomes an "
           "output. Each line is checked completely against RFC 8259, with at most 64 levels of "
           "arrays and objects. Numbers are not changed: an integer field takes integers in its "
           "range, a float field the nearest float. Strings become UTF-8. A missing or null value "
           "is an error if the field has no default; a value of another kind is always an error. "
           "If a name is repeated, its last value counts. Blank lines, empty files and a UTF-8 "
           "byte order mark are skipped.",
    PFD_OP_ATTRS(json_lines_attrs, attrs_table),
    .outputs_attr = "fields",
    .same_without = pfd_always_same,
    .propose = propose,
};
