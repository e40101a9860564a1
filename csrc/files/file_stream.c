/* The files of a stream, one after the other. */
#include "files/file_stream.h"

#include "core/error.h"
#include "core/scratch.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- The window of a stream ------------------------------------------------------------------ */

enum { least_room = 256 * 1024 };

void pfd_stream_window_close(pfd_stream_window *window)
{
    pfd_inflater_close(window->inflater);
    free(window->memory);
    *window = (pfd_stream_window){0};
}

/* The largest window: half of the memory, since the record is copied out of it. */
static int64_t most_room(const pfd_scratch *bounds)
{
    int64_t most = pfd_scratch_most_bytes(bounds) / 2;
    return most > least_room ? most : least_room;
}

/* Makes room after the bytes: first reuses the memory before them. */
static pfd_status make_room(pfd_stream_window *window, const pfd_scratch *bounds, pfd_error *err)
{
    int64_t used = window->end - window->begin;
    if (window->head + used < window->room) return PFD_OK;
    if (window->head > used) {
        memcpy(window->memory, window->memory + window->head, (size_t)used);
        window->head = 0;
        return PFD_OK;
    }
    int64_t larger = window->room > 0 ? 2 * window->room : least_room, most = most_room(bounds);
    if (window->room >= most)
        return pfd_fail_at(err, &window->file.file, window->begin, PFD_OUT_OF_MEMORY,
                           "the record that begins here has more than %" PRId64 " decompressed "
                           "bytes, which is half of memory_budget; is it really one line or "
                           "record? If so, raise memory_budget",
                           used);
    if (larger > most) larger = most;
    uint8_t *grown = realloc(window->memory, (size_t)larger);
    if (!grown) return pfd_fail_memory(err, larger, "a window of a compressed file");
    window->memory = grown;
    window->room = larger;
    return PFD_OK;
}

static pfd_status read_more(pfd_stream_window *window, const pfd_scratch *bounds, pfd_error *err)
{
    int64_t size;
    PFD_TRY(make_room(window, bounds, err));
    int64_t used = window->head + window->end - window->begin;
    PFD_TRY(pfd_inflater_read(window->inflater, bounds, window->memory + used,
                              window->room - used, &size, err));
    window->end += size;
    if (size > 0) return PFD_OK;
    window->has_ended = 1;
    window->file.file.size = window->end;
    return PFD_OK;
}

pfd_status pfd_stream_window_fill(pfd_stream_window *window, int64_t end, const pfd_scratch *bounds,
                                  pfd_error *err)
{
    while (window->end < end && !window->has_ended) PFD_TRY(read_more(window, bounds, err));
    return PFD_OK;
}

pfd_status pfd_stream_window_pass(pfd_stream_window *window, int64_t offset,
                                  const pfd_scratch *bounds, pfd_error *err)
{
    for (;;) {
        int64_t passed = (offset < window->end ? offset : window->end) - window->begin;
        if (passed > 0) {
            window->begin += passed;
            window->head = window->begin < window->end ? window->head + passed : 0;
        }
        if (window->begin >= offset || window->has_ended) return PFD_OK;
        PFD_TRY(read_more(window, bounds, err));
    }
}

pfd_status pfd_stream_window_fail_end(const pfd_stream_window *window, int64_t offset, int64_t size,
                                      pfd_error *err)
{
    return pfd_fail_at(err, &window->file.file, offset, PFD_CORRUPT_DATA,
                       "the decompressed file ends at byte %" PRId64 ", but %" PRId64 " bytes are "
                       "expected from here: %" PRId64 " are missing",
                       window->end, size, offset + size - window->end);
}

/* ---- The window of a stream: as a file ------------------------------------------------------- */

static pfd_stream_window *window_of(const pfd_input_file *file)
{
    return (pfd_stream_window *)(uintptr_t)file;
}

static pfd_status read_copy(const pfd_input_file *file, int64_t offset, int64_t size,
                            pfd_scratch *scratch, const uint8_t **data, pfd_error *err)
{
    pfd_stream_window *window = window_of(file);
    if (offset < window->begin)
        return pfd_fail_at(err, &file->file, offset, PFD_INTERNAL,
                           "read of %" PRId64 " bytes at %" PRId64 " of a compressed file; it can "
                           "only be read forward, and is at %" PRId64,
                           size, offset, window->begin);
    PFD_TRY(pfd_stream_window_fill(window, offset + size, scratch, err));
    if (window->end < offset + size)
        return pfd_stream_window_fail_end(window, offset, size, err);
    uint8_t *copy = pfd_scratch_alloc(scratch, size);
    if (!copy) return pfd_fail_memory(err, size, "a piece of a compressed file");
    if (size > 0) memcpy(copy, pfd_stream_window_at(window, offset), (size_t)size);
    *data = copy;
    return PFD_OK;
}

static pfd_status find_end(const pfd_input_file *file, int64_t wanted, const pfd_scratch *bounds,
                           int64_t *end, pfd_error *err)
{
    pfd_stream_window *window = window_of(file);
    pfd_status status = pfd_stream_window_fill(window, wanted, bounds, err);
    *end = window->end;
    return status;
}

/* The inflater reads ahead itself: offsets here are not those of the file. */
static void will_need(const pfd_input_file *file, int64_t offset, int64_t size)
{
    (void)file, (void)offset, (void)size;
}

static const pfd_file_methods streamed_file = {read_copy, find_end, will_need, NULL};

pfd_status pfd_stream_window_open(pfd_stream_window *window, const pfd_file *file, pfd_error *err)
{
    pfd_inflater_close(window->inflater);
    window->inflater = NULL;
    window->file = (pfd_input_file){
        .file = {.struct_size = sizeof(pfd_file),
                 .index = file->index,
                 .path = file->path,
                 .size = INT64_MAX},
        .methods = &streamed_file,
        .fd = -1,
        .compression = PFD_COMPRESSION_NONE,
    };
    window->head = window->begin = window->end = 0;
    window->has_ended = 0;
    return pfd_inflater_open(file, pfd_file_compression(file), &window->inflater, err);
}

/* ---- The files of a stream ------------------------------------------------------------------- */

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
    pfd_scratch_inherit(stream->scratch, args->scratch);
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
        if (window->begin < window->end || (stream->has_headers && stream->offset == 0))
            return PFD_OK;
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
