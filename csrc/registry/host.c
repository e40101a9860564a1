/* What this library is: its version, the hash by which Python checks that it matches, what it was
 * built with, and the table of functions that it gives to ops. */
#include "core/cpu.h"
#include "core/error.h"
#include "core/random.h"
#include "core/scratch.h"
#include "files/input_files.h"
#include "parse/number_text.h"
#include "registry/registry.h"
#include "registry/version.h"
#include "sources/fixed.h"
#include "sources/frames.h"
#include "sources/lines.h"

#include <stdio.h>
#ifdef PFD_HAVE_ZLIB
#include <zlib.h>
#endif
#ifdef PFD_HAVE_ZSTD
#include <zstd.h>
#endif
#ifdef PFD_HAVE_JPEG
#include <jpeglib.h>
#endif
#ifdef PFD_HAVE_PNG
#include <png.h>
#endif
#ifdef PFD_HAVE_WEBP
#include <webp/decode.h>
#endif

/* ---- Version --------------------------------------------------------------------------------- */

#define MIX(hash, type) ((hash)*31u + (uint32_t)sizeof(type))
#define ABI_OF_OPS                                                                                 \
    MIX(MIX(MIX(MIX(MIX(MIX(1u, pfd_error), pfd_row_type), pfd_attr), pfd_port), pfd_op),          \
        pfd_format)
#define ABI_OF_NODES MIX(MIX(ABI_OF_OPS, pfd_attr_value), pfd_blob)
#define ABI_OF_LOADERS                                                                             \
    MIX(MIX(MIX(MIX(MIX(ABI_OF_NODES, pfd_loader_options), pfd_loader_info), pfd_reader_info),     \
            pfd_batch),                                                                            \
        pfd_ragged_batch)
#define ABI_OF_COUNTS                                                                              \
    MIX(MIX(MIX(MIX(ABI_OF_LOADERS, pfd_stats), pfd_work_stats), pfd_thread_now), pfd_history)
#define ABI_VERSION MIX(MIX(ABI_OF_COUNTS, pfd_trace_event), pfd_trace_info)

uint32_t pfd_abi_version(void)
{
    return ABI_VERSION;
}

const char *pfd_version(void)
{
    return PFD_VERSION;
}

/* ---- What this build has in it --------------------------------------------------------------- */

#define IN_WORDS(text) #text
#define TEXT_OF(macro) IN_WORDS(macro)

#if defined(__clang__)
#define COMPILER                                                                                   \
    "Clang " TEXT_OF(__clang_major__) "." TEXT_OF(__clang_minor__) "." TEXT_OF(__clang_patchlevel__)
#elif defined(__GNUC__)
#define COMPILER "GCC " __VERSION__
#else
#define COMPILER "unknown"
#endif

static const char *compiler(void)
{
    return COMPILER;
}

/* The libraries that are linked tell their versions, and not the headers, where they can. */
static const char *zlib(void)
{
#ifdef PFD_HAVE_ZLIB
    return zlibVersion();
#else
    return NULL;
#endif
}

static const char *zstd(void)
{
#ifdef PFD_HAVE_ZSTD
    return ZSTD_versionString();
#else
    return NULL;
#endif
}

static const char *jpeg(void)
{
#if defined(PFD_HAVE_JPEG) && defined(LIBJPEG_TURBO_VERSION)
    return TEXT_OF(LIBJPEG_TURBO_VERSION);
#elif defined(PFD_HAVE_JPEG)
    return TEXT_OF(JPEG_LIB_VERSION);
#else
    return NULL;
#endif
}

static const char *png(void)
{
#ifdef PFD_HAVE_PNG
    return png_get_libpng_ver(NULL);
#else
    return NULL;
#endif
}

static const char *webp(void)
{
#ifdef PFD_HAVE_WEBP
    static _Thread_local char text[16];
    unsigned version = (unsigned)WebPGetDecoderVersion();
    (void)snprintf(text, sizeof text, "%u.%u.%u", version >> 16 & 255, version >> 8 & 255,
                   version & 255);
    return text;
#else
    return NULL;
#endif
}

const char *pfd_build_part(int64_t i, const char **version)
{
    static const struct {
        const char *name;
        const char *(*version)(void);
    } parts[] = {
        {"compiler", compiler}, {"SIMD", pfd_simd_name}, {"zlib", zlib},     {"libzstd", zstd},
        {"libjpeg-turbo", jpeg}, {"libpng", png},        {"libwebp", webp},
    };
    if (i < 0 || i >= (int64_t)(sizeof parts / sizeof *parts)) return NULL;
    *version = parts[i].version();
    return parts[i].name;
}

/* ---- The host table -------------------------------------------------------------------------- */

static uint64_t random_bits(uint64_t random_key, int64_t ordinal, int64_t draw)
{
    return pfd_random_bits(pfd_random_bits(random_key, (uint64_t)ordinal), (uint64_t)draw);
}

const pfd_host *pfd_host_table(void)
{
    static const pfd_host host = {
        .struct_size = sizeof host,
        .abi_major = PFD_ABI_MAJOR,
        .abi_minor = PFD_ABI_MINOR,
        .fail = pfd_fail,
        .fail_row = pfd_fail_row,
        .fail_file = pfd_fail_at,
        .alloc = pfd_scratch_alloc,
        .is_cancelled = pfd_scratch_is_cancelled,
        .read = pfd_file_read,
        .open_lines = pfd_lines_open,
        .open_frames = pfd_frames_open,
        .open_fixed = pfd_fixed_open,
        .parse_double = pfd_parse_double,
        .random_bits = random_bits,
        .looks_like = pfd_looks_like,
        .fail_attr = pfd_fail_attr,
    };
    return &host;
}
