/* The format of flat binary files: numbers without a header. */
#include "pyflowdata/op.h"

const pfd_format pfd_format_raw = {
    .struct_size = sizeof(pfd_format),
    .name = "raw",
    .title = "flat binary",
    .doc = "Numbers without a header, records of one size.",
    .suffixes = ".raw",
    .reader = "RawReader",
    .checks = "size",
};
