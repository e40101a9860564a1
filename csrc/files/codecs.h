/* files/codecs.h -- one interface to the libraries that decompress; only compression.c includes it.
 *
 * THREADS  A codec belongs to one thread.
 */
#ifndef PFD_FILES_CODECS_H
#define PFD_FILES_CODECS_H
#include <stdint.h>

/* The result of a step. */
#define PFD_CODEC_MORE 0    /* it wants more input or room */
#define PFD_CODEC_END 1     /* a member or frame ended, its checksum is right */
#define PFD_CODEC_DAMAGED 2 /* `message` says what is wrong */
#define PFD_CODEC_NO_MEMORY 3

typedef struct pfd_codec_io {
    const uint8_t *in;
    int64_t in_size; /* both advanced by what was used */
    uint8_t *out;
    int64_t room;
    const char *message;
} pfd_codec_io;

typedef struct pfd_codec {
    const char *package;           /* of Debian */
    void *(*open)(void);           /* NULL: out of memory; absent: not in this build */
    void (*close)(void *state);    /* accepts NULL */
    int32_t (*step)(void *state, pfd_codec_io *io);
    int32_t (*restart)(void *state); /* for the next member; 0: no member may follow */
    int32_t has_padding;             /* zero bytes may follow a member, as on tapes */
} pfd_codec;

/* `open` is NULL where the library is not in this build. */
extern const pfd_codec pfd_codec_gzip, pfd_codec_zlib, pfd_codec_zstd;

/* Whether `data`, the beginning of a file or (is_whole) all of it, is a zlib stream. */
int32_t pfd_codec_looks_like_zlib(const uint8_t *data, int64_t size, int32_t is_whole);
#endif
