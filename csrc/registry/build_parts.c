/* What this build has in it. */
#include "core/cpu.h"
#include "pyflowdata/pyflowdata.h"

#include <stddef.h>
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
