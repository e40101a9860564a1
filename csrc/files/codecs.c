/* One interface to zlib and libzstd. */
#include "files/codecs.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* ---- What zlib looks like -------------------------------------------------------------------- */

/* Whether such bytes could be a text: no control characters, and valid UTF-8 in the bytes checked.
 */
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

static int32_t step_inflate(void *state, pfd_codec_io *io)
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
    if (status == Z_STREAM_END) return PFD_CODEC_END;
    if (status == Z_OK || status == Z_BUF_ERROR) return PFD_CODEC_MORE;
    if (status == Z_MEM_ERROR) return PFD_CODEC_NO_MEMORY;
    io->message = status == Z_NEED_DICT ? "a preset dictionary is needed"
                  : stream->msg         ? stream->msg
                                        : "no such data";
    return PFD_CODEC_DAMAGED;
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
    if (!state) return PFD_CODEC_NO_MEMORY;
    pfd_codec_io io = {.in = data, .in_size = size};
    int64_t before;
    int32_t step;
    *produced = 0;
    do {
        before = io.in_size;
        io.out = room;
        io.room = (int64_t)sizeof room;
        step = step_inflate(state, &io);
        *produced += (int64_t)sizeof room - io.room;
    } while (step == PFD_CODEC_MORE && (io.in_size < before || io.room == 0));
    close_inflate(state);
    return step;
}

/* The first bytes are not enough: they are "x^" in the worst case.  What follows has to inflate;
 * where it does so without its header, only the checksum at the end is wrong. */
int32_t pfd_codec_looks_like_zlib(const uint8_t *data, int64_t size, int32_t is_whole)
{
    int64_t produced = 0, without_header = 0;
    if (!has_zlib_header(data, size)) return 0;
    int32_t step = try_inflate(15, data, size, &produced);
    if (step == PFD_CODEC_END) return 1;
    if (step == PFD_CODEC_NO_MEMORY || is_text(data, size)) return 0;
    if (step == PFD_CODEC_MORE) return is_whole || produced > 0;
    return produced >= 1024 ||
           try_inflate(-15, data + 2, size - 2, &without_header) == PFD_CODEC_END;
}
#else
#define open_gzip NULL
#define open_zlib NULL
#define close_inflate NULL
#define step_inflate NULL
#define restart_gzip NULL

/* No trial is possible: a first block that is not of the two usual kinds means other data. */
int32_t pfd_codec_looks_like_zlib(const uint8_t *data, int64_t size, int32_t is_whole)
{
    (void)is_whole;
    if (!has_zlib_header(data, size) || size < 3 || is_text(data, size)) return 0;
    return (data[2] & 6) == 2 || (data[2] & 6) == 4;
}
#endif

/* ---- zstd ------------------------------------------------------------------------------------ */
#ifdef PFD_HAVE_ZSTD
#include <zstd.h>

static void *open_zstd(void)
{
    return ZSTD_createDStream();
}

static void close_zstd(void *state)
{
    (void)ZSTD_freeDStream(state);
}

static int32_t step_zstd(void *state, pfd_codec_io *io)
{
    ZSTD_inBuffer in = {io->in, (size_t)io->in_size, 0};
    ZSTD_outBuffer out = {io->out, (size_t)io->room, 0};
    size_t status = ZSTD_decompressStream(state, &out, &in);
    io->in += in.pos;
    io->in_size -= (int64_t)in.pos;
    io->out += out.pos;
    io->room -= (int64_t)out.pos;
    if (status == 0) return PFD_CODEC_END;
    if (!ZSTD_isError(status)) return PFD_CODEC_MORE;
    io->message = ZSTD_getErrorName(status);
    return PFD_CODEC_DAMAGED;
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

const pfd_codec pfd_codec_gzip = {"zlib1g-dev", open_gzip, close_inflate, step_inflate,
                                  restart_gzip, 1};
const pfd_codec pfd_codec_zlib = {"zlib1g-dev", open_zlib, close_inflate, step_inflate,
                                  no_restart, 0};
const pfd_codec pfd_codec_zstd = {"libzstd-dev", open_zstd, close_zstd, step_zstd, restart_zstd, 0};
