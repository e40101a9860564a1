/* The checking host: it guards the memory that it hands out, and fails where the options say so. */
#include "check/guard.h"
#include "check/calls.h"
#include "core/error.h"
#include "core/random.h"
#include "core/scratch.h"
#include "files/codecs.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- Random numbers that compute() draws: with which key, for which record ------------------- */
static pfd_kit_draw describe(const pfd_compute_args *args, uint64_t key, int64_t ordinal,
                             int64_t draw)
{
    return (pfd_kit_draw){.key = key,
                          .ordinal = ordinal,
                          .draw = draw,
                          .first = args->records[0].ordinal,
                          .first_offset = args->records[0].offset,
                          .num_rows = args->num_rows};
}

static uint64_t random_bits(uint64_t key, int64_t ordinal, int64_t draw)
{
    uint64_t bits = pfd_host_table()->random_bits(key, ordinal, draw);
    const pfd_kit_call *call = pfd_kit_active;
    if (!call || !call->computing) return bits;
    const pfd_kit_options *options = call->run->options;
    pfd_kit_result *result = call->run->result;
    if (options->num_threads > 1) return bits; /* the order would differ each time */
    int64_t number = result->num_draws++;
    if (number < options->draws.capacity)
        options->draws.list[number] = describe(call->computing, key, ordinal, draw);
    /* The complement changes most decisions that the number makes. */
    return number + 1 == options->changed_draw ? ~bits : bits;
}

/* More than any record needs, and small enough to be handed out. */
static const int64_t MOST_ALLOC = INT64_C(1) << 30;

/* ---- Scratch --------------------------------------------------------------------------------- */
int32_t pfd_kit_scratch_open(pfd_kit_scratch *scratch)
{
    *scratch = (pfd_kit_scratch){pfd_scratch_create(), -1};
    return scratch->scratch != NULL;
}

void pfd_kit_scratch_reset(pfd_kit_scratch *scratch, pfd_kit_run_state *run, const char *function)
{
    if (!scratch->scratch) return;
    for (int32_t region = scratch->first, next; region >= 0; region = next) {
        const pfd_guarded *entry = pfd_guard_at(region);
        next = entry->next;
        int64_t outside = entry->kind == PFD_GUARD_ALLOC ? pfd_guard_changed(region) : 0;
        if (outside)
            pfd_kit_report(run, "writes-past-alloc",
                           "%s wrote %" PRId64 " bytes %s the %" PRId64
                           " bytes that host->alloc() gave: ask for as many bytes as are written",
                           function, outside < 0 ? -outside : outside,
                           outside < 0 ? "before" : "past the end of", entry->bytes);
        pfd_guard_release(region);
    }
    scratch->first = -1;
    pfd_scratch_reset(scratch->scratch);
}

void pfd_kit_scratch_close(pfd_kit_scratch *scratch)
{
    pfd_scratch_free(scratch->scratch);
    *scratch = (pfd_kit_scratch){NULL, -1};
}

/* Returns the scratch of the call that this is; reports and returns NULL if it is none. */
static pfd_kit_scratch *scratch_of(pfd_kit_call *call, const pfd_scratch *scratch,
                                   const char *host_function)
{
    for (int32_t i = 0; i < 2; i++)
        if (call->scratches[i] && call->scratches[i]->scratch == scratch) return call->scratches[i];
    pfd_kit_report(call->run, "foreign-scratch",
                   "%s called host->%s() with a scratch that was not given to this call: a scratch "
                   "ends with the call that it was given to, do not keep it in the source",
                   call->function ? call->function : "the op", host_function);
    return NULL;
}

/* Guarded memory that belongs to a scratch; NULL: out of memory. */
static uint8_t *hand_out(pfd_kit_call *call, pfd_kit_scratch *owner, int32_t kind, int64_t index,
                         int64_t bytes, int64_t alignment)
{
    uint8_t fill = call->second ? PFD_KIT_FILL_2 : PFD_KIT_FILL_1;
    int32_t region = pfd_guard_make(kind, index, bytes, alignment, call->second, fill);
    if (region < 0) return NULL;
    pfd_guarded *entry = pfd_guard_at(region);
    entry->next = owner->first;
    owner->first = region;
    return entry->data;
}

/* ---- What an op calls ------------------------------------------------------------------------ */
static void report_size(pfd_kit_call *call, int64_t bytes)
{
    if (bytes < 0)
        pfd_kit_report(call->run, "negative-alloc",
                       "%s asked host->alloc() for %" PRId64 " bytes: a size from the file was "
                       "used before it was checked",
                       call->function, bytes);
    else
        pfd_kit_report(call->run, "huge-alloc",
                       "%s asked host->alloc() for %" PRId64 " bytes, of files that have %" PRId64
                       ": compare a size from the file with the bytes that are there before using "
                       "it",
                       call->function, bytes, call->run->file_bytes);
}

static void *kit_alloc(pfd_scratch *scratch, int64_t bytes)
{
    pfd_kit_call *call = pfd_kit_active;
    if (!call) return pfd_scratch_alloc(scratch, bytes); /* a thread of the op's own */
    pfd_kit_run_state *run = call->run;
    pfd_kit_scratch *owner = scratch_of(call, scratch, "alloc");
    if (!owner) return NULL;
    int64_t number = 1 + atomic_fetch_add(&run->num_allocs, 1);
    if (number == run->options->fail_alloc) {
        atomic_store(&run->injected, 1);
        return NULL;
    }
    if (bytes < 0 || bytes > MOST_ALLOC) {
        report_size(call, bytes);
        return NULL;
    }
    pfd_kit_delay();
    if (run->options->unguarded) return pfd_scratch_alloc(scratch, bytes);
    return hand_out(call, owner, PFD_GUARD_ALLOC, number, bytes, 64);
}

static int32_t kit_is_cancelled(const pfd_scratch *scratch)
{
    pfd_kit_call *call = pfd_kit_active;
    if (!call) return pfd_scratch_is_cancelled(scratch);
    (void)scratch_of(call, scratch, "is_cancelled");
    return call->run->options->cancelled;
}

static pfd_status kit_read(const pfd_file *file, int64_t offset, int64_t size, pfd_scratch *scratch,
                           const uint8_t **data, pfd_error *err)
{
    pfd_kit_call *call = pfd_kit_active;
    if (!call) return pfd_file_read(file, offset, size, scratch, data, err);
    pfd_kit_run_state *run = call->run;
    pfd_kit_scratch *owner = scratch_of(call, scratch, "read");
    if (!owner) return pfd_fail(err, PFD_INTERNAL, "read() with a scratch of another call");
    int64_t number = 1 + atomic_fetch_add(&run->num_reads, 1);
    if (number == run->options->fail_read) {
        atomic_store(&run->injected, 1);
        if (run->options->fail_read_with == PFD_CORRUPT_DATA)
            return pfd_fail_at(err, file, offset, PFD_CORRUPT_DATA,
                               "the file ends within the %" PRId64 " bytes that are expected here",
                               size);
        return pfd_fail_at(err, file, offset, PFD_IO, "the disk cannot be read");
    }
    const uint8_t *bytes = NULL;
    PFD_TRY(pfd_file_read(file, offset, size, scratch, &bytes, err));
    if (run->options->unguarded) {
        *data = bytes;
        return PFD_OK;
    }
    uint8_t *copy = hand_out(call, owner, PFD_GUARD_READ, number, size, 1);
    if (!copy) return pfd_fail_memory(err, size, "bytes of a file");
    memcpy(copy, bytes, (size_t)size);
    pfd_guard_make_read_only(owner->first);
    *data = copy;
    pfd_kit_delay();
    return PFD_OK;
}

/* ---- Places of failures ---------------------------------------------------------------------- */
static void check_place(const pfd_kit_call *call, const pfd_file *file, int64_t byte,
                        const char *said)
{
    if (call->run->node->op->op->flags & PFD_READS_FOLDERS) return;
    if (byte >= -1 && (byte <= file->size || pfd_file_compression(file) > PFD_COMPRESSION_NONE))
        return;
    const char *slash = strrchr(file->path, '/');
    pfd_kit_report(call->run, "byte-outside-file",
                   "%s failed (\"%.200s\") at byte %" PRId64 " of %.100s, which has %" PRId64
                   " bytes: host->fail_file() takes the offset in the file, from 0, and -1 where "
                   "there is none",
                   call->function, said, byte, slash ? slash + 1 : file->path, file->size);
}

__attribute__((format(printf, 5, 6))) static pfd_status
kit_fail_file(pfd_error *err, const pfd_file *file, int64_t byte, pfd_status status,
              const char *format, ...)
{
    char said[sizeof err->message];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(said, sizeof said, format, args);
    va_end(args);
    if (pfd_kit_active && pfd_kit_active->function) check_place(pfd_kit_active, file, byte, said);
    return pfd_fail_at(err, file, byte, status, "%s", said);
}

/* ---- Frames ---------------------------------------------------------------------------------- */

/* The run whose source is open; there is one at a time. */
static pfd_kit_run_state *framed_run;

static pfd_status (*framed)(const pfd_frame_args *args, pfd_frame *out, pfd_error *err);

/* The host calls frame() from open() and at(), on its own threads too. Checks it like any call. */
static pfd_status kit_frame(const pfd_frame_args *args, pfd_frame *out, pfd_error *err)
{
    pfd_kit_call *outer = pfd_kit_active;
    pfd_kit_call call = {.run = framed_run};
    pfd_kit_scratch scratch;
    if (!pfd_kit_scratch_open(&scratch)) return pfd_fail_memory(err, 0, "a scratch");
    pfd_frame_args given = *args;
    given.host = pfd_kit_host();
    given.scratch = scratch.scratch;
    pfd_kit_active = &call;
    pfd_kit_enter(&call, "frame()", &scratch);
    pfd_status status = pfd_kit_leave(&call, framed(&given, out, err), err);
    if (status != PFD_OK && !err->file[0] && args->file->size < INT64_MAX &&
        err->byte > args->file->size - args->offset)
        pfd_kit_report(framed_run, "byte-outside-file",
                       "frame() failed (\"%.200s\") with err->byte = %" PRId64 " for the frame at "
                       "byte %" PRId64 " of a file that has %" PRId64 " bytes: it counts from "
                       "args->offset; the host adds that",
                       err->message, err->byte, args->offset, args->file->size);
    pfd_kit_scratch_reset(&scratch, framed_run, "frame()");
    pfd_kit_scratch_close(&scratch);
    pfd_kit_active = outer;
    return status;
}

static pfd_status kit_open_frames(const pfd_open_args *args, const pfd_framing *framing,
                                  pfd_source *out, pfd_error *err)
{
    const pfd_framing checked = {sizeof checked, framing->has_header, kit_frame};
    const pfd_host *host = pfd_host_table();
    const size_t needed = offsetof(pfd_framing, frame) + sizeof framing->frame;
    if (!pfd_kit_active || framing->struct_size < needed || !framing->frame)
        return host->open_frames(args, framing, out, err); /* open_frames() refuses it */
    framed_run = pfd_kit_active->run;
    framed = framing->frame;
    return host->open_frames(args, &checked, out, err);
}

static pfd_host host_table;

static void fill_host_table(void)
{
    host_table = *pfd_host_table();
    host_table.alloc = kit_alloc;
    host_table.is_cancelled = kit_is_cancelled;
    host_table.read = kit_read;
    host_table.fail_file = kit_fail_file;
    host_table.random_bits = random_bits;
    if (host_table.open_frames) host_table.open_frames = kit_open_frames;
}

const pfd_host *pfd_kit_host(void)
{
    static pthread_once_t filled = PTHREAD_ONCE_INIT;
    (void)pthread_once(&filled, fill_host_table);
    return &host_table;
}
