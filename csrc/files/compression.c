/* Detecting and decompressing compressed files, in sequence. */
#include "files/compression.h"

#include "core/bytes.h"
#include "core/error.h"
#include "core/scratch.h"
#include "files/codecs.h"
#include "files/file_read.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    piece_bytes = 256 * 1024, /* of a file, read at a time */
    step_bytes = 4 << 20,     /* at most, of a whole file, between two looks at `bounds` */
    trial_bytes = 16 * 1024   /* that are enough to tell zlib from what begins like it */
};

struct pfd_inflater {
    const pfd_file *file;
    int32_t compression;
    int32_t is_between; /* between members: the next byte, if any, starts another */
    int32_t is_first;   /* member, or the only one */
    int32_t is_fresh;   /* another member has just started */
    int32_t was_full;   /* the last step filled its output, and may produce more without input */
    const pfd_codec *codec; /* NULL: none */
    void *state;
    pfd_scratch *scratch; /* of the current piece */
    const uint8_t *in;    /* what is left of it */
    int64_t in_size;
    int64_t at;       /* in the file, after the piece */
    int64_t produced; /* so far */
    pfd_error failure;
};

const char *pfd_compression_name(int32_t compression)
{
    static const char *const names[] = {"auto", "none", "gzip", "zlib", "zstd"};
    return names[compression];
}

/* ---- Which it is ----------------------------------------------------------------------------- */
static int32_t begins_zstd(const uint8_t *data, int64_t size)
{
    return size >= 4 && !memcmp(data, "\x28\xb5\x2f\xfd", 4);
}

/* A skippable frame of zstd: parallel compressors write one first. */
static int32_t begins_skippable(const uint8_t *data, int64_t size)
{
    return size >= 8 && (data[0] & 0xf0) == 0x50 && !memcmp(data + 1, "\x2a\x4d\x18", 3);
}

/* The magic number, the only method there is, and flags that are.  The number alone begins TFRecord
 * and OFRecord files whose first record has 35,615 bytes, too. */
static int32_t begins_gzip(const uint8_t *data, int64_t size)
{
    static const uint8_t magic[] = {0x1f, 0x8b, 8};
    int64_t compared = size < 3 ? size : 3;
    return size >= 2 && !memcmp(data, magic, (size_t)compared) && (size < 4 || data[3] < 0x20);
}

int32_t pfd_compression_of_bytes(const uint8_t *data, int64_t size)
{
    if (begins_gzip(data, size)) return PFD_COMPRESSION_GZIP;
    return begins_zstd(data, size) ? PFD_COMPRESSION_ZSTD : PFD_COMPRESSION_NONE;
}

pfd_status pfd_compression_detect(const pfd_file *file, pfd_scratch *scratch, int32_t *found,
                                  pfd_error *err)
{
    const uint8_t *data;
    int64_t size = file->size < 8 ? file->size : 8;
    *found = PFD_COMPRESSION_NONE;
    PFD_TRY(pfd_file_read(file, 0, size, scratch, &data, err));
    if (begins_skippable(data, size)) {
        int64_t next = 8 + (int64_t)pfd_load_le32(data + 4);
        if (file->size < next + 4) return PFD_OK;
        PFD_TRY(pfd_file_read(file, next, 4, scratch, &data, err));
        size = 4;
    }
    *found = pfd_compression_of_bytes(data, size);
    if (*found != PFD_COMPRESSION_NONE || size < 2 || (data[0] & 0x8f) != 8) return PFD_OK;
    size = file->size < trial_bytes ? file->size : trial_bytes;
    PFD_TRY(pfd_file_read(file, 0, size, scratch, &data, err));
    if (pfd_codec_looks_like_zlib(data, size, size == file->size)) *found = PFD_COMPRESSION_ZLIB;
    return PFD_OK;
}

pfd_status pfd_compression_refuse(const pfd_file *file, pfd_error *err)
{
    int32_t compression = pfd_file_compression(file);
    if (compression <= PFD_COMPRESSION_NONE) return PFD_OK;
    return pfd_fail_at(err, file, -1, PFD_UNSUPPORTED,
                       "the file is compressed by %s; its records are read in any order, which "
                       "compressed files do not allow: decompress it first, or use "
                       "compression='none' if these are its records",
                       pfd_compression_name(compression));
}

/* ---- Its bytes ------------------------------------------------------------------------------- */
pfd_status pfd_inflater_open(const pfd_file *file, int32_t compression, pfd_inflater **out,
                             pfd_error *err)
{
    static const pfd_codec *const codecs[] = {NULL, NULL, &pfd_codec_gzip, &pfd_codec_zlib,
                                              &pfd_codec_zstd}; /* by PFD_COMPRESSION_* */
    const pfd_codec *codec = codecs[compression];
    if (codec && !codec->open) {
        pfd_fail(err, PFD_UNSUPPORTED,
                 "the file is compressed by %s, and pyflowdata was built without that library: "
                 "install it (Debian, Ubuntu: apt-get install %s) and build pyflowdata again, or "
                 "decompress the file; a file that is not compressed is read with "
                 "compression='none'",
                 pfd_compression_name(compression), codec->package);
        pfd_error_set_file(err, file->path);
        return PFD_UNSUPPORTED;
    }
    pfd_inflater *self = calloc(1, sizeof *self);
    if (!self) return pfd_fail_memory(err, (int64_t)sizeof *self, "decompression");
    *self = (pfd_inflater){
        .file = file, .compression = compression, .is_first = 1, .codec = codec};
    pfd_error_init(&self->failure);
    self->scratch = pfd_scratch_create();
    if (codec) self->state = codec->open();
    if (!self->scratch || (codec && !self->state)) {
        pfd_inflater_close(self);
        return pfd_fail_memory(err, piece_bytes, "decompression");
    }
    *out = self;
    return PFD_OK;
}

void pfd_inflater_close(pfd_inflater *inflater)
{
    if (!inflater) return;
    if (inflater->state) inflater->codec->close(inflater->state);
    pfd_scratch_free(inflater->scratch);
    free(inflater);
}

/* Reads the next piece when the current one is used up. */
static pfd_status get_input(pfd_inflater *self, pfd_error *err)
{
    int64_t left = self->file->size - self->at;
    if (self->in_size > 0 || left == 0) return PFD_OK;
    int64_t size = left < piece_bytes ? left : piece_bytes;
    pfd_scratch_reset(self->scratch);
    PFD_TRY(pfd_file_read(self->file, self->at, size, self->scratch, &self->in, err));
    self->in_size = size;
    self->at += size;
    pfd_file_will_need(self->file, self->at, 4 * piece_bytes);
    return PFD_OK;
}

static pfd_status fail_cut(const pfd_inflater *self, pfd_error *err)
{
    return pfd_fail_at(err, self->file, self->file->size, PFD_CORRUPT_DATA,
                       "the %s data ends here, in its middle, after %" PRId64
                       " decompressed bytes; was the file cut short while it was copied?",
                       pfd_compression_name(self->compression), self->produced);
}

static pfd_status fail_after_member(const pfd_inflater *self, pfd_error *err)
{
    int64_t at = self->at - self->in_size;
    return pfd_fail_at(err, self->file, at, PFD_CORRUPT_DATA,
                       "the %s data ends about here, after %" PRId64 " decompressed bytes, and "
                       "what follows up to byte %" PRId64 " is not %s data, or is damaged",
                       pfd_compression_name(self->compression), self->produced,
                       self->file->size, pfd_compression_name(self->compression));
}

static pfd_status fail_damaged(const pfd_inflater *self, const char *message, pfd_error *err)
{
    if (self->is_fresh) return fail_after_member(self, err);
    int64_t at = self->at - self->in_size;
    const char *name = pfd_compression_name(self->compression);
    if (self->is_first && self->produced == 0)
        return pfd_fail_at(err, self->file, at, PFD_CORRUPT_DATA,
                           "this is not %s data, or is damaged: %s; compression='auto' finds out "
                           "what a file is, and 'none' takes it as it is",
                           name, message);
    return pfd_fail_at(err, self->file, at, PFD_CORRUPT_DATA,
                       "the %s data is damaged, here or before, at decompressed byte %" PRId64
                       ": %s",
                       name, self->produced, message);
}

/* One call of the codec. */
static pfd_status step(pfd_inflater *self, uint8_t *out, int64_t room, int64_t *size,
                       pfd_error *err)
{
    pfd_codec_io io = {.in = self->in, .in_size = self->in_size, .out = out, .room = room};
    int32_t result = self->codec->step(self->state, &io);
    int32_t stalled = io.in_size == self->in_size && io.room == room;
    self->in = io.in;
    self->in_size = io.in_size;
    *size = room - io.room;
    self->was_full = io.room == 0;
    self->produced += *size;
    if (result == PFD_CODEC_NO_MEMORY) return pfd_fail_memory(err, piece_bytes, "decompression");
    if (result == PFD_CODEC_DAMAGED) return fail_damaged(self, io.message, err);
    self->is_fresh = 0;
    if (result == PFD_CODEC_END) {
        self->is_between = 1;
        self->is_first = self->was_full = 0;
    } else if (stalled && self->in_size > 0) {
        return fail_damaged(self, "the library makes no progress", err);
    }
    return PFD_OK;
}

/* Of the piece: zeros after a member, which gzip and Python's module accept as well. */
static void pass_zeros(pfd_inflater *self)
{
    while (self->in_size > 0 && *self->in == 0) self->in++, self->in_size--;
}

static pfd_status read_on(pfd_inflater *self, uint8_t *out, int64_t room, int64_t *size,
                          pfd_error *err)
{
    PFD_TRY(get_input(self, err));
    if (!self->codec) {
        *size = self->in_size < room ? self->in_size : room;
        if (*size > 0) memcpy(out, self->in, (size_t)*size);
        self->in += *size;
        self->in_size -= *size;
        self->produced += *size;
        return *size > 0 ? PFD_OK : PFD_END;
    }
    if (self->is_between) {
        if (self->codec->has_padding) pass_zeros(self);
        if (self->in_size == 0) return self->at < self->file->size ? PFD_OK : PFD_END;
        if (!self->codec->restart(self->state)) return fail_after_member(self, err);
        self->is_between = 0;
        self->is_fresh = 1;
    }
    if (self->in_size == 0 && !self->was_full) return fail_cut(self, err);
    return step(self, out, room, size, err);
}

pfd_status pfd_inflater_read(pfd_inflater *inflater, const pfd_scratch *bounds, uint8_t *out,
                             int64_t room, int64_t *size, pfd_error *err)
{
    pfd_status status = PFD_OK;
    *size = 0;
    if (inflater->failure.status != PFD_OK) {
        pfd_error_copy(err, &inflater->failure);
        return err->status;
    }
    while (status == PFD_OK && *size == 0) {
        if (bounds && pfd_scratch_is_cancelled(bounds))
            return pfd_fail(err, PFD_CANCELLED, "the loader is closing");
        status = read_on(inflater, out, room, size, err);
    }
    if (status == PFD_OK || status == PFD_END) return PFD_OK;
    pfd_error_copy(&inflater->failure, err);
    if (*size == 0) return status;
    pfd_error_clear(err);
    return PFD_OK; /* first the bytes before the damage; the next call fails */
}

/* ---- Whole files ----------------------------------------------------------------------------- */
/* Whether the file has more bytes than it may have. */
static pfd_status check_end(pfd_inflater *from, int64_t most, const pfd_scratch *bounds,
                            pfd_error *err)
{
    uint8_t byte;
    int64_t got;
    PFD_TRY(pfd_inflater_read(from, bounds, &byte, 1, &got, err));
    if (got == 0) return PFD_OK;
    return pfd_fail_at(err, from->file, from->at - from->in_size, PFD_CORRUPT_DATA,
                       "the decompressed file has more than %" PRId64
                       " bytes; is it the right file?",
                       most);
}

/* Memory grows with the actual bytes, not with a claimed size. */
static pfd_status inflate_all(pfd_inflater *from, int64_t most, const pfd_scratch *bounds,
                              pfd_inflated *out, pfd_error *err)
{
    for (int64_t got = 1; got > 0 && out->size < most; out->size += got) {
        if (out->size == out->capacity) {
            int64_t larger = out->capacity > 0 ? 2 * out->capacity : piece_bytes;
            if (larger > most) larger = most;
            uint8_t *grown = realloc(out->data, (size_t)larger);
            if (!grown) return pfd_fail_memory(err, larger, "a decompressed file");
            out->data = grown;
            out->capacity = larger;
        }
        int64_t room = out->capacity - out->size;
        if (room > step_bytes) room = step_bytes;
        PFD_TRY(pfd_inflater_read(from, bounds, out->data + out->size, room, &got, err));
    }
    return out->size < most ? PFD_OK : check_end(from, most, bounds, err);
}

pfd_status pfd_inflate_file(const pfd_file *file, int32_t compression, int64_t most,
                            const pfd_scratch *bounds, pfd_inflated *out, pfd_error *err)
{
    pfd_inflater *from;
    out->size = 0;
    if (!out->data) out->data = malloc(1); /* never NULL, also of an empty file */
    if (!out->data) return pfd_fail_memory(err, 1, "a decompressed file");
    PFD_TRY(pfd_inflater_open(file, compression, &from, err));
    pfd_status status = inflate_all(from, most, bounds, out, err);
    pfd_inflater_close(from);
    return status;
}
