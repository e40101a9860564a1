/* The host of ops: its version, the hash of struct sizes that Python compares, the libraries in
 * this build, and the pfd_host of op.h, the table of functions that ops may call. */
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
#else
#define zlibVersion absent
#endif
#ifdef PFD_HAVE_ZSTD
#include <zstd.h>
#else
#define ZSTD_versionString absent
#endif
#ifdef PFD_HAVE_LZ4
#include <lz4.h>
#else
#define LZ4_versionString absent
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

uint32_t pfd_abi_version(void)
{
    static const size_t sizes[] = {
        sizeof(pfd_error), sizeof(pfd_row_type), sizeof(pfd_attr), sizeof(pfd_port),
        sizeof(pfd_op), sizeof(pfd_format), sizeof(pfd_attr_value), sizeof(pfd_blob),
        sizeof(pfd_loader_options), sizeof(pfd_loader_info), sizeof(pfd_reader_info),
        sizeof(pfd_batch), sizeof(pfd_ragged_batch), sizeof(pfd_stats), sizeof(pfd_work_stats),
        sizeof(pfd_thread_now), sizeof(pfd_history), sizeof(pfd_trace_event),
        sizeof(pfd_trace_info),
    };
    uint32_t hash = 1;
    for (uint32_t i = 0; i < PFD_COUNT(sizes); i++) hash = hash * 31 + (uint32_t)sizes[i];
    return hash;
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

/* The version of a library that this build lacks. */
__attribute__((unused)) static const char *absent(void)
{
    return NULL;
}

/* Where a library can tell its version, the function returns that one: the header may be older. */
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
        {"compiler", compiler}, {"SIMD", pfd_simd_name}, {"zlib", zlibVersion},
        {"libzstd", ZSTD_versionString}, {"liblz4", LZ4_versionString}, {"libjpeg-turbo", jpeg},
        {"libpng", png}, {"libwebp", webp},
    };
    if (i < 0 || i >= (int64_t)PFD_COUNT(parts)) return NULL;
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
