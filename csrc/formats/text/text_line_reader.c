/* TextLineReader: reads the lines of text files as bytes. */
#include "core/op_shorthand.h"
#include "files/file_stream.h"
#include "sources/text.h"
#include "sources/wrapped_source.h"

#include <string.h>

typedef struct text_line_attrs {
    int64_t skip_header_lines;
    int32_t keep_blank_lines;
} text_line_attrs;

PFD_INFER_BYTES

/* ---- Lines as frames: used if blank lines are records, or compressed files have headers ------ */

typedef struct line {
    int64_t size, next; /* from the line's beginning */
    int32_t is_blank;
} line;

static pfd_status look_for_end(void *ctx, const uint8_t *text, int64_t size, int32_t is_end,
                               pfd_error *err)
{
    line *self = ctx;
    (void)err;
    const uint8_t *newline = memchr(text, '\n', (size_t)size);
    if (!newline && !is_end) return PFD_END;
    self->size = newline ? newline - text : size;
    self->next = newline ? self->size + 1 : size;
    self->size -= self->size > 0 && text[self->size - 1] == '\r';
    self->is_blank = 1;
    for (int64_t i = 0; i < self->size && self->is_blank; i++)
        self->is_blank = text[i] == ' ' || text[i] == '\t' || text[i] == '\r';
    return PFD_OK;
}

static pfd_status frame(const pfd_frame_args *args, pfd_frame *out, pfd_error *err)
{
    const text_line_attrs *attrs = args->attrs;
    if (args->offset == 0) {
        int64_t head;
        PFD_TRY(pfd_text_head(args->host, args->file, attrs->skip_header_lines,
                              args->scratch, &head, err));
        if (head > 0) {
            out->is_record = 0;
            out->next = head;
            return PFD_OK;
        }
    }
    line found = {0};
    PFD_TRY(pfd_text_look(args->host, args->file, args->offset, args->scratch,
                          look_for_end, &found, err));
    out->is_record = attrs->keep_blank_lines || !found.is_blank;
    out->data = args->offset;
    out->size = found.size;
    out->next = args->offset + found.next;
    return PFD_OK;
}

static const pfd_framing framing = {PFD_SIZE(pfd_framing), .frame = frame};

/* Finds where the records of each file begin; the table is in the scratch. */
static pfd_status find_heads(const pfd_open_args *args, const int64_t **out, pfd_error *err)
{
    const text_line_attrs *attrs = args->attrs;
    int64_t *heads = args->host->alloc(args->scratch, args->num_files * (int64_t)sizeof *heads);
    if (!heads) return args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for a table of files");
    for (int64_t i = 0; i < args->num_files; i++)
        PFD_TRY(pfd_text_head(args->host, args->files[i], attrs->skip_header_lines,
                              args->scratch, &heads[i], err));
    *out = heads;
    return PFD_OK;
}

static pfd_status open_source(const pfd_open_args *args, pfd_source *out, pfd_error *err)
{
    const text_line_attrs *attrs = args->attrs;
    pfd_source_wrap wrap = {.text = args};
    int32_t is_stream = pfd_files_are_stream(args);
    int32_t is_framed = attrs->keep_blank_lines || (is_stream && attrs->skip_header_lines > 0);
    PFD_TRY(pfd_text_check(args, 0, 0, err));
    PFD_TRY(is_framed ? args->host->open_frames(args, &framing, out, err)
                      : args->host->open_lines(args, out, err));
    pfd_status status =
        is_framed || is_stream ? PFD_OK : find_heads(args, &wrap.heads, err);
    if (status != PFD_OK) {
        out->methods->close(out->self);
        return status;
    }
    return pfd_source_wrap_open(&wrap, out, err);
}

PFD_COMPUTE_BYTES

static const pfd_attr attrs_table[] = {
    PFD_INT_ATTR(text_line_attrs, skip_header_lines, "0", 0, 1e9,
                 "How many lines to skip at the beginning of each file, including blank lines."),
    PFD_BOOL_ATTR(text_line_attrs, keep_blank_lines, "false",
                  "Whether empty lines, and lines of only spaces and tabs, are records too."),
};

static const pfd_port outputs[] = {
    {"out", "The bytes of each line without its end, uint8 of shape (batch, None)."},
};

const pfd_op pfd_op_text_line_reader = {
    PFD_READER(PFD_READS_FILES, outputs),
    .name = "TextLineReader",
    .doc = "Reads the lines of text files as bytes. "
           "Lines end with LF or CRLF, which are not part of the output; the last line of a file "
           "may have no line end. Blank lines and empty files are skipped. A line never continues "
           "in the next file. The bytes are not decoded, whatever their encoding; a UTF-8 byte "
           "order mark at the beginning of a file is skipped.",
    PFD_OP_ATTRS(text_line_attrs, attrs_table),
};
