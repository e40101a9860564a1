/* A stream over files of framed records. */
#include "sources/frame_stream.h"

#include "core/error.h"
#include "core/scratch.h"
#include "files/file_stream.h"

#include <stdlib.h>
#include <string.h>

enum { bytes_at_once = 1024 * 1024 /* about; one record may be more */ };

typedef struct frame_stream {
    pfd_file_stream files;
    pfd_frame_call call;
} frame_stream;

/* Finds the next record, and reads its bytes into the window.  PFD_END: there is none. */
static pfd_status find_record(frame_stream *self, pfd_frame *frame, pfd_error *err)
{
    pfd_file_stream *files = &self->files;
    pfd_stream_window *window = &files->window;
    for (;;) {
        PFD_TRY(pfd_file_stream_look(files, err));
        const pfd_file *file = &window->file.file;
        pfd_scratch_reset(files->scratch);
        PFD_TRY(pfd_frame_ask(&self->call, file, files->offset, files->scratch, frame, err));
        if (frame->is_record) break;
        files->offset = frame->next;
    }
    int64_t end = frame->data + frame->size;
    PFD_TRY(pfd_stream_window_fill(window, end, files->scratch, err));
    if (window->end < end)
        return pfd_stream_window_fail_end(window, frame->data, frame->size, err);
    return PFD_OK;
}

static pfd_status copy_record(const frame_stream *self, const pfd_frame *frame,
                              pfd_scratch *scratch, pfd_record *out, pfd_error *err)
{
    const pfd_file_stream *files = &self->files;
    uint8_t *copy = pfd_scratch_alloc(scratch, frame->size);
    if (!copy) return pfd_fail_memory(err, frame->size, "a record of a compressed file");
    if (frame->size > 0)
        memcpy(copy, pfd_stream_window_at(&files->window, frame->data), (size_t)frame->size);
    *out = (pfd_record){.data = copy,
                        .size = frame->size,
                        .offset = frame->data,
                        .ordinal = files->ordinal,
                        .file = files->files[files->file]->index};
    return PFD_OK;
}

static pfd_status read_record(frame_stream *self, pfd_scratch *scratch, pfd_record *out,
                              pfd_error *err)
{
    pfd_frame frame;
    pfd_status status = find_record(self, &frame, err);
    if (status == PFD_OK && out) status = copy_record(self, &frame, scratch, out, err);
    if (status < 0) return pfd_file_stream_fail(&self->files, status, err);
    if (status == PFD_END) return status;
    self->files.offset = frame.next;
    self->files.ordinal++;
    return PFD_OK;
}

static pfd_status next(void *source, int64_t max, pfd_scratch *scratch, pfd_record *out, int64_t *n,
                       pfd_error *err)
{
    frame_stream *self = source;
    pfd_status status = PFD_OK;
    int64_t bytes = 0;
    for (*n = 0; *n < max && bytes < bytes_at_once; (*n)++) {
        status = read_record(self, scratch, &out[*n], err);
        if (status != PFD_OK) break;
        bytes += out[*n].size;
    }
    if (*n == 0) return status;
    pfd_error_clear(err); /* these records first: the next call fails again */
    return PFD_OK;
}

static pfd_status seek(void *source, int64_t epoch, int64_t position, pfd_scratch *scratch,
                       pfd_error *err)
{
    frame_stream *self = source;
    (void)epoch, (void)scratch;
    pfd_status status = pfd_file_stream_seek(&self->files, position, err);
    while (status == PFD_OK && self->files.ordinal < position)
        status = read_record(self, NULL, NULL, err);
    return status == PFD_END ? PFD_OK : status;
}

static void close_stream(void *source)
{
    frame_stream *self = source;
    pfd_file_stream_close(&self->files);
    free(self);
}

static const pfd_source_methods methods = {
    .struct_size = sizeof(pfd_source_methods),
    .close = close_stream,
    .next = next,
    .seek = seek,
};

pfd_status pfd_frame_stream_open(const pfd_open_args *args, const pfd_frame_call *call,
                                 pfd_source *out, pfd_error *err)
{
    frame_stream *self = calloc(1, sizeof *self);
    if (!self) return pfd_fail_memory(err, (int64_t)sizeof *self, "a stream of frames");
    self->call = *call;
    pfd_status status = pfd_file_stream_open(&self->files, args, err);
    if (status != PFD_OK) {
        close_stream(self);
        return status;
    }
    out->methods = &methods;
    out->self = self;
    return PFD_OK;
}
