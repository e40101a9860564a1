/* The format of tar archives, in which members with the same key are a sample, as in a
 * WebDataset. */
#include "formats/tar/tar_header.h"

#include <string.h>

enum { at_magic = 257, magic_bytes = 8 };

/* Whether the first header has the magic of POSIX or GNU.  The version after the magic is compared
 * too, so that a text with the word "ustar" does not match. */
static int32_t has_magic(const pfd_probe_args *args)
{
    if (args->size < at_magic + magic_bytes) return 0;
    const uint8_t *magic = args->data + at_magic;
    return !memcmp(magic, "ustar\0" "00", magic_bytes) || !memcmp(magic, "ustar  ", magic_bytes);
}

/* Old archives have no magic; only the checksum of the first header identifies them.  A file
 * with the magic but a wrong checksum is an archive whose first header is damaged. */
static int32_t probe(const pfd_probe_args *args)
{
    int32_t is_named = args->size > 0 && args->data[0] != 0;
    if (is_named && args->size >= PFD_TAR_BLOCK && pfd_tar_has_checksum(args->data))
        return PFD_PROBE_CERTAIN;
    return has_magic(args) ? PFD_PROBE_LIKELY : PFD_PROBE_NO;
}

const pfd_format pfd_format_tar = {
    .struct_size = sizeof(pfd_format),
    .name = "tar",
    .title = "tar",
    .doc = "Archives of files; files with the same key are a sample, as in a WebDataset.",
    .suffixes = ".tar",
    .reader = "TarReader",
    .checks = "header checksums and frames",
    .probe = probe,
};
