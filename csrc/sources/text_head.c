/* Reads a text from a place in a file, as far as needed. */
#include "sources/text_head.h"

#include "core/error.h"
#include "files/file_read.h"

#include <string.h>

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
        pfd_error damage; /* of later text: reported only if the text before it is not enough */
        pfd_error_init(&damage);
        pfd_status rest =
            pfd_file_bytes_at(file, offset, window, scratch, &size, &is_end, &damage);
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
    PFD_TRY(pfd_text_look(host, file, 0, scratch, look_for_head, &self, err));
    *out = self.bytes;
    return PFD_OK;
}
