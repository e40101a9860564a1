/* The format of the binary files of CIFAR-10 and CIFAR-100: labels and pixels, no header. */
#include "pyflowdata/op.h"

enum { image_bytes = 3 * 32 * 32, most_label = 10, most_coarse = 20, most_fine = 100 };

/* Whether the file is a whole number of records with `labels` labels each, and all labels in the
 * probed bytes are valid. */
static int32_t has_records(const pfd_probe_args *args, int64_t labels)
{
    int64_t record = labels + image_bytes;
    if (args->file_size <= 0 || args->file_size % record != 0) return 0;
    for (int64_t at = 0; at + labels <= args->size; at += record) {
        uint8_t most = labels == 1 ? most_label : most_coarse;
        if (args->data[at] >= most || (labels == 2 && args->data[at + 1] >= most_fine)) return 0;
    }
    return 1;
}

static int32_t probe(const pfd_probe_args *args)
{
    return has_records(args, 1) || has_records(args, 2) ? PFD_PROBE_POSSIBLE : PFD_PROBE_NO;
}

const pfd_format pfd_format_cifar = {
    .struct_size = sizeof(pfd_format),
    .name = "cifar",
    .title = "CIFAR binary",
    .doc = "The images and labels of CIFAR-10 or CIFAR-100, in their binary version.",
    .reader = "CIFARReader",
    .checks = "labels and size",
    .probe = probe,
};
