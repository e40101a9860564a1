/* COCOReader: images with the boxes, labels and polygons of their objects. */
#include "core/error.h"
#include "core/op_parts.h"
#include "files/codecs.h"
#include "files/file_read.h"
#include "formats/coco/coco_annotations.h"
#include "index/index_image.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct coco_attrs {
    const char *image_dir;
    int32_t group_by_ratio, remove_images_without_annotations;
} coco_attrs;

enum { IMAGE, IMAGE_ID, IMAGE_SIZE, GT_BBOX, GT_LABEL, GT_SEGM, GT_SEGM_INDEX };

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    (void)err;
    pfd_row_type *out = args->outputs;
    out[IMAGE] = (pfd_row_type){.dtype = PFD_UINT8, .ndim = 1, .shape = {-1}};
    out[IMAGE_ID] = (pfd_row_type){.dtype = PFD_INT64};
    out[IMAGE_SIZE] = (pfd_row_type){.dtype = PFD_INT32, .ndim = 1, .shape = {2}};
    out[GT_BBOX] = (pfd_row_type){.dtype = PFD_FLOAT32, .ndim = 2, .shape = {-1, 4}};
    out[GT_LABEL] = (pfd_row_type){.dtype = PFD_INT32, .ndim = 1, .shape = {-1}};
    out[GT_SEGM] = (pfd_row_type){.dtype = PFD_FLOAT32, .ndim = 2, .shape = {-1, 2}};
    out[GT_SEGM_INDEX] = (pfd_row_type){.dtype = PFD_INT32, .ndim = 2, .shape = {-1, 3}};
    return PFD_OK;
}

/* ---- The source: a record is the entry of an image in the index ------------------------------ */
typedef struct coco {
    const pfd_host *host;
    const coco_attrs *attrs;
    const pfd_file *file;
    char *image_dir; /* for messages; owned */
    int folder;      /* open on it */
    pfd_index_image *image;
    pfd_coco_index index;
    int64_t mean_bytes; /* of some of the images */
} coco;

static pfd_status fail_memory(const pfd_host *host, pfd_error *err)
{
    return host->fail(err, PFD_OUT_OF_MEMORY, "no memory for the objects of an image");
}

static void close_source(void *source)
{
    coco *self = source;
    if (self->folder >= 0) close(self->folder);
    pfd_index_image_free(self->image);
    free(self->image_dir);
    free(self);
}

PFD_SOURCE_NUMBER(num_records, coco, index.num_images)

static pfd_status at(void *source, const int64_t *ordinals, int64_t n, pfd_scratch *scratch,
                     pfd_record *out, pfd_error *err)
{
    (void)scratch;
    const coco *self = source;
    for (int64_t i = 0; i < n; i++) {
        if (ordinals[i] < 0 || ordinals[i] >= self->index.num_images)
            return self->host->fail_row(err, i, -1, PFD_INTERNAL,
                                        "position = %" PRId64 "; it must be in [0, %" PRId64 ")",
                                        ordinals[i], self->index.num_images);
        out[i] = (pfd_record){.data = (const void *)&self->index.images[ordinals[i]],
                              .size = (int64_t)sizeof(pfd_coco_image),
                              .ordinal = ordinals[i]};
    }
    return pfd_index_image_check(self->image, err);
}

/* The path of the image, in place of that of the annotations. */
static void describe(void *source, const pfd_record *record, pfd_error *err)
{
    const coco *self = source;
    const pfd_coco_place *objects;
    int64_t n;
    const char *name;
    char *path;
    if (!pfd_coco_index_at(&self->index, record->ordinal, &objects, &n, &name)) return;
    if (asprintf(&path, "%s/%s", self->image_dir, name) < 0) return;
    pfd_error_set_file(err, path);
    free(path);
}

PFD_SOURCE_NUMBER(record_bytes, coco, mean_bytes)

static const pfd_source_methods methods = {
    .struct_size = sizeof(pfd_source_methods),
    .close = close_source,
    .size = num_records,
    .at = at,
    .describe = describe,
    .record_bytes = record_bytes,
};

/* Wide images and others; OneFlow has one more group for each further multiple of the width. */
static pfd_status group(const pfd_group_args *args, int64_t *number, pfd_error *err)
{
    pfd_coco_image image;
    if (args->record->size != (int64_t)sizeof image)
        return args->host->fail(err, PFD_INTERNAL, "the record is not that of an image");
    memcpy(&image, args->record->data, sizeof image);
    *number = image.height >= image.width;
    return PFD_OK;
}

/* ---- Open ------------------------------------------------------------------------------------ */
static pfd_status check_files(const pfd_open_args *args, pfd_error *err)
{
    if (args->num_files != 1)
        return args->host->fail_attr(err, "files", NULL, PFD_INVALID_ARGUMENT,
                                     " are %" PRId64 "; give one annotation file, such as "
                                     "instances_train2017.json", args->num_files);
    if (pfd_file_compression(args->files[0]) <= PFD_COMPRESSION_NONE) return PFD_OK;
    return args->host->fail_file(err, args->files[0], -1, PFD_UNSUPPORTED,
                                 "the annotation file is compressed; decompress it");
}

static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? strndup(path, (size_t)(slash - path) + (slash == path)) : strdup(".");
}

/* Left out, it is the folder of the annotation file. */
static pfd_status open_folder(coco *self, pfd_error *err)
{
    const char *given = self->attrs->image_dir;
    self->image_dir = given[0] ? strdup(given) : folder_of(self->file->path);
    char *folder = given[0] ? strdup(given) : folder_of(pfd_input_file_of(self->file)->absolute);
    if (folder && self->image_dir) self->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int reason = errno;
    int32_t has_memory = folder && self->image_dir;
    free(folder);
    if (!has_memory) return fail_memory(self->host, err);
    if (self->folder >= 0) return PFD_OK;
    (void)self->host->fail_attr(err, "image_dir", NULL, PFD_IO,
                                ": the folder of the images cannot be opened: %s",
                                strerror(reason));
    pfd_error_set_file(err, self->image_dir);
    return PFD_IO;
}

/* Bytes of image i; 0: not known. */
static int64_t size_of(void *ctx, int64_t i)
{
    const coco *self = ctx;
    const pfd_coco_place *objects;
    int64_t count;
    const char *name;
    if (!pfd_coco_index_at(&self->index, i, &objects, &count, &name)) return 0;
    return pfd_whole_file_size(self->folder, name);
}

static pfd_status fail_lost(const coco *self, int64_t row, pfd_error *err)
{
    PFD_TRY(pfd_index_image_check_disk(self->image, err));
    return self->host->fail_row(err, row, -1, PFD_IO,
                                "the index has no such image: was it changed while it was in use?");
}

static pfd_status open_all(coco *self, const pfd_open_args *args, pfd_error *err)
{
    PFD_TRY(check_files(args, err));
    pfd_coco_source from = {.host = args->host,
                            .file = self->file,
                            .scratch = args->scratch,
                            .keeps_empty = !self->attrs->remove_images_without_annotations};
    PFD_TRY(open_folder(self, err));
    PFD_TRY(pfd_index_obtain(args, PFD_INDEX_OBJECTS, pfd_coco_index_build, &from, &self->image,
                             err));
    if (!pfd_coco_index_init(&self->index, self->image)) return fail_lost(self, -1, err);
    self->mean_bytes = pfd_whole_files_mean(self->index.num_images, size_of, self);
    return PFD_OK;
}

static pfd_status open_source(const pfd_open_args *args, pfd_source *out, pfd_error *err)
{
    coco *self = calloc(1, sizeof *self);
    if (!self) return fail_memory(args->host, err);
    *self = (coco){
        .host = args->host, .attrs = args->attrs, .file = args->files[0], .folder = -1};
    pfd_status status = open_all(self, args, err);
    return pfd_source_opened(status, &methods, self, out);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* The objects of an image, and their arrays. */
typedef struct image_rows {
    const pfd_compute_args *args;
    int64_t row;
    pfd_coco_image image;
    const pfd_coco_place *objects;
    int64_t num_objects;
    float *boxes;
    int32_t *labels;
    pfd_coco_points points;
} image_rows;

/* A point has 4 bytes of text at least. */
static pfd_status allocate(image_rows *self, pfd_error *err)
{
    const pfd_host *host = self->args->host;
    pfd_scratch *scratch = self->args->scratch;
    int64_t bytes = 0;
    for (int64_t i = 0; i < self->num_objects; i++) bytes += self->objects[i].size;
    int64_t room = bytes / 4;
    self->points.room = room;
    self->boxes = host->alloc(scratch, self->num_objects * 4 * (int64_t)sizeof *self->boxes);
    self->labels = host->alloc(scratch, self->num_objects * (int64_t)sizeof *self->labels);
    self->points.points = host->alloc(scratch, room * 2 * (int64_t)sizeof(float));
    self->points.index = host->alloc(scratch, room * 3 * (int64_t)sizeof(int32_t));
    int32_t has_all =
        self->boxes && self->labels && self->points.points && self->points.index;
    return has_all ? PFD_OK : fail_memory(host, err);
}

static pfd_status fail_object(const image_rows *self, const pfd_coco_place *at, const char *problem,
                              pfd_error *err)
{
    return self->args->host->fail_row(err, self->row, -1, PFD_CORRUPT_DATA,
                                      "its annotation at byte %" PRId64 ": %s", at->offset,
                                      problem);
}

static pfd_status read_object(image_rows *self, const pfd_file *file, int64_t i, pfd_error *err)
{
    const pfd_compute_args *args = self->args;
    const pfd_coco_place *at = &self->objects[i];
    const uint8_t *text;
    pfd_coco_object object;
    pfd_status status = args->host->read(file, at->offset, at->size, args->scratch, &text, err);
    if (status != PFD_OK) {
        err->row = self->row;
        return status;
    }
    pfd_json json = pfd_json_begin(text, at->size);
    pfd_coco_object_read(&json, &object);
    const char *problem = json.problem;
    if (!problem)
        problem = pfd_coco_polygons_read(text, at->size, (int32_t)i, &self->points);
    if (problem) return fail_object(self, at, problem, err);
    if (!pfd_coco_box(&object, self->image.height, self->image.width, &self->boxes[4 * i]))
        return fail_object(self, at, "it has no box; did the file change?", err);
    self->labels[i] = at->label;
    return PFD_OK;
}

static void point_ragged(const pfd_compute_args *args, int32_t output, int64_t row,
                         const void *data, int64_t n)
{
    args->outputs[output]->rows[row] = (pfd_ragged_row){.data = data, .num_elements = n};
}

static void write_numbers(const image_rows *self)
{
    const pfd_compute_args *args = self->args;
    int64_t row = self->row;
    ((int64_t *)(void *)args->outputs[IMAGE_ID]->data)[row] = self->image.id;
    int32_t *size = (int32_t *)(void *)args->outputs[IMAGE_SIZE]->data + 2 * row;
    size[0] = self->image.height;
    size[1] = self->image.width;
    point_ragged(args, GT_BBOX, row, self->boxes, 4 * self->num_objects);
    point_ragged(args, GT_LABEL, row, self->labels, self->num_objects);
    point_ragged(args, GT_SEGM, row, self->points.points, 2 * self->points.size);
    point_ragged(args, GT_SEGM_INDEX, row, self->points.index, 3 * self->points.size);
}

static pfd_status write_row(const pfd_compute_args *args, int64_t row, pfd_error *err)
{
    const coco *self = args->source;
    const pfd_record *record = &args->records[row];
    image_rows rows = {.args = args, .row = row};
    const char *name;
    pfd_bytes image;
    if (record->size != (int64_t)sizeof rows.image ||
        !pfd_coco_index_at(&self->index, record->ordinal, &rows.objects, &rows.num_objects, &name))
        return fail_lost(self, row, err);
    memcpy(&rows.image, record->data, sizeof rows.image);
    PFD_TRY(allocate(&rows, err));
    for (int64_t i = 0; i < rows.num_objects; i++)
        PFD_TRY(read_object(&rows, self->file, i, err));
    const pfd_whole_file file = {self->folder, name, NULL, self->file};
    PFD_TRY(pfd_whole_file_read(args, row, &file, &image, err));
    point_ragged(args, IMAGE, row, image.data, image.size);
    write_numbers(&rows);
    return PFD_OK;
}

PFD_COMPUTE_EACH_ROW(write_row)

/* ---- The op ---------------------------------------------------------------------------------- */
static const pfd_attr attr_table[] = {
    PFD_STRING_ATTR(coco_attrs, image_dir, "",
                    "The folder of the images; empty for that of the annotation file."),
    PFD_BOOL_ATTR(coco_attrs, group_by_ratio, "true",
                  "Whether a batch has either images that are wider than high, or others: they "
                  "need less padding. The reader then has no length, and a seek reads the epoch "
                  "again up to its place."),
    PFD_BOOL_ATTR(coco_attrs, remove_images_without_annotations, "true",
                  "Whether images are left out without any box of more than a pixel on each side, "
                  "or, where there are keypoints, with fewer than ten visible ones."),
};

static const pfd_port outputs[] = {
    {"image", "The bytes of each image, uint8 (None,), as they lie there: a decoder follows."},
    {"image_id", "The id of each image, int64."},
    {"image_size", "Height and width of each image by the annotations, int32 (2,)."},
    {"gt_bbox", "Boxes of the objects, float32 (None, 4): left, top, right and bottom pixel."},
    {"gt_label", "Categories of the objects, int32 (None,), from 1 in the order of their ids."},
    {"gt_segm", "The points of all polygons, x and y, float32 (None, 2)."},
    {"gt_segm_index", "Of each point its number in its polygon, that polygon's in its object, and "
                      "that object's in the image, int32 (None, 3)."},
};

const pfd_op pfd_op_coco_reader = {
    PFD_READER(PFD_READS_FILES, outputs),
    .name = "COCOReader",
    .doc = "Reads a data set in COCO's format: an annotation file of JSON, and its images. "
           "files is the annotation file; images come in the order of their ids. A box is clipped "
           "to its image, its right and bottom pixel are x + width - 1 and y + height - 1; objects "
           "without a box inside the image are left out with their label and polygons, and so are "
           "crowds. Polygons of fewer than three points and masks in RLE are left out, the object "
           "stays. The file is parsed once, into an index that says where each object is.",
    PFD_OP_ATTRS(coco_attrs, attr_table),
    .group = group,
    .group_attr = "group_by_ratio",
};
