/* Framed records: ops that write them, streams over compressed files, sources for any order. */
#include "sources/frames.h"

#include "core/error.h"
#include "core/multi_thread_loop.h"
#include "core/op_shorthand.h"
#include "core/scratch.h"
#include "files/file_read.h"
#include "files/file_stream.h"
#include "files/seal.h"
#include "index/index_image.h"
#include "index/record_index.h"
#include "parse/row_type.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Ops that write frames ------------------------------------------------------------------- */

const pfd_port pfd_frame_inputs[1] = {{"in", "The bytes of each record, uint8 (None,)."}};
const pfd_port pfd_frame_outputs[1] = {
    {"out", "The bytes of each record with its frame, uint8 (None,)."},
};

pfd_status pfd_record_frames_infer(const pfd_infer_args *args, pfd_error *err)
{
    args->outputs[0] = (pfd_row_type){.dtype = PFD_UINT8, .ndim = 1, .shape = {-1}};
    return pfd_expect_bytes(args, err);
}

pfd_status pfd_record_frames_put(const pfd_compute_args *args, int64_t frame_bytes,
                                 pfd_put_frame put, pfd_error *err)
{
    int64_t total = args->num_rows * frame_bytes;
    for (int64_t row = 0; row < args->num_rows; row++)
        total += pfd_row_bytes(args->inputs[0], row).size;
    uint8_t *to = args->host->alloc(args->scratch, total);
    if (!to) return args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for records");
    for (int64_t row = 0; row < args->num_rows; row++) {
        uint8_t *begin = to;
        to = put(pfd_row_bytes(args->inputs[0], row), to);
        args->outputs[0]->rows[row] = (pfd_ragged_row){.data = begin, .num_elements = to - begin};
    }
    return PFD_OK;
}

/* ---- A call of frame() ----------------------------------------------------------------------- */

typedef struct frame_call {
    const pfd_host *host;
    const void *attrs;
    pfd_status (*frame)(const pfd_frame_args *, pfd_frame *, pfd_error *);
    int32_t has_header; /* as in pfd_framing */
} frame_call;

/* Reports frames that are impossible in any file: faults of the op. */
static pfd_status check_frame(const pfd_file *file, int64_t offset, const pfd_frame *frame,
                              pfd_error *err)
{
    if (frame->next <= offset)
        return pfd_fail_at(err, file, offset, PFD_INTERNAL,
                           "frame() gave next = %" PRId64 " for the frame at %" PRId64
                           "; it must be after the frame, so that the scan advances",
                           frame->next, offset);
    if (!frame->is_record) return PFD_OK;
    if (frame->data < offset || frame->size < 0 || frame->size > INT64_MAX - frame->data)
        return pfd_fail_at(err, file, offset, PFD_INTERNAL,
                           "frame() gave data = %" PRId64 " and size = %" PRId64
                           " for the frame at %" PRId64 "; data must be an offset in the file and "
                           "in the frame, and size must not be negative",
                           frame->data, frame->size, offset);
    if (frame->data + frame->size > frame->next)
        return pfd_fail_at(err, file, offset, PFD_INTERNAL,
                           "frame() gave a record that ends at %" PRId64 " and next = %" PRId64
                           " for the frame at %" PRId64 "; frames must not overlap",
                           frame->data + frame->size, frame->next, offset);
    return PFD_OK;
}

/* Adds the place to a failure of frame(): its byte counts from the frame. */
static pfd_status place_failure(const pfd_file *file, int64_t offset, pfd_status status,
                                pfd_error *err)
{
    if (!err->file[0]) {
        pfd_error_set_file(err, file->path);
        err->byte = offset + (err->byte > 0 ? err->byte : 0);
    }
    return status;
}

static pfd_status frame_call_init(frame_call *call, const pfd_open_args *args,
                                  const pfd_framing *framing, pfd_error *err)
{
    if (framing->struct_size < offsetof(pfd_framing, frame) + sizeof framing->frame ||
        !framing->frame)
        return pfd_fail(err, PFD_INTERNAL,
                        "open_frames() was given a framing without frame(), or with struct_size = "
                        "%" PRIu32 "; it must be sizeof(pfd_framing)",
                        framing->struct_size);
    *call = (frame_call){.host = args->host,
                         .attrs = args->attrs,
                         .frame = framing->frame,
                         .has_header = framing->has_header};
    return PFD_OK;
}

static pfd_status frame_ask(const frame_call *call, const pfd_file *file, int64_t offset,
                            pfd_scratch *scratch, pfd_frame *frame, pfd_error *err)
{
    pfd_frame_args args = {.struct_size = sizeof args,
                           .host = call->host,
                           .attrs = call->attrs,
                           .file = file,
                           .offset = offset,
                           .scratch = scratch};
    *frame = (pfd_frame){.struct_size = sizeof *frame, .is_record = 1, .next = -1};
    pfd_error_clear(err);
    pfd_status status = pfd_check_returned(call->frame(&args, frame, err), "frame", err);
    if (status != PFD_OK) return place_failure(file, offset, status, err);
    PFD_TRY(check_frame(file, offset, frame, err));
    if (frame->next <= file->size || frame->next == INT64_MAX) return PFD_OK; /* end not known */
    return pfd_fail_at(err, file, offset, PFD_CORRUPT_DATA,
                       "the frame that begins here ends at byte %" PRId64
                       ", but the file ends at byte %" PRId64 ": %" PRId64
                       " bytes are missing; was it truncated when it was copied?",
                       frame->next, file->size, frame->next - file->size);
}

/* ---- A stream of frames ---------------------------------------------------------------------- */

enum { bytes_at_once = 1024 * 1024 /* about; one record may be more */ };

typedef struct frame_stream {
    pfd_file_stream files;
    frame_call call;
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
        PFD_TRY(frame_ask(&self->call, file, files->offset, files->scratch, frame, err));
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

static pfd_status read_stream_record(frame_stream *self, pfd_scratch *scratch, pfd_record *out,
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
        status = read_stream_record(self, scratch, &out[*n], err);
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
        status = read_stream_record(self, NULL, NULL, err);
    return status == PFD_END ? PFD_OK : status;
}

static void close_stream(void *source)
{
    frame_stream *self = source;
    pfd_file_stream_close(&self->files);
    free(self);
}

static const pfd_source_methods stream_methods = {
    .struct_size = sizeof(pfd_source_methods),
    .close = close_stream,
    .next = next,
    .seek = seek,
};

static pfd_status frame_stream_open(const pfd_open_args *args, const frame_call *call,
                                    pfd_source *out, pfd_error *err)
{
    frame_stream *self = calloc(1, sizeof *self);
    if (!self) return pfd_fail_memory(err, (int64_t)sizeof *self, "a stream of frames");
    self->call = *call;
    pfd_status status = pfd_file_stream_open(&self->files, args, err);
    self->files.has_headers = call->has_header;
    return pfd_source_opened(status, &stream_methods, self, out);
}

/* ---- Frames in any order: the index ---------------------------------------------------------- */

enum {
    list_width = 2,         /* strides of frames are listed in four bytes */
    frames_per_scratch = 64, /* after so many headers the scratch is emptied */
    fetched_bytes = 512,     /* prefetched of a record; the processor fetches the rest */
    fetched_ahead = 8192     /* how far ahead to prefetch for records in file order */
};

typedef struct frames {
    frame_call call;
    const pfd_file *const *files; /* borrowed */
    int64_t num_files;
    const uint8_t **texts;  /* owned; NULL: not mapped */
    pfd_index_image *image; /* owned */
    pfd_record_index index;
} frames;

typedef struct frame_scan {
    const frames *source;
    const pfd_open_args *args;
    pfd_mark_list *lists; /* one list for each thread */
    pfd_scratch **scratches;
    pfd_mark_piece *pieces; /* one a file */
} frame_scan;

/* Adds the number of the record in its file: its number in the dataset is not known yet. */
static pfd_status number_failure(int64_t number, pfd_status status, pfd_error *err)
{
    size_t used = strlen(err->message);
    if (status != PFD_CORRUPT_DATA) return status;
    if (number > 0)
        (void)snprintf(err->message + used, sizeof err->message - used,
                       " (%" PRId64 " records of the file are before it)", number);
    return pfd_error_set_records(err, number);
}

static pfd_status scan_file(const frame_scan *self, int64_t number, int32_t worker, pfd_error *err)
{
    const pfd_file *file = pfd_file_uncompared(self->source->files[number]);
    pfd_scratch *scratch = self->scratches[worker];
    pfd_mark_piece piece;
    pfd_mark_piece_begin(&piece, &self->lists[worker], worker, number);
    int64_t asked = 0, least = self->source->call.has_header;
    for (int64_t offset = 0; offset < file->size || asked < least; asked++) {
        pfd_frame frame;
        if (asked % frames_per_scratch == 0) {
            pfd_scratch_reset(scratch);
            if (self->args->scratch && pfd_scratch_is_cancelled(self->args->scratch))
                return pfd_fail(err, PFD_CANCELLED, "the loader is closing");
        }
        pfd_status status = frame_ask(&self->source->call, file, offset, scratch, &frame, err);
        if (status != PFD_OK) return number_failure(piece.num_marks, status, err);
        if (frame.is_record)
            PFD_TRY(pfd_mark_piece_add_one(&piece, &self->lists[worker], offset, err));
        offset = frame.next;
    }
    self->pieces[number] = piece;
    return PFD_OK;
}

static pfd_status scan_files(void *ctx, int64_t begin, int64_t end, int32_t worker, pfd_error *err)
{
    for (int64_t i = begin; i < end; i++) PFD_TRY(scan_file(ctx, i, worker, err));
    return PFD_OK;
}

static pfd_status join(const frame_scan *self, int32_t num_threads, pfd_index_image **out,
                       pfd_error *err)
{
    int64_t num_files = self->source->num_files, records = 0;
    pfd_record_marks marks = {
        .lists = self->lists, .pieces = self->pieces, .num_pieces = num_files};
    pfd_index_file *files = calloc((size_t)num_files + 1, sizeof *files);
    if (!files) return pfd_fail_memory(err, num_files, "the table of files");
    for (int64_t i = 0; i < num_files; i++) {
        files[i + 1].first_place = files[i].first_place + self->source->files[i]->size;
        records += self->pieces[i].num_marks;
    }
    if (records > 0) pfd_record_marks_choose(&marks, files[num_files].first_place, records);
    pfd_record_marks_place(&marks, files, num_files);
    pfd_status status = pfd_index_image_create(PFD_INDEX_FRAMES, num_files,
                                               pfd_record_marks_groups(&marks, records), out, err);
    if (status == PFD_OK) {
        memcpy((*out)->files, files, ((size_t)num_files + 1) * sizeof *files);
        status = pfd_record_marks_fill(&marks, records, num_threads, *out, err);
    }
    free(files);
    return status;
}

static void free_scan(frame_scan *self, int32_t num_threads)
{
    for (int32_t i = 0; i < num_threads; i++) {
        if (self->lists) pfd_mark_list_free(&self->lists[i]);
        if (self->scratches) pfd_scratch_free(self->scratches[i]);
    }
    free(self->lists);
    free(self->scratches);
    free(self->pieces);
}

static int open_scan(frame_scan *self, int32_t num_threads)
{
    self->lists = calloc((size_t)num_threads, sizeof *self->lists);
    self->scratches = calloc((size_t)num_threads, sizeof *self->scratches);
    self->pieces = calloc((size_t)self->source->num_files + 1, sizeof *self->pieces);
    if (!self->lists || !self->scratches || !self->pieces) return 0;
    for (int32_t i = 0; i < num_threads; i++) {
        self->lists[i].width = list_width;
        self->scratches[i] = pfd_scratch_create();
        if (!self->scratches[i]) return 0;
        pfd_scratch_inherit(self->scratches[i], self->args->scratch);
    }
    return 1;
}

typedef struct build_args {
    const frames *source;
    const pfd_open_args *args;
} build_args;

static pfd_status build(void *ctx, int32_t num_threads, pfd_index_image **out, pfd_error *err)
{
    const build_args *given = ctx;
    int64_t num_files = given->source->num_files;
    frame_scan self = {.source = given->source, .args = given->args};
    pfd_index_image *image = NULL;
    pfd_status status = open_scan(&self, num_threads)
                            ? pfd_parallel_for(num_threads, num_files, 1, scan_files, &self, err)
                            : pfd_fail_memory(err, num_files, "the scan of the files");
    if (status == PFD_OK) status = join(&self, num_threads, &image, err);
    free_scan(&self, num_threads);
    if (status == PFD_OK)
        *out = image;
    else
        pfd_index_image_free(image);
    return status;
}

/* ---- Frames in any order: the source --------------------------------------------------------- */

static int64_t num_records(void *source)
{
    const frames *self = source;
    return self->index.num_records;
}

static pfd_status fail_lost(const frames *self, const pfd_file *file, int64_t offset,
                            pfd_error *err)
{
    PFD_TRY(pfd_index_image_check_disk(self->image, err));
    return pfd_fail_at(err, file, offset, PFD_IO,
                       "the file changed while open: a record that it had is missing");
}

/* Reads the record `skip` records after a frame, and finds the next frame. */
static pfd_status read_record(const frames *self, pfd_record_start *from, int64_t position,
                              pfd_scratch *scratch, pfd_record *out, pfd_error *err)
{
    const pfd_file *file = self->files[from->file];
    for (;;) {
        pfd_frame frame;
        if (from->offset >= file->size) return fail_lost(self, file, from->offset, err);
        PFD_TRY(frame_ask(&self->call, file, from->offset, scratch, &frame, err));
        from->offset = frame.next;
        if (!frame.is_record || from->skip-- > 0) continue;
        *out = (pfd_record){
            .size = frame.size, .offset = frame.data, .ordinal = position, .file = file->index};
        from->skip = 0;
        return pfd_file_read(file, frame.data, frame.size, scratch, &out->data, err);
    }
}

enum { starts_at_once = 64 };

/* Prefetches as many bytes as the record has, at a distance after it. */
static inline void fetch_ahead(const pfd_record *record)
{
    int64_t most = record->size < fetched_bytes ? record->size : fetched_bytes;
    uintptr_t from = (uintptr_t)record->data + fetched_ahead;
    for (int64_t i = 0; i < most; i += 64)
        __builtin_prefetch((const void *)(from + (uintptr_t)i), 0, 2);
}

/* Whether the next position is the next record of the same file, which needs no look-up. */
static int follows(const frames *self, const pfd_record_start *from, const int64_t *positions,
                   int64_t i)
{
    return i > 0 && positions[i] == positions[i - 1] + 1 &&
           positions[i] < self->image->files[from->file + 1].first_record;
}

/* Whether the positions are consecutive: then frames are walked, without a look-up for each. */
static int32_t are_in_order(const int64_t *positions, int64_t n)
{
    int64_t i = 1;
    while (i < n && positions[i] == positions[i - 1] + 1) i++;
    return i == n && n > 1;
}

static pfd_status at(void *source, const int64_t *positions, int64_t n, pfd_scratch *scratch,
                     pfd_record *out, pfd_error *err)
{
    const frames *self = source;
    pfd_record_start starts[starts_at_once], from = {0};
    int32_t in_order = 0;
    for (int64_t i = 0; i < n; i++) {
        if (positions[i] >= 0 && positions[i] < self->index.num_records) continue;
        return pfd_fail_row(err, i, -1, PFD_INTERNAL,
                            "position = %" PRId64 " of frames; it must be in [0, %" PRId64 ")",
                            positions[i], self->index.num_records);
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t some = n - i < starts_at_once ? n - i : starts_at_once;
        if (i % starts_at_once == 0) {
            in_order = are_in_order(positions + i, some);
            if (!in_order)
                pfd_record_index_find_all(&self->index, positions + i, some, fetched_bytes, starts);
        }
        if (!follows(self, &from, positions, i))
            from = in_order ? pfd_record_index_find(&self->index, positions[i])
                            : starts[i % starts_at_once];
        pfd_status status = read_record(self, &from, positions[i], scratch, &out[i], err);
        if (status != PFD_OK) {
            err->row = i;
            return status;
        }
        if (in_order) fetch_ahead(&out[i]);
    }
    return pfd_index_image_check(self->image, err);
}

static void close_frames(void *source)
{
    frames *self = source;
    pfd_index_image_free(self->image);
    free(self->texts);
    free(self);
}

static void places(void *source, const int64_t *ordinals, int64_t n, pfd_place *out)
{
    const frames *self = source;
    for (int64_t i = 0; i < n; i++) {
        pfd_record_start from = pfd_record_index_find(&self->index, ordinals[i]);
        out[i] = (pfd_place){.offset = from.offset, .file = self->files[from.file]->index};
    }
}

static const pfd_source_methods methods = {
    .struct_size = sizeof(pfd_source_methods),
    .close = close_frames,
    .size = num_records,
    .at = at,
    .places = places,
};

/* Returns 0 if the image cannot belong to these files. */
static int32_t init_index(frames *self)
{
    for (int64_t i = 0; i < self->num_files; i++) {
        const pfd_index_file *place = &self->image->files[i];
        if (place[1].first_place - place->first_place != self->files[i]->size) return 0;
    }
    return pfd_record_index_init(&self->index, self->image, self->texts);
}

static pfd_status open_frames(frames *self, const pfd_open_args *args, pfd_error *err)
{
    self->texts = calloc((size_t)self->num_files + 1, sizeof *self->texts);
    if (!self->texts) return pfd_fail_memory(err, self->num_files, "the table of files");
    for (int64_t i = 0; i < self->num_files; i++) self->texts[i] = pfd_file_data(args->files[i]);
    build_args given = {self, args};
    PFD_TRY(pfd_index_obtain(args, PFD_INDEX_FRAMES, build, &given, &self->image, err));
    if (init_index(self)) return PFD_OK;
    pfd_index_image_free(self->image); /* from the cache, and wrong although its checksums fit */
    self->image = NULL;
    PFD_TRY(build(&given, pfd_index_threads(args), &self->image, err));
    (void)init_index(self);
    return PFD_OK;
}

pfd_status pfd_frames_open(const pfd_open_args *args, const pfd_framing *framing, pfd_source *out,
                           pfd_error *err)
{
    frame_call call;
    PFD_TRY(frame_call_init(&call, args, framing, err));
    if (pfd_files_are_stream(args)) return frame_stream_open(args, &call, out, err);
    frames *self = calloc(1, sizeof *self);
    if (!self) return pfd_fail_memory(err, (int64_t)sizeof *self, "a source of frames");
    *self = (frames){.call = call, .files = args->files, .num_files = args->num_files};
    return pfd_source_opened(open_frames(self, args, err), &methods, self, out);
}
