/* The file formats that the library brings along; the only file that lists them.
 * To add one: its folder in formats/ with a <name>_format.c, its line here, its tests.
 *
 * The order decides between formats whose probes give the same score. */
#include "registry/registry.h"

#define BUILTIN_FORMATS(X)                                                                         \
    X(megatron)                                                                                    \
    X(npy)                                                                                         \
    X(onerec)                                                                                      \
    X(tfrecord)                                                                                    \
    X(tar)                                                                                         \
    X(mindrecord)                                                                                  \
    X(mds)                                                                                         \
    X(arrow)                                                                                       \
    X(parquet)                                                                                     \
    X(idx)                                                                                         \
    X(ofrecord)                                                                                    \
    X(coco)                                                                                        \
    X(manifest)                                                                                    \
    X(csv)                                                                                         \
    X(json)                                                                                        \
    X(text)                                                                                        \
    X(cifar)                                                                                       \
    X(raw)                                                                                         \
    X(mini)                                                                                        \
    X(imagefolder)

#define DECLARE(format) extern const pfd_format pfd_format_##format;
BUILTIN_FORMATS(DECLARE)

#define ADDRESS(format) &pfd_format_##format,
const pfd_format *const pfd_builtin_formats[] = {BUILTIN_FORMATS(ADDRESS) NULL};
