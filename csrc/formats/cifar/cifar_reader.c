/* CIFARReader: the binary version of CIFAR-10 and CIFAR-100. */
#include "core/op_shorthand.h"
#include "files/codecs.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { channels = 3, side = 32, plane = side * side, image_bytes = channels * plane };

enum { LAYOUT_CHW, LAYOUT_HWC };

typedef struct cifar_reader_attrs {
    int32_t version, layout, with_coarse_label;
} cifar_reader_attrs;

/* The bytes before an image: one for each of its labels. */
static int64_t label_bytes(const cifar_reader_attrs *attrs)
{
    return attrs->version == 100 ? 2 : 1;
}

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const cifar_reader_attrs *attrs = args->attrs;
    if (attrs->version != 10 && attrs->version != 100)
        return args->host->fail_attr(err, "version", NULL, PFD_INVALID_ARGUMENT,
                                     " = %" PRId32 "; it must be 10 or 100", attrs->version);
    if (attrs->with_coarse_label && attrs->version == 10)
        return args->host->fail_attr(err, "with_coarse_label", NULL, PFD_INVALID_ARGUMENT,
                                     " = true, but CIFAR-10 has no coarse labels; version=100 has");
    pfd_row_type *image = &args->outputs[0];
    *image = (pfd_row_type){.dtype = PFD_UINT8, .ndim = 3, .shape = {side, side, side}};
    image->shape[attrs->layout == LAYOUT_HWC ? 2 : 0] = channels;
    args->outputs[1] = args->outputs[2] = (pfd_row_type){.dtype = PFD_UINT8};
    return PFD_OK;
}

/* Infers the version from the size of the first file: 100 if only CIFAR-100 fits it, else 10.
 * open() reports a size that neither fits. */
static pfd_status propose(const pfd_propose_args *args, pfd_error *err)
{
    const pfd_file *file;
    PFD_TRY(args->open(args->found, 0, &file, err));
    int32_t is_100 = file->size % (2 + image_bytes) == 0 && file->size % (1 + image_bytes) != 0;
    return args->set_int(args->found, "version", is_100 ? 100 : 10, err);
}

/* Fails if a file is not a whole number of records; the message guesses what it is. */
static pfd_status check_file(const pfd_open_args *args, const pfd_file *file, pfd_error *err)
{
    const cifar_reader_attrs *attrs = args->attrs;
    int64_t record = label_bytes(attrs) + image_bytes, other = 2 * image_bytes + 3 - record;
    int64_t most = file->size < 4 ? file->size : 4;
    const uint8_t *data;
    if (file->size % record == 0) return PFD_OK;
    PFD_TRY(args->host->read(file, 0, most, args->scratch, &data, err));
    const char *hint = "is the file truncated, or not a CIFAR file?";
    int32_t compression = pfd_compression_of_bytes(data, most);
    char packed[64];
    pfd_status status = PFD_CORRUPT_DATA;
    if (file->size % other == 0) {
        hint = attrs->version == 10 ? "it fits CIFAR-100: use version=100"
                                    : "it fits CIFAR-10: use version=10";
    } else if (file->size > 2 && data[0] == 0x80 && data[1] <= 5) {
        hint = "it looks like the Python version, which is pickled and can run code when it is "
               "loaded: download the binary version";
        status = PFD_UNSUPPORTED;
    } else if (compression != PFD_COMPRESSION_NONE) {
        (void)snprintf(packed, sizeof packed, "it looks like %s: unpack it",
                       pfd_compression_name(compression));
        hint = packed;
    }
    return args->host->fail_file(err, file, file->size - file->size % record, status,
                                 "the file's %" PRId64
                                 " bytes are not a whole number of records of %" PRId64 ": %s",
                                 file->size, record, hint);
}

static pfd_status open_source(const pfd_open_args *args, pfd_source *out, pfd_error *err)
{
    const cifar_reader_attrs *attrs = args->attrs;
    pfd_fixed_layout layout = {PFD_SIZE(pfd_fixed_layout), 0, label_bytes(attrs) + image_bytes, 0};
    for (int64_t i = 0; i < args->num_files; i++) PFD_TRY(check_file(args, args->files[i], err));
    return args->host->open_fixed(args, &layout, out, err);
}

static void interleave(const uint8_t *from, uint8_t *to)
{
    for (int64_t i = 0; i < plane; i++)
        for (int64_t channel = 0; channel < channels; channel++)
            to[channels * i + channel] = from[channel * plane + i];
}

static pfd_status check_label(const pfd_compute_args *args, int64_t row, int64_t byte,
                              int32_t classes, pfd_error *err)
{
    int32_t label = args->records[row].data[byte];
    if (label < classes) return PFD_OK;
    return args->host->fail_row(err, row, byte, PFD_CORRUPT_DATA,
                                "the label is %" PRId32 ", but there are only %" PRId32
                                " classes: the file is damaged, or is not a CIFAR file",
                                label, classes);
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    const cifar_reader_attrs *attrs = args->attrs;
    int64_t labels = label_bytes(attrs);
    for (int64_t row = 0; row < args->num_rows; row++) {
        const pfd_record *record = &args->records[row];
        uint8_t *image = args->outputs[0]->data + row * image_bytes;
        if (record->size != labels + image_bytes)
            return args->host->fail_row(err, row, -1, PFD_CORRUPT_DATA,
                                        "the record has %" PRId64 " bytes of %" PRId64,
                                        record->size, labels + image_bytes);
        if (labels == 2) PFD_TRY(check_label(args, row, 0, 20, err));
        PFD_TRY(check_label(args, row, labels - 1, attrs->version, err));
        args->outputs[1]->data[row] = record->data[labels - 1];
        args->outputs[2]->data[row] = labels == 2 ? record->data[0] : 0;
        if (attrs->layout == LAYOUT_HWC)
            interleave(record->data + labels, image);
        else
            memcpy(image, record->data + labels, image_bytes);
    }
    return PFD_OK;
}

static const pfd_attr attr_table[] = {
    PFD_FOUND_ATTR_ROW(cifar_reader_attrs, version, PFD_ATTR_INT32, NULL, 10, 100, NULL,
                       "The data set: 10 for CIFAR-10, 100 for CIFAR-100. If left out, it is "
                       "inferred from the size of the first file, if that fits only one of them."),
    PFD_CHOICE_ATTR(cifar_reader_attrs, layout, "CHW", "CHW|HWC",
                    "Axes of an image: CHW is (3, 32, 32), the order in the file; HWC is (32, 32, "
                    "3)."),
    PFD_BOOL_ATTR(cifar_reader_attrs, with_coarse_label, "false",
                  "Whether to return the output coarse_label too; only CIFAR-100 has it."),
};

static const pfd_port outputs[] = {
    {"image", "The images, uint8, with the channels red, green and blue."},
    {"label", "The class of each image, uint8: one of 10, or the fine label of 100."},
    {"coarse_label", "The group of the class, uint8: one of the 20 of CIFAR-100."},
};

const pfd_op pfd_op_cifar_reader = {
    PFD_READER(PFD_READS_FILES, outputs),
    .name = "CIFARReader",
    .doc = "Reads the binary version of CIFAR-10 and CIFAR-100. "
           "Files may have any number of records. A label outside the classes is reported as "
           "damage. Changed pixels cannot be detected, because the format has no checksums.",
    PFD_OP_ATTRS(cifar_reader_attrs, attr_table),
    .propose = propose,
};
