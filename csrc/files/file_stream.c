/* The files of a stream, one after the other. */
#include "files/file_stream.h"

#include "core/error.h"
#include "core/scratch.h"

#include <inttypes.h>
#include <stdlib.h>

int32_t pfd_files_are_stream(const pfd_open_args *args)
{
    for (int64_t i = 0; i < args->num_files; i++)
        if (pfd_file_compression(args->files[i]) > PFD_COMPRESSION_NONE) return 1;
    return 0;
}

static pfd_status open_file(pfd_file_stream *stream, int64_t file, pfd_error *err)
{
    stream->file = file;
    stream->offset = 0;
    stream->ordinal = stream->first[file];
    stream->is_open = 0;
    if (file == stream->num_files) return PFD_OK;
    PFD_TRY(pfd_stream_window_open(&stream->window, stream->files[file], err));
    stream->is_open = 1;
    return PFD_OK;
}

pfd_status pfd_file_stream_open(pfd_file_stream *stream, const pfd_open_args *args, pfd_error *err)
{
    *stream = (pfd_file_stream){.files = args->files, .num_files = args->num_files};
    stream->first = calloc((size_t)args->num_files + 1, sizeof *stream->first);
    stream->scratch = pfd_scratch_create();
    if (!stream->first || !stream->scratch)
        return pfd_fail_memory(err, args->num_files, "the table of files");
    pfd_scratch_inherit_bounds(stream->scratch, args->scratch);
    for (int64_t i = 0; i < args->num_files; i++) /* reports a missing library now */
        PFD_TRY(pfd_stream_window_open(&stream->window, args->files[i], err));
    return open_file(stream, 0, err);
}

void pfd_file_stream_close(pfd_file_stream *stream)
{
    pfd_stream_window_close(&stream->window);
    pfd_scratch_free(stream->scratch);
    free(stream->first);
    *stream = (pfd_file_stream){0};
}

pfd_status pfd_file_stream_seek(pfd_file_stream *stream, int64_t position, pfd_error *err)
{
    int64_t file = stream->known;
    while (file > 0 && stream->first[file] > position) file--;
    int32_t is_ahead = stream->file == file && stream->ordinal <= position && stream->is_open;
    if (is_ahead && !stream->has_failed) return PFD_OK;
    stream->has_failed = 0;
    return open_file(stream, file, err);
}

pfd_status pfd_file_stream_fail(pfd_file_stream *stream, pfd_status status, pfd_error *err)
{
    stream->has_failed = 1;
    if (pfd_error_can_pass(status, err)) pfd_error_set_reason(err, PFD_REASON_REST_UNREADABLE);
    return status;
}

pfd_status pfd_file_stream_look(pfd_file_stream *stream, pfd_error *err)
{
    while (stream->file < stream->num_files) {
        pfd_stream_window *window = &stream->window;
        PFD_TRY(pfd_stream_window_pass(window, stream->offset, stream->scratch, err));
        PFD_TRY(pfd_stream_window_fill(window, window->begin + 1, stream->scratch, err));
        if (window->begin < window->end) return PFD_OK;
        int64_t missing = stream->offset < INT64_MAX ? stream->offset - window->end : 0;
        if (missing > 0) return pfd_stream_window_fail_end(window, window->end, missing, err);
        int64_t next = stream->file + 1;
        stream->first[next] = stream->ordinal;
        if (stream->known < next) stream->known = next;
        PFD_TRY(open_file(stream, next, err));
    }
    if (stream->ordinal > 0) return PFD_END;
    (void)pfd_fail(err, PFD_CORRUPT_DATA,
                   "there is not one record in %" PRId64 " files; are these the right files?",
                   stream->num_files);
    return pfd_error_set_reason(err, PFD_REASON_NO_RECORDS);
}
