/* Compressed files: the codecs, which one a file has, and its bytes in sequence. */
#include "files/codecs.h"

#include "core/bytes.h"
#include "core/error.h"
#include "core/scratch.h"
#include "files/file_read.h"
#include "parse/first_bytes.h"
#include "pyflowdata/pyflowdata.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- The libraries --------------------------------------------------------------------------- */

/* The result of a step. */
enum {
    WANTS_MORE, /* input or room */
    HAS_ENDED,  /* a member or frame, whose checksum is right */
    IS_DAMAGED, /* `message` says what is wrong */
    NO_MEMORY
};

typedef struct codec_io {
    const uint8_t *in;
    int64_t in_size; /* step() advances both by the bytes it used */
    uint8_t *out;
    int64_t room;
    const char *message;
} codec_io;

/* One interface to the libraries.  A state belongs to one thread. */
typedef struct compression_codec {
    const char *magic;    /* the data begins with it; NULL: only a trial tells */
    const char *start;    /* the magic number, and what always follows it; NULL: there is none */
    int32_t (*begins)(const uint8_t *data, int64_t size); /* compares the magic number and more */
    const char *package;                                  /* Debian's package of the library */
    void *(*open)(void);        /* NULL: out of memory; absent: not in this build */
    void (*close)(void *state); /* accepts NULL */
    int32_t (*step)(void *state, codec_io *io);
    int32_t (*restart)(void *state); /* for the next member; 0: no member may follow */
    int32_t has_padding;             /* zero bytes may follow a member, as on tapes */
} compression_codec;

/* ---- What zlib looks like -------------------------------------------------------------------- */

/* Whether bytes could be a text: no control characters, and valid UTF-8 in the part that is
 * checked. */
static int32_t is_text(const uint8_t *data, int64_t size)
{
    int32_t following = 0;
    for (int64_t i = 0; i < size; i++) {
        int32_t is_following = (data[i] & 0xc0) == 0x80;
        if (is_following != (following > 0)) return 0;
        if (is_following) following--;
        else if (data[i] >= 0xf8) return 0;
        else if (data[i] >= 0xc0) following = data[i] >= 0xf0 ? 3 : data[i] >= 0xe0 ? 2 : 1;
        else if (data[i] == 127) return 0;
        else if (data[i] < 32 && !memchr("\t\n\v\f\r\033", data[i], 6)) return 0;
    }
    return 1;
}

/* Deflate, a window that exists, no preset dictionary, and the check of these two bytes. */
static int32_t has_zlib_header(const uint8_t *data, int64_t size)
{
    return size >= 2 && (data[0] & 15) == 8 && data[0] >> 4 <= 7 && !(data[1] & 32) &&
           (data[0] * 256 + data[1]) % 31 == 0;
}

/* ---- zlib ------------------------------------------------------------------------------------ */

#ifdef PFD_HAVE_ZLIB
#define ZLIB_CONST
#include <zlib.h>

static void *open_inflate(int window_bits)
{
    z_stream *stream = calloc(1, sizeof *stream);
    if (!stream || inflateInit2(stream, window_bits) == Z_OK) return stream;
    free(stream);
    return NULL;
}

static void *open_gzip(void)
{
    return open_inflate(15 + 16);
}

static void *open_zlib(void)
{
    return open_inflate(15);
}

static void close_inflate(void *state)
{
    if (state) (void)inflateEnd(state);
    free(state);
}

static uInt piece_of(int64_t size)
{
    return size < INT_MAX ? (uInt)size : (uInt)INT_MAX;
}

static int32_t step_inflate(void *state, codec_io *io)
{
    z_stream *stream = state;
    uInt in = piece_of(io->in_size), room = piece_of(io->room);
    stream->next_in = io->in;
    stream->avail_in = in;
    stream->next_out = io->out;
    stream->avail_out = room;
    int status = inflate(stream, Z_NO_FLUSH);
    io->in += in - stream->avail_in;
    io->in_size -= in - stream->avail_in;
    io->out += room - stream->avail_out;
    io->room -= room - stream->avail_out;
    if (status == Z_STREAM_END) return HAS_ENDED;
    if (status == Z_OK || status == Z_BUF_ERROR) return WANTS_MORE;
    if (status == Z_MEM_ERROR) return NO_MEMORY;
    io->message = status == Z_NEED_DICT ? "a preset dictionary is needed"
                  : stream->msg         ? stream->msg
                                        : "no such data";
    return IS_DAMAGED;
}

static int32_t restart_gzip(void *state)
{
    return inflateReset(state) == Z_OK;
}

/* Decompresses all input and drops the result; `*produced` counts its bytes. */
static int32_t try_inflate(int window_bits, const uint8_t *data, int64_t size, int64_t *produced)
{
    uint8_t room[4096];
    void *state = open_inflate(window_bits);
    if (!state) return NO_MEMORY;
    codec_io io = {.in = data, .in_size = size};
    int64_t before;
    int32_t step;
    *produced = 0;
    do {
        before = io.in_size;
        io.out = room;
        io.room = (int64_t)sizeof room;
        step = step_inflate(state, &io);
        *produced += (int64_t)sizeof room - io.room;
    } while (step == WANTS_MORE && (io.in_size < before || io.room == 0));
    close_inflate(state);
    return step;
}

/* The first bytes are not enough: they are "x^" in the worst case.  What follows has to inflate;
 * where it does so without its header, only the checksum at the end is wrong.  -1: no memory to
 * try. */
static int32_t looks_like_zlib(const uint8_t *data, int64_t size, int32_t is_complete)
{
    int64_t produced = 0, without_header = 0;
    if (!has_zlib_header(data, size)) return 0;
    int32_t step = try_inflate(15, data, size, &produced);
    if (step == HAS_ENDED) return 1;
    if (step == NO_MEMORY) return -1;
    if (is_text(data, size)) return 0;
    if (step == WANTS_MORE) return is_complete || produced > 0;
    if (produced >= 1024) return 1;
    step = try_inflate(-15, data + 2, size - 2, &without_header);
    return step == NO_MEMORY ? -1 : step == HAS_ENDED;
}
#else
#define open_gzip NULL
#define open_zlib NULL
#define close_inflate NULL
#define step_inflate NULL
#define restart_gzip NULL

/* Without the library there is no trial: the first block must be of one of the two usual kinds. */
static int32_t looks_like_zlib(const uint8_t *data, int64_t size, int32_t is_complete)
{
    (void)is_complete;
    if (!has_zlib_header(data, size) || size < 3 || is_text(data, size)) return 0;
    return (data[2] & 6) == 2 || (data[2] & 6) == 4;
}
#endif

/* ---- zstd ------------------------------------------------------------------------------------ */

#ifdef PFD_HAVE_ZSTD
#include <zstd.h>
#include <zstd_errors.h>

static void *open_zstd(void)
{
    return ZSTD_createDStream();
}

static void close_zstd(void *state)
{
    (void)ZSTD_freeDStream(state);
}

static int32_t step_zstd(void *state, codec_io *io)
{
    ZSTD_inBuffer in = {io->in, (size_t)io->in_size, 0};
    ZSTD_outBuffer out = {io->out, (size_t)io->room, 0};
    size_t status = ZSTD_decompressStream(state, &out, &in);
    io->in += in.pos;
    io->in_size -= (int64_t)in.pos;
    io->out += out.pos;
    io->room -= (int64_t)out.pos;
    if (status == 0) return HAS_ENDED;
    if (!ZSTD_isError(status)) return WANTS_MORE;
    if (ZSTD_getErrorCode(status) == ZSTD_error_memory_allocation) return NO_MEMORY;
    io->message = ZSTD_getErrorName(status);
    return IS_DAMAGED;
}

static int32_t restart_zstd(void *state)
{
    return !ZSTD_isError(ZSTD_initDStream(state));
}
#else
#define open_zstd NULL
#define close_zstd NULL
#define step_zstd NULL
#define restart_zstd NULL
#endif

static int32_t no_restart(void *state)
{
    (void)state;
    return 0;
}

/* ---- The table ------------------------------------------------------------------------------- */

#define ZSTD_MAGIC "\x28\xb5\x2f\xfd"
#define GZIP_MAGIC "\x1f\x8b"
#define GZIP_METHOD "\x08"

/* The magic number, the only method that exists, and flags that exist.  TFRecord and OFRecord files
 * whose first record has 35,615 bytes begin with the same magic number. */
static int32_t begins_gzip(const uint8_t *data, int64_t size)
{
    static const uint8_t magic[] = GZIP_MAGIC GZIP_METHOD;
    int64_t compared = size < 3 ? size : 3;
    return size >= 2 && !memcmp(data, magic, (size_t)compared) && (size < 4 || data[3] < 0x20);
}

static int32_t begins_zstd(const uint8_t *data, int64_t size)
{
    return size >= 4 && !memcmp(data, ZSTD_MAGIC, 4);
}

static const compression_codec codecs[PFD_NUM_COMPRESSIONS] = {
    [PFD_COMPRESSION_GZIP] = {
        .magic = GZIP_MAGIC, .start = GZIP_MAGIC GZIP_METHOD, .begins = begins_gzip,
        .package = "zlib1g-dev", .open = open_gzip,
        .close = close_inflate, .step = step_inflate, .restart = restart_gzip, .has_padding = 1},
    [PFD_COMPRESSION_ZLIB] = {
        .package = "zlib1g-dev", .open = open_zlib,
        .close = close_inflate, .step = step_inflate, .restart = no_restart},
    [PFD_COMPRESSION_ZSTD] = {
        .magic = ZSTD_MAGIC, .start = ZSTD_MAGIC, .begins = begins_zstd,
        .package = "libzstd-dev", .open = open_zstd,
        .close = close_zstd, .step = step_zstd, .restart = restart_zstd},
};

#define FACTS(number, name, suffixes, least, most) [number] = {name, suffixes, least, most},
static const pfd_compression compressions[PFD_NUM_COMPRESSIONS] = {
    [PFD_COMPRESSION_AUTO] = {.name = "auto", .suffixes = ""},
    [PFD_COMPRESSION_NONE] = {.name = "none", .suffixes = ""},
    PFD_COMPRESSIONS(FACTS)
};

const char *pfd_compression_name(int32_t compression)
{
    return compressions[compression].name;
}

const pfd_compression *pfd_compression_at(int64_t i)
{
    const int64_t first = PFD_COMPRESSION_NONE + 1;
    return i >= 0 && i < PFD_NUM_COMPRESSIONS - first ? &compressions[first + i] : NULL;
}

/* ---- Which one a file has -------------------------------------------------------------------- */

enum { trial_bytes = 16 * 1024 }; /* enough to tell zlib from data that begins like it */

int32_t pfd_compression_of_bytes(const uint8_t *data, int64_t size)
{
    for (int32_t i = 0; i < PFD_NUM_COMPRESSIONS; i++)
        if (codecs[i].begins && codecs[i].begins(data, size)) return i;
    return PFD_COMPRESSION_NONE;
}

/* The header of RFC 1950: a method, a window, and a check of the two; but not the length of a
 * record, whose upper bytes are 0. */
int32_t pfd_compression_guess(const uint8_t *data, int64_t size)
{
    int32_t is_zlib = size >= 8 && memcmp(data + 4, "\0\0\0", 4) != 0 && (data[0] & 15) == 8 &&
                      data[0] >> 4 <= 7 && (data[0] * 256 + data[1]) % 31 == 0;
    return is_zlib ? PFD_COMPRESSION_ZLIB : PFD_COMPRESSION_NONE;
}

/* The length of a name's first `length` bytes without the suffixes of a compression. */
static size_t without_suffixes(int32_t compression, const char *name, size_t length)
{
    size_t size;
    for (const char *at = compressions[compression].suffixes; *at; at += size + (at[size] == '|')) {
        size = strcspn(at, "|");
        if (length >= size && !strncasecmp(name + length - size, at, size)) length -= size;
    }
    return length;
}

size_t pfd_compression_plain_length(const char *name)
{
    size_t length = strlen(name);
    for (int32_t i = 0; i < PFD_NUM_COMPRESSIONS; i++) length = without_suffixes(i, name, length);
    return length;
}

static int32_t has_magic(int32_t compression, const uint8_t *data, int64_t size)
{
    const char *magic = codecs[compression].magic;
    size_t length = magic ? strlen(magic) : 0;
    return magic && size >= (int64_t)length && !memcmp(data, magic, length);
}

int32_t pfd_compression_of_name(const char *name)
{
    size_t length = strlen(name);
    for (int32_t i = PFD_COMPRESSION_NONE + 1; i < PFD_NUM_COMPRESSIONS; i++)
        if (without_suffixes(i, name, length) < length) return i;
    return PFD_COMPRESSION_NONE;
}

int32_t pfd_compression_is_named(const char *name, const uint8_t *data, int64_t size)
{
    for (int32_t i = 0; i < PFD_NUM_COMPRESSIONS; i++) {
        size_t length = strlen(name);
        if (has_magic(i, data, size) && without_suffixes(i, name, length) < length) return 1;
    }
    return 0;
}

/* Whether the beginning of a file, whose name says the compression, is damaged: it is empty, has
 * zeros, is cut short, or fits except for one byte, which is in the magic number (records of 35,615
 * bytes begin with gzip's magic number). */
static int32_t is_damaged_start(int32_t compression, const uint8_t *data, int64_t size)
{
    const char *start = codecs[compression].start;
    int64_t length = start ? (int64_t)strlen(start) : 0, same = 0, zeros = 0;
    while (zeros < size && data[zeros] == 0) zeros++;
    if (zeros == size || size < 2) return 1;
    if (length > size) length = size;
    for (int64_t i = 0; i < length; i++) same += data[i] == (uint8_t)start[i];
    if (same == size) return 1;
    return length > 2 && same >= length - 1 && !has_magic(compression, data, size);
}

static int32_t named_compression(const pfd_file *file)
{
    const char *slash = strrchr(file->path, '/');
    return pfd_compression_of_name(slash ? slash + 1 : file->path);
}

static pfd_status check_name(const pfd_file *file, const uint8_t *data, int64_t size,
                             pfd_error *err)
{
    int32_t named = named_compression(file);
    if (named == PFD_COMPRESSION_NONE) return PFD_OK;
    if (!is_damaged_start(named, data, size) && !pfd_is_text(data, size)) return PFD_OK;
    return pfd_fail_at(err, file, 0, PFD_CORRUPT_DATA,
                       "the name says %s, but the file %s; is it damaged or truncated? "
                       "compression='none' reads it as it is",
                       pfd_compression_name(named),
                       size == 0 ? "is empty" : "does not begin like that");
}

/* A skippable frame of zstd: parallel compressors write one first. */
static int32_t begins_skippable(const uint8_t *data, int64_t size)
{
    return size >= 4 && (data[0] & 0xf0) == 0x50 && !memcmp(data + 1, "\x2a\x4d\x18", 3);
}

pfd_status pfd_compression_detect(const pfd_file *file, pfd_scratch *scratch, int32_t *found,
                                  pfd_error *err)
{
    const uint8_t *data;
    int64_t size = file->size < 8 ? file->size : 8;
    *found = PFD_COMPRESSION_NONE;
    PFD_TRY(pfd_file_read(file, 0, size, scratch, &data, err));
    if (begins_skippable(data, size)) {
        int64_t next = 8 + (size < 8 ? 0 : (int64_t)pfd_load_le32(data + 4));
        if (file->size < next + 4) { /* cut, or nothing follows: the name decides */
            if (named_compression(file) == PFD_COMPRESSION_ZSTD) *found = PFD_COMPRESSION_ZSTD;
            return PFD_OK;
        }
        PFD_TRY(pfd_file_read(file, next, 4, scratch, &data, err));
        size = 4;
    }
    *found = pfd_compression_of_bytes(data, size);
    if (*found != PFD_COMPRESSION_NONE) return PFD_OK;
    if (size >= 2 && (data[0] & 0x8f) == 8) {
        size = file->size < trial_bytes ? file->size : trial_bytes;
        PFD_TRY(pfd_file_read(file, 0, size, scratch, &data, err));
        int32_t is_zlib = looks_like_zlib(data, size, size == file->size);
        if (is_zlib < 0) return pfd_fail_memory(err, trial_bytes, "decompression");
        if (is_zlib) {
            *found = PFD_COMPRESSION_ZLIB;
            return PFD_OK;
        }
    }
    return check_name(file, data, size, err);
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

enum {
    piece_bytes = 256 * 1024, /* bytes of a file, read at a time */
    step_bytes = 4 << 20,     /* at most, of a whole file, between two looks at `bounds` */
};

struct pfd_inflater {
    const pfd_file *file;
    int32_t compression;
    int32_t is_between; /* between members: the next byte, if any, starts another */
    int32_t is_first;   /* member, or the only one */
    int32_t is_fresh;   /* another member has just started */
    int32_t was_full;   /* the last step filled its output, and may produce more without input */
    const compression_codec *codec; /* NULL: none */
    void *state;
    pfd_scratch *scratch; /* memory of the current piece */
    const uint8_t *in;    /* what is left of it */
    int64_t in_size;
    int64_t at;       /* in the file, after the piece */
    int64_t produced; /* so far */
    pfd_error failure;
};

pfd_status pfd_inflater_open(const pfd_file *file, int32_t compression, pfd_inflater **out,
                             pfd_error *err)
{
    const compression_codec *codec =
        compression > PFD_COMPRESSION_NONE ? &codecs[compression] : NULL;
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
                       "the %s data ends about here, after %" PRId64 " decompressed bytes; the "
                       "bytes from here to byte %" PRId64 " are not %s data, or are damaged",
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
                           "this is not %s data, or is damaged: %s; compression='auto' detects how "
                           "a file is compressed, and 'none' reads it as it is",
                           name, message);
    return pfd_fail_at(err, self->file, at, PFD_CORRUPT_DATA,
                       "the %s data is damaged, here or earlier, at decompressed byte %" PRId64 ": "
                       "%s",
                       name, self->produced, message);
}

/* One call of the codec. */
static pfd_status step(pfd_inflater *self, uint8_t *out, int64_t room, int64_t *size,
                       pfd_error *err)
{
    codec_io io = {.in = self->in, .in_size = self->in_size, .out = out, .room = room};
    int32_t result = self->codec->step(self->state, &io);
    int32_t stalled = io.in_size == self->in_size && io.room == room;
    self->in = io.in;
    self->in_size = io.in_size;
    *size = room - io.room;
    self->was_full = io.room == 0;
    self->produced += *size;
    if (result == NO_MEMORY) return pfd_fail_memory(err, piece_bytes, "decompression");
    if (result == IS_DAMAGED) return fail_damaged(self, io.message, err);
    self->is_fresh = 0;
    if (result == HAS_ENDED) {
        self->is_between = 1;
        self->is_first = self->was_full = 0;
    } else if (stalled && self->in_size > 0) {
        return fail_damaged(self, "the library makes no progress", err);
    }
    return PFD_OK;
}

/* Passes zeros after a member, which gzip and Python's module accept as well. */
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
        if (*size <= 0) return PFD_END;
        memcpy(out, self->in, (size_t)*size);
        self->in += *size;
        self->in_size -= *size;
        self->produced += *size;
        return PFD_OK;
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

/* Fails if the file has more bytes than it may have. */
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
