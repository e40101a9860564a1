/* A stream over the lines of text files. */
#include "sources/line_stream.h"

#include "core/error.h"
#include "core/scratch.h"
#include "files/file_stream.h"
#include "sources/line_numbers.h"
#include "sources/text_walk.h"

#include <stdlib.h>
#include <string.h>

enum { piece_bytes = 128 * 1024 /* of text that are looked at together */, passed_at_once = 256 };

typedef struct line_stream {
    pfd_file_stream files;
    const pfd_newline_scan *scan;
    pfd_line_numbers *numbers; /* owned */
    int64_t line;              /* of the text at files.offset, from 1 */
} line_stream;

/* Gets whole lines into the window, at least one, or the rest of the file.  PFD_END: there is
 * none. */
static pfd_status look(line_stream *self, pfd_text_walk *walk, pfd_error *err)
{
    pfd_file_stream *files = &self->files;
    pfd_stream_window *window = &files->window;
    PFD_TRY(pfd_file_stream_look(files, err));
    int64_t at = files->offset;
    if (at == 0) self->line = 1;
    *walk = (pfd_text_walk){
        .scan = self->scan, .file = &window->file.file, .at = at, .begin = at, .end = at};
    pfd_status status = PFD_OK;
    for (int64_t bytes = piece_bytes; walk->end == at; bytes *= 2) {
        status = pfd_stream_window_fill(window, at + bytes, files->scratch, err);
        walk->text = pfd_stream_window_at(window, at);
        const uint8_t *newline = memrchr(walk->text, '\n', (size_t)(window->end - at));
        if (window->has_ended) walk->end = window->end;
        else if (newline) walk->end = at + (newline + 1 - walk->text);
        else if (status != PFD_OK) return status;
    }
    if (status != PFD_OK) pfd_error_clear(err); /* these lines first: the next call fails again */
    return PFD_OK;
}

/* Notes the line numbers of n records that a walk has made. */
static void note_lines(line_stream *self, const pfd_text_walk *walk, const pfd_record *records,
                       int64_t n)
{
    const uint8_t *text = walk->text, *end = text + (walk->at - walk->begin);
    int64_t newlines = self->scan->count(text, end - text);
    int64_t lines = newlines + (end > text && end[-1] != '\n');
    if (lines == n) {
        if (n > 0) pfd_line_numbers_note(self->numbers, records[0].ordinal, self->line);
        self->line += newlines;
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        self->line += self->scan->count(text, records[i].data - text);
        text = records[i].data;
        pfd_line_numbers_note(self->numbers, records[i].ordinal, self->line);
    }
    self->line += self->scan->count(text, end - text);
}

/* Makes some of the next records, at most n, as views of the window. */
static pfd_status read_lines(line_stream *self, pfd_text_walk *walk, int64_t n, pfd_record *out,
                             int64_t *done, pfd_error *err)
{
    pfd_file_stream *files = &self->files;
    for (*done = 0; *done == 0;) {
        pfd_status status = look(self, walk, err);
        if (status < 0) return pfd_file_stream_fail(files, status, err);
        if (status == PFD_END) return status;
        *done = pfd_text_walk_window(walk, files->ordinal, n, out);
        if (walk->at > walk->end) walk->at = walk->end; /* a last line without newline */
        note_lines(self, walk, out, *done);
        files->offset = walk->at;
        files->ordinal += *done;
    }
    return PFD_OK;
}

static pfd_status next(void *source, int64_t max, pfd_scratch *scratch, pfd_record *out, int64_t *n,
                       pfd_error *err)
{
    line_stream *self = source;
    pfd_text_walk walk;
    *n = 0;
    PFD_TRY(read_lines(self, &walk, max, out, n, err));
    const uint8_t *text = out[0].data, *end = out[*n - 1].data + out[*n - 1].size;
    uint8_t *copy = pfd_scratch_alloc(scratch, end - text);
    if (!copy) {
        pfd_status status = pfd_fail_memory(err, end - text, "lines of a compressed file");
        return pfd_file_stream_fail(&self->files, status, err);
    }
    memcpy(copy, text, (size_t)(end - text));
    for (int64_t i = 0; i < *n; i++) out[i].data = copy + (out[i].data - text);
    return PFD_OK;
}

static pfd_status seek(void *source, int64_t epoch, int64_t position, pfd_scratch *scratch,
                       pfd_error *err)
{
    line_stream *self = source;
    pfd_file_stream *files = &self->files;
    pfd_record passed[passed_at_once];
    (void)epoch, (void)scratch;
    pfd_status status = pfd_file_stream_seek(files, position, err);
    while (status == PFD_OK && files->ordinal < position) {
        pfd_text_walk walk;
        int64_t left = position - files->ordinal, done;
        int64_t wanted = left < passed_at_once ? left : passed_at_once;
        status = read_lines(self, &walk, wanted, passed, &done, err);
    }
    return status == PFD_END ? PFD_OK : status;
}

static void describe(void *source, const pfd_record *record, pfd_error *err)
{
    const line_stream *self = source;
    err->line = pfd_line_numbers_of_record(self->numbers, record->ordinal);
}

static void close_stream(void *source)
{
    line_stream *self = source;
    pfd_file_stream_close(&self->files);
    pfd_line_numbers_free(self->numbers);
    free(self);
}

static const pfd_source_methods methods = {
    .struct_size = sizeof(pfd_source_methods),
    .close = close_stream,
    .next = next,
    .seek = seek,
    .describe = describe,
};

pfd_status pfd_line_stream_open(const pfd_open_args *args, pfd_source *out, pfd_error *err)
{
    line_stream *self = calloc(1, sizeof *self);
    if (!self) return pfd_fail_memory(err, (int64_t)sizeof *self, "a stream of lines");
    self->scan = pfd_newline_scan_best();
    self->numbers = pfd_line_numbers_create(args->files, args->num_files);
    pfd_status status = self->numbers ? pfd_file_stream_open(&self->files, args, err)
                                      : pfd_fail_memory(err, 64, "line numbers");
    if (status != PFD_OK) {
        close_stream(self);
        return status;
    }
    out->methods = &methods;
    out->self = self;
    return PFD_OK;
}
