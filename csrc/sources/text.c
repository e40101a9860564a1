/* Text files: their beginnings, their line ends, walks over their lines. */
#include "sources/text.h"

#include "core/error.h"
#include "core/scratch.h"
#include "files/file_read.h"
#include "files/seal.h"
#include "parse/first_bytes.h"

#include <string.h>

/* ---- The beginning of a text ----------------------------------------------------------------- */

enum { first_window = 4096 };

pfd_status pfd_text_file(const pfd_file *file, pfd_stream_window *window, const pfd_file **out,
                         pfd_error *err)
{
    *out = file;
    if (pfd_file_compression(file) <= PFD_COMPRESSION_NONE) return PFD_OK;
    *out = &window->file.file;
    return pfd_stream_window_open(window, file, err);
}

pfd_status pfd_text_look(const pfd_host *host, const pfd_file *file, int64_t offset,
                         pfd_scratch *scratch, pfd_text_look_fn look, void *ctx, pfd_error *err)
{
    for (int64_t window = pfd_file_data(file) ? file->size - offset : first_window;; window *= 4) {
        int32_t is_end;
        int64_t size;
        const uint8_t *text;
        pfd_error damage; /* damage of later text: reported if the text before it is not enough */
        pfd_error_init(&damage);
        pfd_status rest = pfd_file_bytes_at(file, offset, window, scratch, &size, &is_end, &damage);
        PFD_TRY(host->read(file, offset, size, scratch, &text, err));
        pfd_status status = look(ctx, text, size, is_end, err);
        if (status != PFD_END || is_end) return status;
        if (rest == PFD_OK) continue;
        pfd_error_copy(err, &damage);
        return rest;
    }
}

typedef struct head {
    int64_t lines, bytes;
} head;

static pfd_status look_for_head(void *ctx, const uint8_t *text, int64_t size, int32_t is_end,
                                pfd_error *err)
{
    head *self = ctx;
    (void)err;
    if (size < 3 && !is_end) return PFD_END;
    self->bytes = pfd_text_mark_bytes(text, size);
    for (int64_t i = 0; i < self->lines; i++) {
        const uint8_t *from = text + self->bytes;
        const uint8_t *newline = memchr(from, '\n', (size_t)(size - self->bytes));
        if (!newline && !is_end) return PFD_END;
        self->bytes = newline ? newline + 1 - text : size;
    }
    return PFD_OK;
}

pfd_status pfd_text_head(const pfd_host *host, const pfd_file *file, int64_t lines,
                         pfd_scratch *scratch, int64_t *out, pfd_error *err)
{
    head self = {.lines = lines};
    *out = 0;
    if (file->size == 0) return PFD_OK;
    file = pfd_file_uncompared(file); /* the records there are compared when they are read */
    PFD_TRY(pfd_text_look(host, file, 0, scratch, look_for_head, &self, err));
    *out = self.bytes;
    return PFD_OK;
}

/* ---- How lines end --------------------------------------------------------------------------- */

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

static pfd_status look_at_ends(void *ctx, const uint8_t *text, int64_t size, int32_t is_end,
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
                       "lines seem to end with CR alone, as on old Macs: there are several CR "
                       "before the first LF, so that all lines would be one record; convert the "
                       "file, for example by: tr '\\r' '\\n'");
}

static pfd_status check_file(const pfd_file *file, pfd_stream_window *window, uint8_t quote,
                             int32_t is_header, pfd_scratch *scratch, pfd_error *err)
{
    /* The scratch is not one that the op was given: a host that looks closely would refuse it. */
    static const pfd_host host = {.struct_size = sizeof host, .read = pfd_file_read};
    if (file->size == 0) return PFD_OK;
    PFD_TRY(pfd_text_file(file, window, &file, err));
    check self = {file, quote, is_header};
    pfd_status status = pfd_text_look(&host, file, 0, scratch, look_at_ends, &self, err);
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
        status = check_file(pfd_file_uncompared(args->files[i]), &window, quote, is_header, scratch,
                            err);
        pfd_scratch_reset(scratch);
    }
    pfd_stream_window_close(&window);
    pfd_scratch_free(scratch);
    return status;
}

/* ---- Walks over lines ------------------------------------------------------------------------ */

enum { lines_at_once = 256, largest_window = 1024 * 1024 };

pfd_text_walk pfd_text_walk_begin(const pfd_newline_scan *scan, const pfd_file *file,
                                  pfd_scratch *scratch, int64_t offset, int64_t bytes)
{
    pfd_text_walk walk = {.scan = scan, .file = file, .scratch = scratch, .at = offset};
    walk.text = pfd_file_data(file);
    walk.end = walk.text ? file->size : 0;
    walk.window_bytes = bytes < largest_window ? bytes : largest_window;
    return walk;
}

/* Reads whole lines from `at` on, at least one, or the rest of the file. */
static pfd_status read_window(pfd_text_walk *walk, pfd_error *err)
{
    for (int64_t bytes = walk->window_bytes;; bytes *= 4) {
        int64_t left = walk->file->size - walk->at, size = left < bytes ? left : bytes;
        const uint8_t *text;
        PFD_TRY(pfd_file_read(walk->file, walk->at, size, walk->scratch, &text, err));
        const uint8_t *newline = size < left ? memrchr(text, '\n', (size_t)size) : NULL;
        if (size < left && !newline) continue; /* a line longer than that */
        walk->text = text;
        walk->begin = walk->at;
        walk->end = walk->at + (newline ? newline + 1 - text : size);
        return PFD_OK;
    }
}

/* Makes sure that the window has text; PFD_END at the end of the file. */
static pfd_status look(pfd_text_walk *walk, pfd_error *err)
{
    if (walk->at >= walk->file->size) return PFD_END;
    return walk->at < walk->end ? PFD_OK : read_window(walk, err);
}

static const uint8_t *here(const pfd_text_walk *walk)
{
    return walk->text + (walk->at - walk->begin);
}

pfd_status pfd_text_walk_pass_line(pfd_text_walk *walk, pfd_error *err)
{
    pfd_status status = look(walk, err);
    if (status != PFD_OK) return status == PFD_END ? PFD_OK : status;
    const uint8_t *newline = memchr(here(walk), '\n', (size_t)(walk->end - walk->at));
    walk->at = newline ? walk->begin + (newline + 1 - walk->text) : walk->end;
    return PFD_OK;
}

pfd_status pfd_text_walk_skip(pfd_text_walk *walk, int64_t records, pfd_error *err)
{
    pfd_status status = PFD_OK;
    while (records > 0 && (status = look(walk, err)) == PFD_OK)
        walk->at += walk->scan->skip(here(walk), walk->end - walk->at, &records);
    return status == PFD_END ? PFD_OK : status;
}

/* Makes a record of a line, unless it is blank. */
static inline int make_record(const uint8_t *data, int64_t size, int64_t offset, int64_t ordinal,
                              int32_t file, pfd_record *out)
{
    if (size == 0 || (*data <= ' ' && pfd_is_blank(data, data + size))) return 0;
    size -= data[size - 1] == '\r';
    *out = (pfd_record){
        .data = data, .size = size, .offset = offset, .ordinal = ordinal, .file = file};
    return 1;
}

int64_t pfd_text_walk_window(pfd_text_walk *walk, int64_t ordinal, int64_t n, pfd_record *out)
{
    uint32_t newlines[lines_at_once + PFD_SPLIT_SLACK];
    const int64_t at_once = INT64_C(1) << 30;
    const int32_t file = walk->file->index;
    int64_t done = 0;
    while (done < n && walk->at < walk->end) {
        const uint8_t *text = here(walk);
        int64_t left = walk->end - walk->at, first = walk->at, from = 0;
        int64_t wanted = n - done < lines_at_once ? n - done : lines_at_once;
        int64_t got = walk->scan->split(text, left < at_once ? left : at_once, wanted, newlines);
        for (int64_t i = 0; i < got; i++) {
            int64_t size = newlines[i] - from;
            done += make_record(text + from, size, first + from, ordinal + done, file, &out[done]);
            from += size + 1;
        }
        if (got == 0) { /* a huge line, or the last one and without newline */
            const uint8_t *newline = memchr(text, '\n', (size_t)left);
            int64_t size = newline ? newline - text : left;
            done += make_record(text, size, first, ordinal + done, file, &out[done]);
            from = size + 1;
        }
        walk->at = first + from;
    }
    return done;
}

pfd_status pfd_text_walk_read(pfd_text_walk *walk, int64_t ordinal, int64_t n, pfd_record *out,
                              int64_t *done, pfd_error *err)
{
    pfd_status status = PFD_OK;
    *done = 0;
    while (*done < n && (status = look(walk, err)) == PFD_OK)
        *done += pfd_text_walk_window(walk, ordinal + *done, n - *done, out + *done);
    return status == PFD_END ? PFD_OK : status;
}
