/* Checks the beginning of each text file, up to the first LF. */
#include "sources/text_check.h"

#include "core/error.h"
#include "core/scratch.h"
#include "files/file_read.h"
#include "parse/first_bytes.h"
#include "sources/text_head.h"

#include <string.h>

enum {
    some_bytes = 64 * 1024,  /* how much is read if there is neither CR nor LF */
    most_bytes = 16 << 20    /* how much is read with CR but no LF, as a progress bar writes */
};

typedef struct check {
    const pfd_file *file;
    uint8_t quote; /* 0: none */
    int32_t is_header;
} check;

static pfd_status fail_encoding(const pfd_file *file, const char *mark, const char *name,
                                pfd_error *err)
{
    return pfd_fail_at(err, file, 0, PFD_UNSUPPORTED,
                       "the file %s %s, but only UTF-8 and other encodings that include ASCII can "
                       "be read; convert it, for example by: iconv -f %s -t UTF-8",
                       mark, name, name);
}

/* Whether there are two or more CR without LF outside of quotes.  Several in a row count once; the
 * last byte counts only if the text ends there. */
static int32_t has_lone_returns(const uint8_t *text, int64_t size, int32_t is_end, uint8_t quote)
{
    int32_t found = 0, is_quoted = 0;
    for (int64_t i = 0; i < size && found < 2; i++) {
        is_quoted ^= quote && text[i] == quote;
        int32_t is_last = i + 1 < size ? text[i + 1] != '\r' : is_end;
        found += text[i] == '\r' && is_last && !is_quoted;
    }
    return found == 2;
}

/* Checks the first line.  It may have CR in it, as a progress bar writes, unless it is a header,
 * or is the whole text and ends with a CR. */
static pfd_status look_at_line(const check *self, const uint8_t *text, int64_t line, int64_t size,
                               int32_t is_end, int32_t *is_found)
{
    int32_t has_crlf = line > 0 && text[line - 1] == '\r';
    *is_found = 0;
    if (!self->is_header && (!has_crlf || line + 1 < size)) return PFD_OK;
    *is_found = has_lone_returns(text, line - has_crlf, !has_crlf, self->quote);
    return *is_found && !self->is_header && !is_end ? PFD_END : PFD_OK;
}

static pfd_status look(void *ctx, const uint8_t *text, int64_t size, int32_t is_end,
                       pfd_error *err)
{
    const check *self = ctx;
    const char *marked = pfd_marked_encoding(text, size);
    const char *unmarked = pfd_unmarked_encoding(text, size);
    const char *foreign = pfd_foreign_container(text, size);
    if (foreign)
        return pfd_fail_at(err, self->file, -1, PFD_INVALID_ARGUMENT,
                           "it looks like %s, which this op does not read", foreign);
    if (marked) return fail_encoding(self->file, "begins with the byte order mark of", marked, err);
    if (unmarked) return fail_encoding(self->file, "looks like", unmarked, err);
    if (size == 0) return PFD_OK;
    int32_t is_found, is_all = is_end && size <= most_bytes;
    int64_t looked_at = size < most_bytes ? size : most_bytes;
    const uint8_t *newline = memchr(text, '\n', (size_t)looked_at);
    if (newline) {
        PFD_TRY(look_at_line(self, text, newline - text, size, is_end, &is_found));
    } else {
        int32_t is_enough = is_all || looked_at == most_bytes;
        if (!is_enough && size < some_bytes) return PFD_END;
        is_found = has_lone_returns(text, looked_at, is_all, self->quote);
        if (is_found && !is_enough) return PFD_END;
    }
    if (!is_found) return PFD_OK;
    return pfd_fail_at(err, self->file, -1, PFD_UNSUPPORTED,
                       "lines seem to end with CR alone, as of old Macs: there are several CR "
                       "before the first LF, so that all would be one record; convert the file, "
                       "for example by: tr '\\r' '\\n'");
}

static pfd_status check_file(const pfd_file *file, pfd_stream_window *window, uint8_t quote,
                             int32_t is_header, pfd_scratch *scratch, pfd_error *err)
{
    /* The scratch is not one that the op was given: a host that looks closely would refuse it. */
    static const pfd_host host = {.struct_size = sizeof host, .read = pfd_file_read};
    if (file->size == 0) return PFD_OK;
    PFD_TRY(pfd_text_file(file, window, &file, err));
    check self = {file, quote, is_header};
    pfd_status status = pfd_text_look(&host, file, 0, scratch, look, &self, err);
    if (status != PFD_CORRUPT_DATA) return status;
    pfd_error_clear(err); /* reading the records will report the damage */
    return PFD_OK;
}

pfd_status pfd_text_check(const pfd_open_args *args, uint8_t quote, int32_t is_header,
                          pfd_error *err)
{
    pfd_stream_window window = {0};
    pfd_scratch *scratch = pfd_scratch_create(); /* open()'s is kept until it returns */
    pfd_status status = scratch ? PFD_OK : pfd_fail_memory(err, 0, "a scratch");
    for (int64_t i = 0; i < args->num_files && status == PFD_OK; i++) {
        status = check_file(args->files[i], &window, quote, is_header, scratch, err);
        pfd_scratch_reset(scratch);
    }
    pfd_stream_window_close(&window);
    pfd_scratch_free(scratch);
    return status;
}
