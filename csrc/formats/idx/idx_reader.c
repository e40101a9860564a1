/* IDXReader: the arrays of MNIST's files, and the labels that belong to them. */
#include "core/error.h"
#include "core/op_shorthand.h"
#include "core/rows.h"
#include "files/file_hint.h"
#include "files/file_names.h"
#include "formats/idx/idx_header.h"
#include "parse/row_type.h"
#include "sources/fixed.h"
#include "sources/wrapped_source.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- A source that joins two others ---------------------------------------------------------- */

/* A record is the bytes of the first source's record and then those of the second source's record,
 * both with its ordinal.
 *
 * OWNERSHIP  If the open succeeds, the new source owns both sources.
 * THREADS    As of a pfd_source in op.h. */

typedef struct joined {
    const pfd_host *host;
    pfd_source first, second; /* owned */
} joined;

enum { records_at_once = 64 };

static int64_t num_records(void *source)
{
    const joined *self = source;
    return self->first.methods->size(self->first.self);
}

/* Appends the bytes of each record of `more` to the record of `out`, in new memory. */
static pfd_status append(const pfd_host *host, const pfd_record *more, int64_t n,
                         pfd_scratch *scratch, pfd_record *out, pfd_error *err)
{
    int64_t bytes = 0;
    for (int64_t i = 0; i < n; i++) bytes += out[i].size + more[i].size;
    uint8_t *at = host->alloc(scratch, bytes);
    if (!at) return host->fail(err, PFD_OUT_OF_MEMORY, "no memory for joined records");
    for (int64_t i = 0; i < n; i++) {
        memcpy(at, out[i].data, (size_t)out[i].size);
        memcpy(at + out[i].size, more[i].data, (size_t)more[i].size);
        out[i].data = at;
        out[i].size += more[i].size;
        at += out[i].size;
    }
    return PFD_OK;
}

static pfd_status at(void *source, const int64_t *ordinals, int64_t n, pfd_scratch *scratch,
                     pfd_record *out, pfd_error *err)
{
    const joined *self = source;
    pfd_record more[records_at_once];
    for (int64_t done = 0; done < n; done += records_at_once) {
        int64_t some = n - done < records_at_once ? n - done : records_at_once;
        pfd_status status = self->first.methods->at(self->first.self, ordinals + done, some,
                                                    scratch, out + done, err);
        if (status == PFD_OK)
            status = self->second.methods->at(self->second.self, ordinals + done, some, scratch,
                                              more, err);
        if (status == PFD_OK) status = append(self->host, more, some, scratch, out + done, err);
        if (status == PFD_OK) continue;
        if (err->row >= 0) err->row += done;
        return status;
    }
    return PFD_OK;
}

static void places(void *source, const int64_t *ordinals, int64_t n, pfd_place *out)
{
    const joined *self = source;
    self->first.methods->places(self->first.self, ordinals, n, out);
}

static void close_joined(void *source)
{
    joined *self = source;
    self->first.methods->close(self->first.self);
    self->second.methods->close(self->second.self);
    free(self);
}

static const pfd_source_methods methods = {
    .struct_size = sizeof(pfd_source_methods),
    .close = close_joined,
    .size = num_records,
    .at = at,
    .places = places,
};

/* Both sources have random access and the same number of records.  File and offset of a record are
 * those of the first source. */
static pfd_status paired_source_open(const pfd_host *host, const pfd_source *first,
                                     const pfd_source *second, pfd_source *out, pfd_error *err)
{
    joined *self = malloc(sizeof *self);
    if (!self) return host->fail(err, PFD_OUT_OF_MEMORY, "no memory for joined sources");
    *self = (joined){host, *first, *second};
    return pfd_source_opened(PFD_OK, &methods, self, out);
}

/* ---- The op ---------------------------------------------------------------------------------- */

typedef struct idx_reader_attrs {
    pfd_list_string labels;
    pfd_list_int64 shape, label_shape;
    int32_t dtype, label_dtype;
} idx_reader_attrs;

/* One of the two arrays of a record: images or labels. */
typedef struct array {
    const char *dtype_attr, *shape_attr; /* for messages */
    pfd_row_type row;
    const pfd_file *const *files;
    int64_t num_files;
    int64_t *num_rows; /* of each file */
} array;

static pfd_status find_row_types(const idx_reader_attrs *attrs, pfd_row_type *image,
                                 pfd_row_type *label, pfd_error *err)
{
    PFD_TRY(pfd_stored_row_type(attrs->dtype, attrs->shape, image, err));
    return pfd_stored_row_type(attrs->label_dtype, attrs->label_shape, label, err);
}

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    return find_row_types(args->attrs, &args->outputs[0], &args->outputs[1], err);
}

static pfd_status companions(const pfd_companion_args *args, pfd_error *err)
{
    const idx_reader_attrs *attrs = args->attrs;
    pfd_path_list found = {0};
    if (attrs->labels.size == 0) return PFD_OK;
    pfd_status status = pfd_file_patterns_find("labels", &attrs->labels, 0, &found, err);
    if (status == PFD_OK && found.size != args->num_paths)
        status =
            args->host->fail_attr(err, "labels", NULL, PFD_INVALID_ARGUMENT,
                                  " has %" PRId64 " files, but there are %" PRId64
                                  " files of images; give one label file for each, in the same "
                                  "order",
                                  found.size, args->num_paths);
    for (int64_t i = 0; status == PFD_OK && i < found.size; i++)
        status = args->add(args->list, found.paths[i], err);
    pfd_path_list_free(&found);
    return status;
}

static pfd_status read_header(const pfd_host *host, const pfd_file *file, pfd_scratch *scratch,
                              pfd_idx_header *out, pfd_error *err)
{
    const uint8_t *data;
    int64_t size = file->size < PFD_HINT_BYTES ? file->size : PFD_HINT_BYTES;
    PFD_TRY(host->read(file, 0, size, scratch, &data, err));
    pfd_status status = pfd_idx_header_read(host, data, size, out, err);
    if (status != PFD_OK) pfd_error_set_file(err, file->path);
    return status;
}

static pfd_status propose_array(const pfd_propose_args *args, int64_t path, const char *dtype,
                                const char *shape, pfd_error *err)
{
    const pfd_file *file;
    pfd_idx_header header;
    PFD_TRY(args->open(args->found, path, &file, err));
    PFD_TRY(read_header(args->host, file, args->scratch, &header, err));
    PFD_TRY(args->set_int(args->found, dtype, header.row.dtype, err));
    return args->set_ints(args->found, shape, header.row.shape, header.row.ndim, err);
}

/* In the list of paths the label files follow the image files. */
static pfd_status propose(const pfd_propose_args *args, pfd_error *err)
{
    const idx_reader_attrs *attrs = args->attrs;
    PFD_TRY(propose_array(args, 0, "dtype", "shape", err));
    if (attrs->labels.size == 0) return PFD_OK;
    return propose_array(args, args->num_paths / 2, "label_dtype", "label_shape", err);
}

static pfd_status check_header(const pfd_host *host, const array *a, const pfd_file *file,
                               const pfd_idx_header *header, pfd_error *err)
{
    const pfd_row_type *row = &header->row;
    size_t dims = (size_t)row->ndim * sizeof row->shape[0];
    if (row->dtype != a->row.dtype || row->ndim != a->row.ndim ||
        memcmp(row->shape, a->row.shape, dims) != 0) {
        char found[256], expected[256];
        return host->fail_file(err, file, 0, PFD_CORRUPT_DATA,
                               "the rows of this file are %s, but the attrs %s and %s say %s",
                               pfd_format_row_type(row, found, sizeof found), a->dtype_attr,
                               a->shape_attr,
                               pfd_format_row_type(&a->row, expected, sizeof expected));
    }
    /* Compared by division: 2^32 rows of 2^46 bytes would overflow int64_t. */
    int64_t bytes = pfd_stored_row_bytes(row), there = file->size - header->header_bytes;
    if (there % bytes == 0 && there / bytes == header->num_rows) return PFD_OK;
    if (there / bytes < header->num_rows)
        return host->fail_file(err, file, file->size, PFD_CORRUPT_DATA,
                               "the file ends here, but its header states %" PRId64 " rows of "
                               "%" PRId64 " bytes, after %" PRId64 " bytes of header; is it "
                               "truncated?",
                               header->num_rows, bytes, header->header_bytes);
    return host->fail_file(err, file, header->header_bytes + header->num_rows * bytes,
                           PFD_CORRUPT_DATA, "the array ends here, and %" PRId64 " bytes follow",
                           there - header->num_rows * bytes);
}

static pfd_status open_array(const pfd_open_args *args, array *a, pfd_source *out, pfd_error *err)
{
    int64_t n = a->num_files, bytes = n * (int64_t)sizeof(pfd_fixed_layout);
    pfd_fixed_layout *layouts = args->host->alloc(args->scratch, bytes);
    a->num_rows = args->host->alloc(args->scratch, n * (int64_t)sizeof(int64_t));
    if (!layouts || !a->num_rows)
        return args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for the layouts of the files");
    for (int64_t i = 0; i < n; i++) {
        pfd_idx_header header;
        PFD_TRY(read_header(args->host, a->files[i], args->scratch, &header, err));
        PFD_TRY(check_header(args->host, a, a->files[i], &header, err));
        a->num_rows[i] = header.num_rows;
        layouts[i] = (pfd_fixed_layout){PFD_SIZE(pfd_fixed_layout), header.header_bytes,
                                        pfd_stored_row_bytes(&a->row), 0};
    }
    return pfd_fixed_open_each(a->files, layouts, n, out, err);
}

static pfd_status check_pairs(const pfd_host *host, const array *images, const array *labels,
                              pfd_error *err)
{
    for (int64_t i = 0; i < images->num_files; i++) {
        if (labels->num_rows[i] == images->num_rows[i]) continue;
        return host->fail_file(err, labels->files[i], 4, PFD_CORRUPT_DATA,
                               "this file has %" PRId64 " labels, but '%s' has %" PRId64
                               " images; each image needs one label",
                               labels->num_rows[i], images->files[i]->path, images->num_rows[i]);
    }
    return PFD_OK;
}

static pfd_status open_pair(const pfd_open_args *args, array *images, array *labels,
                            pfd_source *out, pfd_error *err)
{
    pfd_source image_source = *out, label_source = *out;
    PFD_TRY(open_array(args, images, &image_source, err));
    pfd_status status = open_array(args, labels, &label_source, err);
    if (status != PFD_OK) {
        image_source.methods->close(image_source.self);
        return status;
    }
    status = check_pairs(args->host, images, labels, err);
    if (status == PFD_OK)
        status = paired_source_open(args->host, &image_source, &label_source, out, err);
    if (status == PFD_OK) return PFD_OK;
    image_source.methods->close(image_source.self);
    label_source.methods->close(label_source.self);
    return status;
}

static pfd_status open_arrays(const pfd_open_args *args, pfd_source *out, pfd_error *err)
{
    const idx_reader_attrs *attrs = args->attrs;
    int32_t has_labels = attrs->labels.size > 0;
    int64_t n = has_labels ? args->num_files / 2 : args->num_files;
    array images = {"dtype", "shape", {0}, args->files, n, NULL};
    array labels = {"label_dtype", "label_shape", {0}, args->files + n, n, NULL};
    PFD_TRY(find_row_types(attrs, &images.row, &labels.row, err));
    return has_labels ? open_pair(args, &images, &labels, out, err)
                      : open_array(args, &images, out, err);
}

static pfd_status open_source(const pfd_open_args *args, pfd_source *out, pfd_error *err)
{
    return pfd_open_inflated(args, open_arrays, out, err);
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    const idx_reader_attrs *attrs = args->attrs;
    pfd_tensor *image = args->outputs[0], *label = args->outputs[1];
    int32_t swap = pfd_order_is_foreign(PFD_ORDER_BIG);
    PFD_TRY(pfd_copy_stored_rows(args, 0, swap, image, err));
    if (attrs->labels.size > 0)
        return pfd_copy_stored_rows(args, image->row_bytes, swap, label, err);
    memset(label->data, 0, (size_t)(args->num_rows * label->row_bytes));
    return PFD_OK;
}

static const pfd_attr attr_table[] = {
    PFD_STRINGS_ATTR(idx_reader_attrs, labels, "",
                     "Files of labels, paths or patterns: one for each file of images, in the "
                     "same order."),
    PFD_FOUND_ATTR_ROW(idx_reader_attrs, dtype, PFD_ATTR_DTYPE, NULL, 0, 0, PFD_IDX_DTYPES,
                       "The dtype of the images, the same in every file."),
    PFD_FOUND_ATTR_ROW(idx_reader_attrs, shape, PFD_ATTR_SHAPE, NULL, 0, 0, NULL,
                       "Shape of one image, the same in every file."),
    PFD_FOUND_ATTR_ROW(idx_reader_attrs, label_dtype, PFD_ATTR_DTYPE, "uint8", 0, 0, PFD_IDX_DTYPES,
                       "The dtype of the labels."),
    PFD_FOUND_ATTR_ROW(idx_reader_attrs, label_shape, PFD_ATTR_SHAPE, "", 0, 0, NULL,
                       "Shape of one label: empty for a number; the labels of QMNIST are int32 of "
                       "shape 8."),
};

static const pfd_port outputs[] = {
    {"images", "The arrays, with the dtype and shape of the attrs, in the byte order of this "
               "machine."},
    {"labels", "The label of each array."},
};

const pfd_op pfd_op_idx_reader = {
    PFD_READER(PFD_READS_FILES, outputs),
    .name = "IDXReader",
    .aliases = "MNISTReader",
    .doc = "Reads IDX files, the format of MNIST and its relatives: arrays of one dtype and shape. "
           "With labels, record i has array i of an image file and label i of its label file. "
           "Dtypes and shapes that are left out are inferred from the headers of the first files. "
           "Headers are checked against the attrs, and the numbers of images and labels against "
           "each other, when the loader opens. Compressed files are decompressed into memory as a "
           "whole. EMNIST stores its images transposed; the reader does not turn them.",
    PFD_OP_ATTRS(idx_reader_attrs, attr_table),
    .companions = companions,
    .propose = propose,
};
