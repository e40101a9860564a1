/* CSVReader: columns of delimited text. */
#include "core/op_shorthand.h"
#include "files/file_stream.h"
#include "formats/csv/csv_rows.h"
#include "formats/csv/csv_value.h"
#include "index/line_scan.h"
#include "parse/words.h"
#include "pyflowdata/pyflowdata.h"
#include "sources/text.h"
#include "sources/wrapped_source.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct csv_attrs {
    pfd_list_string columns, missing;
    const char *delimiter, *quote, *comment;
    int64_t skip_header_lines;
    int32_t header, uneven_rows, multiline, strict_numbers;
} csv_attrs;

enum { header_auto, header_yes, header_no };

/* ---- Attrs ----------------------------------------------------------------------------------- */

static pfd_csv_format format_of(const csv_attrs *attrs)
{
    uint8_t delimiter = (uint8_t)attrs->delimiter[0], quote = (uint8_t)attrs->quote[0];
    return (pfd_csv_format){.delimiter = delimiter,
                            .quote = quote ? quote : delimiter,
                            .multiline = attrs->multiline,
                            .comment = attrs->comment};
}

static const char *shown(const char *text, char *out, size_t capacity)
{
    return pfd_quote_bytes((const void *)text, (int64_t)strlen(text), out, capacity);
}

static pfd_status check_format(const pfd_host *host, const csv_attrs *attrs, pfd_error *err)
{
    const char *d = attrs->delimiter, *q = attrs->quote, *c = attrs->comment;
    char text[256];
    if (strlen(d) != 1 || strchr("\r\n", *d))
        return host->fail_attr(err, "delimiter", NULL, PFD_INVALID_ARGUMENT,
                               ": %s; it must be one byte other than a line end",
                               shown(d, text, sizeof text));
    if (*d >= '0' && *d <= '9')
        return host->fail_attr(err, "delimiter", NULL, PFD_INVALID_ARGUMENT,
                               ": '%s'; it must not be a digit, which numbers consist of", d);
    if (strlen(q) > 1 || (*q && strchr("\r\n", *q)) || *q == *d)
        return host->fail_attr(err, "quote", NULL, PFD_INVALID_ARGUMENT,
                               ": %s; it must be one byte that is neither the delimiter nor a line "
                               "end, or empty for files without quotes",
                               shown(q, text, sizeof text));
    if (strpbrk(c, "\r\n"))
        return host->fail_attr(err, "comment", NULL, PFD_INVALID_ARGUMENT,
                               ": %s contains a line end; it must be the beginning of lines that "
                               "are not rows", shown(c, text, sizeof text));
    if (*c && (*c == *d || *c == *q))
        return host->fail_attr(err, "comment", NULL, PFD_INVALID_ARGUMENT,
                               ": %s begins with the %s, as rows can: those rows would be skipped; "
                               "give a text that only comment lines begin with",
                               shown(c, text, sizeof text), *c == *d ? "delimiter" : "quote");
    return PFD_OK;
}

/* Whether files have a header.  The columns have been parsed without a failure before. */
static int32_t has_header(const pfd_host *host, const csv_attrs *attrs)
{
    pfd_error err = {.struct_size = sizeof err};
    pfd_csv_column column;
    if (attrs->header != header_auto) return attrs->header == header_yes;
    for (int64_t i = 0; i < attrs->columns.size; i++)
        if (pfd_csv_column_parse(host, attrs->columns.data[i], &column, &err) == PFD_OK &&
            column.has_names)
            return 1;
    return 0;
}

static int32_t same_without(const pfd_host *host, const void *attrs, const void *fewer)
{
    return has_header(host, attrs) == has_header(host, fewer);
}

static pfd_status check_column(const pfd_host *host, const csv_attrs *attrs,
                               const pfd_csv_column *column, pfd_error *err)
{
    if (column->has_names && attrs->header == header_no)
        return host->fail_attr(err, "columns", NULL, PFD_INVALID_ARGUMENT,
                               ": '%s' asks for a column by name, but header='no' says that files "
                               "have no names; give its number, from 0", column->spec);
    if (!column->default_text || column->is_bytes) return PFD_OK;
    return pfd_csv_defaults(host, column, NULL, err);
}

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const csv_attrs *attrs = args->attrs;
    PFD_TRY(check_format(args->host, attrs, err));
    for (int64_t i = 0; i < attrs->columns.size; i++) {
        pfd_csv_column column;
        PFD_TRY(pfd_csv_column_parse(args->host, attrs->columns.data[i], &column, err));
        PFD_TRY(check_column(args->host, attrs, &column, err));
        args->outputs[i] = column.type;
    }
    return PFD_OK;
}

/* ---- Records --------------------------------------------------------------------------------- */

typedef struct extent {
    pfd_csv_format format;
    int64_t at; /* bytes of the blank lines and comments before the record */
    int32_t pass_blank;
    pfd_csv_extent found;
    const uint8_t *text; /* of the record */
    int64_t begin;       /* where find_head() found it in the file */
} extent;

static pfd_status look_for_record(void *ctx, const uint8_t *text, int64_t size, int32_t is_end,
                                  pfd_error *err)
{
    extent *self = ctx;
    (void)err;
    self->found = (pfd_csv_extent){.open_quote = -1};
    for (self->at = 0; self->at < size; self->at += self->found.next) {
        self->text = text + self->at;
        if (!pfd_csv_scan(&self->format, self->text, size - self->at, is_end, &self->found))
            return PFD_END;
        if (self->found.is_record || !self->pass_blank) return PFD_OK;
    }
    return is_end ? PFD_OK : PFD_END;
}

static pfd_status fail_open_quote(const pfd_host *host, const pfd_file *file, int64_t byte,
                                  pfd_error *err)
{
    pfd_status status =
        host->fail_file(err, file, byte, PFD_CORRUPT_DATA,
                        "the quoted field that begins here is not closed before the file ends, at "
                        "byte %" PRId64 "; is a quote missing, or is the file truncated?",
                        file->size);
    const uint8_t *text = pfd_file_data(file);
    if (text) err->line = 1 + pfd_newline_scan_best()->count(text, byte);
    return status;
}

/* Finds where the rows of a file begin: after the skipped lines and the header.  *first is the
 * first record, which may be the header; its text is NULL if the file has no records. */
static pfd_status find_head(const pfd_host *host, const pfd_file *file, const csv_attrs *attrs,
                            int32_t header, pfd_scratch *scratch, int64_t *head, extent *first,
                            pfd_error *err)
{
    *first = (extent){.format = format_of(attrs), .pass_blank = 1};
    pfd_status status = pfd_text_head(host, file, attrs->skip_header_lines, scratch, head, err);
    if (status != PFD_OK || *head == file->size) return status;
    PFD_TRY(pfd_text_look(host, file, *head, scratch, look_for_record, first, err));
    if (!first->found.is_record) {
        first->text = NULL;
        return PFD_OK;
    }
    if (first->found.open_quote >= 0)
        return fail_open_quote(host, file, *head + first->at + first->found.open_quote, err);
    first->begin = *head + first->at;
    if (header) *head = first->begin + first->found.next;
    return PFD_OK;
}

/* Finds a row of a file in which a row can be more than a line. */
static pfd_status frame(const pfd_frame_args *args, pfd_frame *out, pfd_error *err)
{
    const csv_attrs *attrs = args->attrs;
    if (args->offset == 0) {
        int64_t head;
        extent first;
        PFD_TRY(find_head(args->host, args->file, attrs, has_header(args->host, attrs),
                          args->scratch, &head, &first, err));
        if (head > 0) {
            out->is_record = 0;
            out->next = head;
            return PFD_OK;
        }
    }
    extent self = {.format = format_of(attrs)};
    PFD_TRY(pfd_text_look(args->host, args->file, args->offset, args->scratch,
                          look_for_record, &self, err));
    if (self.found.open_quote >= 0)
        return fail_open_quote(args->host, args->file, args->offset + self.found.open_quote, err);
    out->is_record = self.found.is_record;
    out->data = args->offset;
    out->size = self.found.size;
    out->next = args->offset + self.found.next;
    return PFD_OK;
}

static const pfd_framing framing = {PFD_SIZE(pfd_framing), .frame = frame};

/* ---- Open ------------------------------------------------------------------------------------ */

static void free_table(void *kept)
{
    pfd_csv_table *table = kept;
    for (int64_t i = 0; table->layouts && i < table->num_files; i++)
        if (i == 0 || table->layouts[i] != table->layouts[i - 1])
            pfd_csv_layout_free(table->layouts[i]);
    for (int64_t i = 0; table->defaults && i < table->num_columns; i++) free(table->defaults[i]);
    free(table->layouts);
    free(table->defaults);
    free(table->columns);
    free(table);
}

static pfd_status fail_memory(const pfd_host *host, pfd_error *err)
{
    return host->fail(err, PFD_OUT_OF_MEMORY, "no memory for the table of columns");
}

static pfd_status parse_columns(const pfd_host *host, const csv_attrs *attrs, pfd_csv_table *table,
                                pfd_error *err)
{
    for (int64_t i = 0; i < table->num_columns; i++)
        PFD_TRY(pfd_csv_column_parse(host, attrs->columns.data[i], &table->columns[i], err));
    return PFD_OK;
}

/* Called after the layouts are made, which fails if the files have too few columns. */
static pfd_status fill_defaults(const pfd_host *host, pfd_csv_table *table, pfd_error *err)
{
    for (int64_t i = 0; i < table->num_columns && table->most_fields > 0; i++) {
        const pfd_csv_column *column = &table->columns[i];
        if (!column->default_text || column->is_bytes) continue;
        size_t bytes = (size_t)pfd_dtype_size(column->type.dtype);
        table->defaults[i] = calloc((size_t)column->num_values + 1, bytes);
        if (!table->defaults[i]) return fail_memory(host, err);
        PFD_TRY(pfd_csv_defaults(host, column, table->defaults[i], err));
    }
    return PFD_OK;
}

/* Whether the file has this layout: files with equal first rows share one. */
static int32_t is_layout_of(const pfd_csv_layout *layout, const extent *first)
{
    return layout && layout->has_header && layout->first_row_size == first->found.size &&
           !memcmp(layout->first_row, first->text, (size_t)first->found.size);
}

static pfd_status fill_layouts(const pfd_open_args *args, pfd_stream_window *window,
                               pfd_csv_table *table, int64_t *heads, pfd_error *err)
{
    const pfd_host *host = args->host;
    int32_t header = has_header(host, args->attrs);
    pfd_csv_layout *last = NULL;
    for (int64_t i = 0; i < args->num_files; i++) {
        extent first;
        const pfd_file *file;
        PFD_TRY(pfd_text_file(args->files[i], window, &file, err));
        PFD_TRY(find_head(host, file, args->attrs, header, args->scratch, &heads[i], &first, err));
        if (first.text && !is_layout_of(last, &first))
            PFD_TRY(pfd_csv_layout_make(host, file, first.begin, table, header, first.text,
                                        first.found.size, &last, err));
        table->layouts[i] = last;
        if (last && last->num_fields > table->most_fields) table->most_fields = last->num_fields;
    }
    return PFD_OK;
}

static pfd_status make_table(const pfd_open_args *args, int64_t *heads, pfd_csv_table **out,
                             pfd_error *err)
{
    const csv_attrs *attrs = args->attrs;
    pfd_csv_table *table = calloc(1, sizeof *table);
    if (!table) return fail_memory(args->host, err);
    *out = table;
    table->format = format_of(attrs);
    table->missing = attrs->missing;
    table->allow_uneven = attrs->uneven_rows;
    table->is_strict = attrs->strict_numbers;
    table->num_columns = attrs->columns.size;
    table->num_files = args->num_files;
    table->columns = calloc((size_t)table->num_columns + 1, sizeof *table->columns);
    table->defaults = calloc((size_t)table->num_columns + 1, sizeof *table->defaults);
    table->layouts = calloc((size_t)table->num_files + 1, sizeof *table->layouts);
    if (!table->columns || !table->defaults || !table->layouts) return fail_memory(args->host, err);
    PFD_TRY(parse_columns(args->host, attrs, table, err));
    pfd_stream_window window = {0};
    pfd_status status = fill_layouts(args, &window, table, heads, err);
    pfd_stream_window_close(&window);
    return status == PFD_OK ? fill_defaults(args->host, table, err) : status;
}

/* Opens rows as lines unless the attrs allow more than a line per row. In a stream, frame() skips
 * the headers. */
static pfd_status open_rows(const pfd_open_args *args, const pfd_csv_format *format,
                            const int64_t *heads, pfd_source *out, int32_t *is_framed,
                            pfd_error *err)
{
    *is_framed = format->multiline || *format->comment || strchr(" \t", format->delimiter);
    for (int64_t i = 0; i < args->num_files && pfd_files_are_stream(args); i++)
        if (heads[i] > 0) *is_framed = 1;
    return *is_framed ? args->host->open_frames(args, &framing, out, err)
                      : args->host->open_lines(args, out, err);
}

static pfd_status open_source(const pfd_open_args *args, pfd_source *out, pfd_error *err)
{
    pfd_csv_table *table = NULL;
    int64_t *heads = args->host->alloc(args->scratch, args->num_files * (int64_t)sizeof *heads);
    int32_t is_framed = 0;
    const csv_attrs *attrs = args->attrs;
    pfd_status status = heads ? PFD_OK : fail_memory(args->host, err);
    int32_t is_header = !attrs->skip_header_lines && !*attrs->comment &&
                        has_header(args->host, attrs);
    if (status == PFD_OK) status = pfd_text_check(args, (uint8_t)attrs->quote[0], is_header, err);
    if (status == PFD_OK) status = make_table(args, heads, &table, err);
    if (status == PFD_OK) status = open_rows(args, &table->format, heads, out, &is_framed, err);
    if (status != PFD_OK) {
        if (table) free_table(table);
        return status;
    }
    const pfd_source_wrap wrap = {.state = table,
                                  .free_state = free_table,
                                  .text = args,
                                  .heads = is_framed ? NULL : heads};
    return pfd_source_wrap_open(&wrap, out, err);
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    return pfd_csv_compute(pfd_wrapped_source_state(args->source), args, err);
}

/* ---- When the node is made ------------------------------------------------------------------- */

/* Fails unless the first file has the columns that the user gave. */
static pfd_status check_file(const pfd_propose_args *args, const pfd_file *file,
                             pfd_csv_table *table, pfd_error *err)
{
    int64_t head;
    extent first;
    pfd_csv_layout *layout = NULL;
    int32_t header = has_header(args->host, args->attrs);
    PFD_TRY(parse_columns(args->host, args->attrs, table, err));
    PFD_TRY(find_head(args->host, file, args->attrs, header, args->scratch, &head, &first, err));
    if (!first.text) return PFD_OK;
    pfd_status status = pfd_csv_layout_make(args->host, file, first.begin, table, header,
                                            first.text, first.found.size, &layout, err);
    pfd_csv_layout_free(layout);
    return status;
}

static pfd_status propose(const pfd_propose_args *args, pfd_error *err)
{
    const csv_attrs *attrs = args->attrs;
    const pfd_file *file;
    int64_t n = attrs->columns.size;
    if (n == 0) return PFD_OK; /* Python finds the columns in the first rows */
    PFD_TRY(check_format(args->host, attrs, err));
    PFD_TRY(args->open(args->found, 0, &file, err));
    pfd_csv_table table = {.format = format_of(attrs), .num_columns = n};
    table.columns = args->host->alloc(args->scratch, n * (int64_t)sizeof *table.columns);
    return table.columns ? check_file(args, file, &table, err) : fail_memory(args->host, err);
}

/* ---- The op ---------------------------------------------------------------------------------- */

static const pfd_attr attrs_table[] = {
    PFD_FOUND_ATTR_ROW(csv_attrs, columns, PFD_ATTR_LIST_STRING, NULL, 0, 0, NULL,
                       "The columns to read, one output each: [NAME=]KEY[:TYPE][=DEFAULT]. KEY is "
                       "a column's name or number, a range such as 1..64, or several of these "
                       "separated by |, for one array. If left out, all columns, with the types "
                       "that the first rows show."),
    PFD_STRING_ATTR(csv_attrs, delimiter, ",", "The byte between two fields."),
    PFD_STRING_ATTR(csv_attrs, quote, "\"",
                    "The byte that encloses fields with delimiters in them; empty: quotes are "
                    "text."),
    PFD_STRING_ATTR(csv_attrs, comment, "",
                    "The text at the beginning of lines that are not rows, such as comments; "
                    "empty: every line is a row."),
    PFD_CHOICE_ATTR(csv_attrs, header, "auto", "auto|yes|no",
                    "Whether each file begins with a row of names; auto: yes if a column is asked "
                    "for by name."),
    PFD_INT_ATTR(csv_attrs, skip_header_lines, "0", 0, 1e9,
                 "How many lines to skip at the beginning of each file, before the header."),
    PFD_STRINGS_ATTR(csv_attrs, missing, "NA,N/A,NaN,nan,null,NULL",
                     "Texts that mean a missing value, as an empty field does; the column's "
                     "default replaces them."),
    PFD_CHOICE_ATTR(csv_attrs, uneven_rows, "raise", "raise|allow",
                    "Whether rows may have fewer fields than the header (the others are then "
                    "missing values) or more (the rest is ignored)."),
    PFD_BOOL_ATTR(csv_attrs, multiline, "false", "Whether quoted fields may contain line ends."),
    PFD_ATTR_ROW_WITH(csv_attrs, strict_numbers, PFD_ATTR_BOOL, "false", 0, 0, NULL,
                      "Whether a number is an error if its type does not keep it as written: in "
                      "integer columns a plus sign, leading zeros as in 007, and -0; in float "
                      "columns an integer of more digits than float64 holds, and a number beyond "
                      "the range of float64.",
                      PFD_NOT_IN_SPEC),
};

static const pfd_port outputs[] = {
    {"column", "The column or columns of the element, one row for each row of the file."},
};

const pfd_op pfd_op_csv_reader = {
    PFD_READER(PFD_READS_FILES | PFD_CHECKS_FILES, outputs),
    .name = "CSVReader",
    .doc = "Reads columns of CSV files and of other delimited text. Each element of columns "
           "becomes an output. Its type is float64 unless the element gives another one: bool, an "
           "integer, float32, or bytes, which are not changed. Several columns become one array. A "
           "field that begins with the quote ends at the next one, and two quotes inside it mean "
           "one. Spaces and tabs around a number are allowed. A missing value without a default, "
           "and a row with more or fewer fields than the header, are errors. Blank lines, empty "
           "files and a UTF-8 byte order mark are skipped.",
    PFD_OP_ATTRS(csv_attrs, attrs_table),
    .outputs_attr = "columns",
    .same_without = same_without,
    .propose = propose,
};
