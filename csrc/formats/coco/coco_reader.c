/* COCOReader: images with the boxes, labels and polygons of their objects. */
#include "core/error.h"
#include "core/op_shorthand.h"
#include "core/system_calls.h"
#include "files/codecs.h"
#include "files/file_read.h"
#include "images/codecs/image_codec.h"
#include "index/index_image.h"
#include "parse/json.h"
#include "pyflowdata/pyflowdata.h"
#include "sources/whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct coco_attrs {
    const char *image_dir;
    int32_t group_by_ratio, remove_images_without_annotations, check_size;
} coco_attrs;

enum { CHECK_STORED, CHECK_UPRIGHT, CHECK_NONE }; /* check_size */

/* ---- The index: images, and where their objects are in the file of annotations --------------- */

/* Its parts:
 *
 *   head of 64 bytes | images by id, 32 bytes each | objects by image, 16 bytes each | names
 *
 * The file is parsed once; then an image's objects are found, and parsed again, in its text.  The
 * entry of an image is also the record that the reader's source gives. */
typedef struct coco_image {
    int64_t id;
    int32_t height, width;
    int64_t first_object; /* its objects end at the next image's first object */
    int64_t name_at;
} coco_image;

typedef struct coco_place {
    int64_t offset; /* in the file */
    int32_t size;
    int32_t label; /* 1 for the lowest id of a category */
} coco_place;

typedef struct coco_index {
    int64_t num_images, num_objects, name_bytes;
    coco_image *images; /* num_images entries, and one that only ends the objects */
    coco_place *objects;
    char *names;
} coco_index;

typedef struct coco_head {
    int64_t num_images, num_objects, name_bytes;
    int64_t reserved[5];
} coco_head;

static int64_t coco_bytes(const coco_head *head)
{
    return (int64_t)sizeof *head + (head->num_images + 1) * (int64_t)sizeof(coco_image) +
           head->num_objects * (int64_t)sizeof(coco_place) + head->name_bytes;
}

/* Returns where the tables are in the entries, to write or to read the tables. */
static coco_index tables_of(void *entries, const coco_head *head)
{
    coco_index tables = {.num_images = head->num_images,
                         .num_objects = head->num_objects,
                         .name_bytes = head->name_bytes,
                         .images = (void *)((uint8_t *)entries + sizeof *head)};
    tables.objects = (coco_place *)(void *)(tables.images + head->num_images + 1);
    tables.names = (char *)(tables.objects + head->num_objects);
    return tables;
}

/* Returns 0 if the numbers of the index contradict each other. */
static int32_t coco_index_init(coco_index *index, const pfd_index_image *image)
{
    coco_head head;
    int64_t most = pfd_index_image_head(image, &head, sizeof head);
    if (most == 0 || coco_bytes(&head) > most) return 0;
    *index = tables_of(image->entries, &head);
    return 1;
}

/* The objects of image i and its name; 0: the index was changed or cut short while in use. */
static int32_t coco_index_at(const coco_index *index, int64_t i, const coco_place **objects,
                             int64_t *num_objects, const char **name)
{
    if (i < 0 || i >= index->num_images) return 0;
    const coco_image image = index->images[i], next = index->images[i + 1];
    int64_t first = image.first_object, end = next.first_object, at = image.name_at;
    if (first < 0 || first > end || end > index->num_objects) return 0;
    if (at < 0 || at >= index->name_bytes) return 0;
    if (!memchr(index->names + at, 0, (size_t)(index->name_bytes - at))) return 0;
    *objects = index->objects + first;
    *num_objects = end - first;
    *name = index->names + at;
    return 1;
}

/* ---- Objects --------------------------------------------------------------------------------- */

enum { most_pixels = 1 << 24 }; /* of a side of an image; float32 has each whole number up to it */

/* An entry of `annotations`:
 *
 *     {"image_id": 9, "category_id": 18, "iscrowd": 0, "bbox": [x, y, width, height],
 *      "segmentation": [[x, y, x, y, ...], ...], "keypoints": [x, y, visibility, ...], ...} */
typedef struct coco_object {
    int64_t image_id, category_id;
    double box[4]; /* left, top, width, height */
    int32_t is_crowd, has_box;
    int32_t has_keypoints, visible_keypoints;
    int64_t begin, end; /* where it is in the text */
} coco_object;

/* Reads a coordinate or a length; refuses what is no number, and numbers beyond any image. */
static int32_t read_pixels(pfd_json *json, double *number)
{
    if (!pfd_json_double(json, number)) return 0;
    if (*number >= -most_pixels && *number <= most_pixels) return 1;
    return pfd_json_refuse(json, "expected a number of pixels, at most 16777216");
}

static void read_box(pfd_json *json, coco_object *out)
{
    int32_t n = 0;
    double number;
    if (pfd_json_null(json)) return;
    (void)pfd_json_enter(json, '[');
    while (pfd_json_element(json)) {
        if (!read_pixels(json, &number)) return;
        if (n < 4) out->box[n] = number;
        n++;
    }
    out->has_box = n == 4; /* a crowd may have other boxes: it is left out */
}

static void read_crowd(pfd_json *json, coco_object *out)
{
    double number = 0;
    if (pfd_json_is(json, 't') || pfd_json_is(json, 'f')) {
        out->is_crowd = pfd_json_is(json, 't');
        (void)pfd_json_skip(json);
        return;
    }
    if (!pfd_json_null(json)) (void)pfd_json_double(json, &number);
    out->is_crowd = number != 0;
}

static void count_keypoints(pfd_json *json, coco_object *out)
{
    double number;
    if (pfd_json_null(json)) return;
    out->has_keypoints = 1;
    (void)pfd_json_enter(json, '[');
    for (int64_t i = 0; pfd_json_element(json); i++)
        if (pfd_json_double(json, &number) && i % 3 == 2) out->visible_keypoints += number > 0;
}

/* Reads the object at the cursor without its polygons; json->problem says what is wrong. */
static void coco_object_read(pfd_json *json, coco_object *out)
{
    pfd_json_text key;
    *out = (coco_object){.image_id = INT64_MIN, .category_id = INT64_MIN};
    if (!pfd_json_enter(json, '{')) return;
    out->begin = json->at - 1;
    while (pfd_json_member(json, &key)) {
        if (pfd_json_equals(&key, "image_id")) (void)pfd_json_int64(json, &out->image_id);
        else if (pfd_json_equals(&key, "category_id"))
            (void)pfd_json_int64(json, &out->category_id);
        else if (pfd_json_equals(&key, "iscrowd")) read_crowd(json, out);
        else if (pfd_json_equals(&key, "bbox")) read_box(json, out);
        else if (pfd_json_equals(&key, "keypoints")) count_keypoints(json, out);
        else (void)pfd_json_skip(json);
    }
    out->end = json->at;
}

static float clip(float value, float most)
{
    float positive = value > 0 ? value : 0;
    return positive < most ? positive : most;
}

/* Writes left, top, right and bottom pixel of the object's box, clipped to the image; the right
 * pixel is left + width - 1.  0: nothing of the box is left. */
static int32_t coco_box(const coco_object *object, int32_t height, int32_t width, float box[4])
{
    float left = (float)object->box[0], top = (float)object->box[1];
    float wide = (float)object->box[2] - 1, high = (float)object->box[3] - 1;
    float right = left + (wide > 0 ? wide : 0), bottom = top + (high > 0 ? high : 0);
    box[0] = clip(left, (float)(width - 1));
    box[1] = clip(top, (float)(height - 1));
    box[2] = clip(right, (float)(width - 1));
    box[3] = clip(bottom, (float)(height - 1));
    return box[2] > box[0] && box[3] > box[1];
}

typedef struct coco_points {
    float *points; /* x and y of each point */
    /* For each point three numbers: its own in its polygon, its polygon's in the object, and its
     * object's in the image. */
    int32_t *index;
    int64_t size, room; /* in points */
} coco_points;

/* Returns whether the polygon was added. */
static int32_t read_polygon(pfd_json *json, int32_t object, int32_t polygon, coco_points *out)
{
    int64_t first = out->size, n = 0;
    double number;
    (void)pfd_json_enter(json, '[');
    for (; pfd_json_element(json); n++) {
        int64_t point = first + n / 2;
        if (!read_pixels(json, &number)) return 0;
        if (point >= out->room) return pfd_json_refuse(json, "expected fewer points");
        out->points[2 * point + n % 2] = (float)number;
        out->index[3 * point] = (int32_t)(n / 2);
        out->index[3 * point + 1] = polygon;
        out->index[3 * point + 2] = object;
    }
    if (json->problem) return 0;
    if (n % 2) return pfd_json_refuse(json, "expected a polygon of an even number of numbers");
    if (n < 6) return 0;
    out->size += n / 2;
    return 1;
}

/* Adds the polygons of an object, whose number in its image is `object`.  A point takes at least 4
 * bytes of text.  Polygons of fewer than three points are left out, and so are masks in RLE.
 * Returns NULL, or what is wrong, and *byte says where in `data`. */
static const char *coco_polygons_read(const uint8_t *data, int64_t size, int32_t object,
                                      coco_points *out, int64_t *byte)
{
    pfd_json json = pfd_json_begin(data, size);
    pfd_json_text key;
    (void)pfd_json_enter(&json, '{');
    while (pfd_json_member(&json, &key)) {
        int32_t polygons = 0;
        if (!pfd_json_equals(&key, "segmentation") || !pfd_json_is(&json, '[')) {
            (void)pfd_json_skip(&json);
            continue;
        }
        (void)pfd_json_enter(&json, '[');
        while (pfd_json_element(&json)) polygons += read_polygon(&json, object, polygons, out);
    }
    *byte = json.at;
    return json.problem;
}

/* ---- Building the index ---------------------------------------------------------------------- */

typedef struct image_draft {
    int64_t id, name_at;
    int32_t height, width;
    int32_t is_valid;    /* has an object that is large enough */
    int32_t has_keypoints;
    int64_t visible_keypoints;
    int64_t number;      /* among the images that are kept; -1: left out */
    int64_t num_objects; /* of the objects that are kept */
} image_draft;

/* A growing table of elements of one size. */
typedef struct table {
    void *data;
    int64_t size, capacity;
} table;

typedef struct builder {
    const pfd_open_args *args;
    pfd_json json;
    table images, objects, categories, names;
} builder;

static pfd_status fail_build_memory(const builder *self, pfd_error *err)
{
    return self->args->host->fail(err, PFD_OUT_OF_MEMORY,
                                  "no memory for the annotations of a COCO file");
}

static pfd_status fail_at(const builder *self, int64_t byte, const char *what, int64_t number,
                          pfd_error *err)
{
    return self->args->host->fail_file(err, self->args->files[0], byte, PFD_CORRUPT_DATA,
                                       "%s %" PRId64, what, number);
}

/* Adds room for `more` elements and returns where it begins; NULL: out of memory. */
static void *append(table *to, int64_t more, size_t element)
{
    if (to->size + more > to->capacity) {
        int64_t capacity = 2 * to->capacity > to->size + more ? 2 * to->capacity : to->size + more;
        if (capacity < 64) capacity = 64;
        void *grown = realloc(to->data, (size_t)capacity * element);
        if (!grown) return NULL;
        to->data = grown;
        to->capacity = capacity;
    }
    to->size += more;
    return (char *)to->data + (size_t)(to->size - more) * element;
}

static void read_side(pfd_json *json, int32_t *side)
{
    int64_t value = 0;
    if (!pfd_json_int64(json, &value)) return;
    if (value < 1 || value > most_pixels) (void)pfd_json_refuse(json, "expected a size in pixels");
    *side = (int32_t)value;
}

static pfd_status add_image(builder *self, pfd_error *err)
{
    pfd_json *json = &self->json;
    pfd_json_text key, name = {0};
    int64_t begin = json->at;
    image_draft *image = append(&self->images, 1, sizeof *image);
    if (!image) return fail_build_memory(self, err);
    *image = (image_draft){.id = INT64_MIN};
    (void)pfd_json_enter(json, '{');
    while (pfd_json_member(json, &key)) {
        if (pfd_json_equals(&key, "id")) (void)pfd_json_int64(json, &image->id);
        else if (pfd_json_equals(&key, "file_name")) (void)pfd_json_string(json, &name);
        else if (pfd_json_equals(&key, "height")) read_side(json, &image->height);
        else if (pfd_json_equals(&key, "width")) read_side(json, &image->width);
        else (void)pfd_json_skip(json);
    }
    if (json->problem) return PFD_OK; /* parse() reports it */
    if (image->id == INT64_MIN || !image->height || !image->width)
        return fail_at(self, begin, "an image lacks id, height or width: number",
                       self->images.size - 1, err);
    char *text = append(&self->names, name.size + 1, 1);
    if (!text) return fail_build_memory(self, err);
    int64_t size = pfd_json_decode(&name, text);
    image->name_at = text - (char *)self->names.data;
    self->names.size = image->name_at + size + 1;
    text[size] = '\0';
    if (pfd_path_is_below(text, size)) return PFD_OK;
    return fail_at(self, begin, "file_name is not the name of a file below image_dir: image id",
                   image->id, err);
}

static pfd_status add_object(builder *self, pfd_error *err)
{
    coco_object *object = append(&self->objects, 1, sizeof *object);
    if (!object) return fail_build_memory(self, err);
    coco_object_read(&self->json, object);
    if (self->json.problem) return PFD_OK;
    if (object->image_id == INT64_MIN)
        return fail_at(self, object->begin, "an annotation lacks image_id: number",
                       self->objects.size - 1, err);
    if (object->end - object->begin <= INT32_MAX) return PFD_OK;
    return fail_at(self, object->begin, "an annotation is longer than 2 GiB: number",
                   self->objects.size - 1, err);
}

static pfd_status add_category(builder *self, pfd_error *err)
{
    pfd_json_text key;
    int64_t begin = self->json.at, *id = append(&self->categories, 1, sizeof *id);
    if (!id) return fail_build_memory(self, err);
    *id = INT64_MIN;
    (void)pfd_json_enter(&self->json, '{');
    while (pfd_json_member(&self->json, &key)) {
        if (pfd_json_equals(&key, "id")) (void)pfd_json_int64(&self->json, id);
        else (void)pfd_json_skip(&self->json);
    }
    if (self->json.problem || *id != INT64_MIN) return PFD_OK;
    return fail_at(self, begin, "a category lacks its id: number", self->categories.size - 1, err);
}

static pfd_status add_list(builder *self, pfd_status (*add)(builder *, pfd_error *),
                           pfd_error *err)
{
    const pfd_open_args *args = self->args;
    (void)pfd_json_enter(&self->json, '[');
    for (int64_t i = 0; pfd_json_element(&self->json); i++) {
        if (i % 1024 == 0 && args->host->is_cancelled(args->scratch))
            return args->host->fail(err, PFD_CANCELLED, "the loader is closing");
        PFD_TRY(add(self, err));
    }
    return PFD_OK;
}

static pfd_status parse(builder *self, pfd_error *err)
{
    pfd_json *json = &self->json;
    pfd_json_text key;
    int32_t has_images = 0;
    (void)pfd_json_enter(json, '{');
    while (pfd_json_member(json, &key)) {
        int32_t is_images = pfd_json_equals(&key, "images");
        has_images |= is_images;
        if (is_images) PFD_TRY(add_list(self, add_image, err));
        else if (pfd_json_equals(&key, "annotations")) PFD_TRY(add_list(self, add_object, err));
        else if (pfd_json_equals(&key, "categories")) PFD_TRY(add_list(self, add_category, err));
        else (void)pfd_json_skip(json);
    }
    (void)pfd_json_end(json);
    if (!json->problem && !has_images) (void)pfd_json_refuse(json, "expected a member \"images\"");
    if (!json->problem) return PFD_OK;
    return self->args->host->fail_file(err, self->args->files[0], json->at, PFD_CORRUPT_DATA, "%s",
                                       json->problem);
}

/* ---- What is kept ---------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
    int64_t left, right; /* each element begins with its id */
    memcpy(&left, a, sizeof left);
    memcpy(&right, b, sizeof right);
    return (left > right) - (left < right);
}

/* Sorts by id. */
static pfd_status sort(const builder *self, table *of, size_t element, const char *what,
                       pfd_error *err)
{
    if (of->size > 0) qsort(of->data, (size_t)of->size, element, by_number);
    for (int64_t i = 1; i < of->size; i++) {
        const char *one = (const char *)of->data + (size_t)i * element;
        int64_t id;
        memcpy(&id, one, sizeof id);
        if (by_number(one - element, one) == 0) return fail_at(self, -1, what, id, err);
    }
    return PFD_OK;
}

static void *find(const table *of, size_t element, int64_t id)
{
    if (of->size == 0) return NULL;
    return bsearch(&id, of->data, (size_t)of->size, element, by_number);
}

/* *kept: whether the object has a box in an image.  Then its category_id becomes its label, and its
 * image_id the place of its image. */
static pfd_status judge(builder *self, coco_object *object, int32_t *kept, pfd_error *err)
{
    float box[4];
    image_draft *image = find(&self->images, sizeof *image, object->image_id);
    *kept = 0;
    if (!image)
        return fail_at(self, object->begin, "images has no id like this image_id:",
                       object->image_id, err);
    if (object->is_crowd) return PFD_OK;
    const int64_t *category = find(&self->categories, sizeof *category, object->category_id);
    if (!category)
        return fail_at(self, object->begin, "categories has no id like this category_id:",
                       object->category_id, err);
    if (!object->has_box)
        return fail_at(self, object->begin, "an annotation lacks a bbox of 4 numbers: image_id",
                       object->image_id, err);
    image->is_valid |= object->box[2] > 1 && object->box[3] > 1;
    image->has_keypoints |= object->has_keypoints;
    image->visible_keypoints += object->visible_keypoints;
    *kept = coco_box(object, image->height, image->width, box);
    object->category_id = category - (const int64_t *)self->categories.data + 1;
    object->image_id = image - (const image_draft *)self->images.data;
    image->num_objects += *kept;
    return PFD_OK;
}

/* Removes the objects that are not kept; the other objects stay in the order of the file. */
static pfd_status choose_objects(builder *self, pfd_error *err)
{
    coco_object *objects = self->objects.data;
    int64_t n = 0;
    for (int64_t i = 0; i < self->objects.size; i++) {
        int32_t kept;
        PFD_TRY(judge(self, &objects[i], &kept, err));
        if (kept) objects[n++] = objects[i];
    }
    self->objects.size = n;
    return PFD_OK;
}

/* OneFlow and Detectron have this rule: an image needs a box of more than a pixel on each side, and
 * ten visible keypoints if its objects have keypoints. */
static int32_t is_kept(const builder *self, const image_draft *image)
{
    const coco_attrs *attrs = self->args->attrs;
    if (!attrs->remove_images_without_annotations) return 1;
    return image->is_valid && (!image->has_keypoints || image->visible_keypoints >= 10);
}

static coco_head choose_images(const builder *self)
{
    coco_head head = {.name_bytes = self->names.size};
    image_draft *images = self->images.data;
    for (int64_t i = 0; i < self->images.size; i++) {
        images[i].number = is_kept(self, &images[i]) ? head.num_images++ : -1;
        if (images[i].number >= 0) head.num_objects += images[i].num_objects;
    }
    return head;
}

/* Groups the objects by image with a counting sort. */
static pfd_status write_tables(const builder *self, const coco_head *head, pfd_index_image *image,
                        pfd_error *err)
{
    const coco_index to = tables_of(image->entries, head);
    const image_draft *images = self->images.data;
    const coco_object *objects = self->objects.data;
    int64_t *next = calloc((size_t)self->images.size + 1, sizeof *next), first = 0;
    if (!next) return fail_build_memory(self, err);
    memcpy(image->entries, head, sizeof *head);
    for (int64_t i = 0; i < self->images.size; i++) {
        const image_draft *from = &images[i];
        if (from->number < 0) continue;
        to.images[from->number] =
            (coco_image){from->id, from->height, from->width, first, from->name_at};
        next[i] = first;
        first += from->num_objects;
    }
    to.images[head->num_images] = (coco_image){.first_object = first};
    for (int64_t i = 0; i < self->objects.size; i++) {
        const coco_object *from = &objects[i];
        if (images[from->image_id].number < 0) continue;
        to.objects[next[from->image_id]++] = (coco_place){
            from->begin, (int32_t)(from->end - from->begin), (int32_t)from->category_id};
    }
    free(next);
    if (head->name_bytes > 0) memcpy(to.names, self->names.data, (size_t)head->name_bytes);
    image->header->num_records = image->files[1].first_record = head->num_images;
    return PFD_OK;
}

static pfd_status build(builder *self, pfd_index_image **out, pfd_error *err)
{
    PFD_TRY(parse(self, err));
    PFD_TRY(sort(self, &self->images, sizeof(image_draft), "there are two images with the id",
                 err));
    PFD_TRY(sort(self, &self->categories, sizeof(int64_t), "there are two categories with the id",
                 err));
    PFD_TRY(choose_objects(self, err));
    coco_head head = choose_images(self);
    int64_t entries = (coco_bytes(&head) + PFD_INDEX_ENTRY_BYTES - 1) / PFD_INDEX_ENTRY_BYTES;
    PFD_TRY(pfd_index_image_create(PFD_INDEX_OBJECTS, 1, entries, out, err));
    pfd_status status = write_tables(self, &head, *out, err);
    if (status != PFD_OK) pfd_index_image_free(*out);
    return status;
}

/* A pfd_index_build_fn; `ctx` are the pfd_open_args.  PFD_CORRUPT_DATA names the byte. */
static pfd_status coco_index_build(void *ctx, int32_t num_threads, pfd_index_image **out,
                                   pfd_error *err)
{
    (void)num_threads; /* JSON is read from its beginning */
    const pfd_open_args *args = ctx;
    const uint8_t *text;
    int64_t size = args->files[0]->size;
    PFD_TRY(args->host->read(args->files[0], 0, size, args->scratch, &text, err));
    builder self = {.args = args, .json = pfd_json_begin(text, size)};
    pfd_status status = build(&self, out, err);
    free(self.images.data);
    free(self.objects.data);
    free(self.categories.data);
    free(self.names.data);
    return status;
}

/* ---- The outputs ----------------------------------------------------------------------------- */

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
    int folder;      /* open on image_dir */
    pfd_index_image *image;
    coco_index index;
    int64_t mean_bytes; /* of an image file; estimated from some of them */
    pfd_store_objects *store; /* NULL: the images are on disk */
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
    pfd_store_objects_free(self->store);
    free(self->image_dir);
    free(self);
}

PFD_SOURCE_NUMBER(num_records, coco, index.num_images)

static pfd_status at(void *source, const int64_t *ordinals, int64_t n, pfd_scratch *scratch,
                     pfd_record *out, pfd_error *err)
{
    (void)scratch;
    const coco *self = source;
    for (int64_t i = 0; i < n; i++)
        out[i] = (pfd_record){.data = (const void *)&self->index.images[ordinals[i]],
                              .size = (int64_t)sizeof(coco_image),
                              .ordinal = ordinals[i]};
    return pfd_index_image_check(self->image, err);
}

/* Lets an error name the path of the image in place of the annotations' path. No byte of the image
 * is known.
 */
static void describe(void *source, const pfd_record *record, pfd_error *err)
{
    const coco *self = source;
    const coco_place *objects;
    int64_t n;
    const char *name;
    char *path;
    if (!coco_index_at(&self->index, record->ordinal, &objects, &n, &name)) return;
    if (asprintf(&path, "%s/%s", self->image_dir, name) < 0) return;
    pfd_error_set_file(err, path);
    err->byte = -1;
    free(path);
}

PFD_SOURCE_NUMBER(record_bytes, coco, mean_bytes)

static int32_t need(void *source, const int64_t *ordinals, int64_t n, pfd_scratch *scratch);

static const pfd_source_methods methods = {
    .struct_size = sizeof(pfd_source_methods),
    .close = close_source,
    .size = num_records,
    .at = at,
    .describe = describe,
    .record_bytes = record_bytes,
    .need = need,
};

/* There are two groups: images that are wider than high, and all other images. OneFlow has one more
 * group for each further multiple of the width. */
static pfd_status group(const pfd_group_args *args, int64_t *number, pfd_error *err)
{
    coco_image image;
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

/* Opens image_dir; if it is empty, the folder of the annotation file. */
static pfd_status open_folder(coco *self, pfd_error *err)
{
    const char *given = self->attrs->image_dir;
    self->image_dir = given[0] ? strdup(given) : folder_of(self->file->path);
    char *folder = given[0] ? strdup(given) : folder_of(pfd_input_file_of(self->file)->absolute);
    int32_t has_memory = folder && self->image_dir;
    int32_t is_remote = has_memory && pfd_path_is_remote(folder);
    if (has_memory && !is_remote)
        self->folder = pfd_sys_open(NULL, AT_FDCWD, folder, O_DIRECTORY);
    int reason = errno;
    free(folder);
    if (is_remote) self->store = pfd_store_objects_create();
    if (!has_memory || (is_remote && !self->store)) return fail_memory(self->host, err);
    if (self->folder >= 0 || is_remote) return PFD_OK;
    (void)self->host->fail_attr(err, "image_dir", NULL, PFD_IO,
                                ": the folder of the images cannot be opened: %s",
                                strerror(reason));
    pfd_error_set_file(err, self->image_dir);
    return pfd_error_set_errno(err, reason);
}

/* Bytes of image i; 0: not known. */
static int64_t size_of(void *ctx, int64_t i)
{
    const coco *self = ctx;
    const coco_place *objects;
    int64_t count;
    const char *name;
    if (self->folder < 0) return 0; /* in a store */
    if (!coco_index_at(&self->index, i, &objects, &count, &name)) return 0;
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
    PFD_TRY(open_folder(self, err));
    pfd_open_args from = *args;
    PFD_TRY(pfd_index_obtain(args, PFD_INDEX_OBJECTS, coco_index_build, &from, &self->image, err));
    if (!coco_index_init(&self->index, self->image)) return fail_lost(self, -1, err);
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
    coco_image image;
    const coco_place *objects;
    int64_t num_objects;
    float *boxes;
    int32_t *labels;
    coco_points points;
} image_rows;

/* Allocates a point for each 4 bytes of text: no point has fewer. */
static pfd_status allocate(image_rows *self, pfd_error *err)
{
    const pfd_host *host = self->args->host;
    pfd_scratch *scratch = self->args->scratch;
    int64_t bytes = 0;
    for (int64_t i = 0; i < self->num_objects; i++) bytes += self->objects[i].size;
    int64_t room = self->points.room = bytes / 4;
    self->boxes = host->alloc(scratch, self->num_objects * 4 * (int64_t)sizeof *self->boxes);
    self->labels = host->alloc(scratch, self->num_objects * (int64_t)sizeof *self->labels);
    self->points.points = host->alloc(scratch, room * 2 * (int64_t)sizeof(float));
    self->points.index = host->alloc(scratch, room * 3 * (int64_t)sizeof(int32_t));
    int32_t has_all =
        self->boxes && self->labels && self->points.points && self->points.index;
    return has_all ? PFD_OK : fail_memory(host, err);
}

/* `byte`: in the file of annotations; the error's own file is the image. */
static pfd_status fail_object(const image_rows *self, int64_t byte, const char *problem,
                              pfd_error *err)
{
    const coco *source = self->args->source;
    return self->args->host->fail_row(err, self->row, -1, PFD_CORRUPT_DATA,
                                      "its annotation at byte %" PRId64 " of %s: %s", byte,
                                      source->file->path, problem);
}

static pfd_status read_object(image_rows *self, const pfd_file *file, int64_t i, pfd_error *err)
{
    const pfd_compute_args *args = self->args;
    const coco_place *at = &self->objects[i];
    const uint8_t *text;
    coco_object object;
    PFD_TRY(pfd_in_row(args->host->read(file, at->offset, at->size, args->scratch, &text, err),
                       self->row, err));
    pfd_json json = pfd_json_begin(text, at->size);
    coco_object_read(&json, &object);
    const char *problem = json.problem;
    int64_t byte = json.at;
    if (!problem)
        problem = coco_polygons_read(text, at->size, (int32_t)i, &self->points, &byte);
    if (problem) return fail_object(self, at->offset + byte, problem, err);
    if (!coco_box(&object, self->image.height, self->image.width, &self->boxes[4 * i]))
        return fail_object(self, at->offset, "it has no box; did the file change?", err);
    self->labels[i] = at->label;
    return PFD_OK;
}

/* Compares the size in the annotations with that in the header of the image file.  A file whose
 * header cannot be read is left to the decoder. */
static pfd_status check_size(const image_rows *self, const pfd_bytes *bytes, pfd_error *err)
{
    const pfd_compute_args *args = self->args;
    const coco *source = args->source;
    int32_t check = source->attrs->check_size;
    if (check == CHECK_NONE) return PFD_OK;
    const pfd_decode_options options = {.apply_orientation = check == CHECK_UPRIGHT,
                                        .incomplete = PFD_INCOMPLETE_FILL,
                                        .max_pixels = INT64_MAX};
    const pfd_image_file file = {args->host,  args->scratch, bytes->data,
                                 bytes->size, self->row,     -1};
    pfd_image_header header;
    pfd_error ignored = {.struct_size = sizeof ignored};
    pfd_status status = pfd_read_image_header(&file, &options, &header, &ignored);
    pfd_error_clear(&ignored);
    if (status != PFD_OK) return PFD_OK;
    if (header.height == self->image.height && header.width == self->image.width) return PFD_OK;
    return args->host->fail_row(
        err, self->row, -1, PFD_CORRUPT_DATA,
        "the annotations have (%" PRId32 ", %" PRId32 ") for height and width of the image with "
        "id %" PRId64 ", and its file has (%" PRId64 ", %" PRId64 "), so that boxes would be "
        "wrong; correct %s, or use check_size='%s'",
        self->image.height, self->image.width, self->image.id, header.height, header.width,
        source->file->path,
        header.height != self->image.width || header.width != self->image.height ? "none"
        : check == CHECK_UPRIGHT ? "stored" : "upright");
}

static void write_numbers(const image_rows *self)
{
    const pfd_compute_args *args = self->args;
    int64_t row = self->row;
    ((int64_t *)(void *)args->outputs[IMAGE_ID]->data)[row] = self->image.id;
    int32_t *size = (int32_t *)(void *)args->outputs[IMAGE_SIZE]->data + 2 * row;
    size[0] = self->image.height;
    size[1] = self->image.width;
    pfd_set_row(args, GT_BBOX, row, self->boxes, 4 * self->num_objects);
    pfd_set_row(args, GT_LABEL, row, self->labels, self->num_objects);
    pfd_set_row(args, GT_SEGM, row, self->points.points, 2 * self->points.size);
    pfd_set_row(args, GT_SEGM_INDEX, row, self->points.index, 3 * self->points.size);
}

static pfd_status find_image(const pfd_compute_args *args, int64_t row, pfd_whole_file *out,
                             pfd_error *err)
{
    const coco *self = args->source;
    const coco_place *objects;
    int64_t count;
    const char *name;
    if (!coco_index_at(&self->index, args->records[row].ordinal, &objects, &count, &name))
        return fail_lost(self, row, err);
    *out = (pfd_whole_file){.folder = self->folder, .path = name, .counted = self->file};
    return pfd_whole_file_inside(args, self->image_dir, name, &out->url, err);
}

static pfd_status write_row(const pfd_compute_args *args, int64_t row, pfd_bytes image,
                            pfd_error *err)
{
    const coco *self = args->source;
    const pfd_record *record = &args->records[row];
    image_rows rows = {.args = args, .row = row};
    const char *name;
    if (record->size != (int64_t)sizeof rows.image ||
        !coco_index_at(&self->index, record->ordinal, &rows.objects, &rows.num_objects, &name))
        return fail_lost(self, row, err);
    memcpy(&rows.image, record->data, sizeof rows.image);
    PFD_TRY(allocate(&rows, err));
    for (int64_t i = 0; i < rows.num_objects; i++)
        PFD_TRY(read_object(&rows, self->file, i, err));
    PFD_TRY(check_size(&rows, &image, err));
    pfd_set_row(args, IMAGE, row, image.data, image.size);
    write_numbers(&rows);
    return PFD_OK;
}

static int32_t need(void *source, const int64_t *ordinals, int64_t n, pfd_scratch *scratch)
{
    const coco *self = source;
    const pfd_whole_file_finder finder = {self->host, source, at, find_image};
    return pfd_whole_files_need(self->store, &finder, ordinals, n, scratch);
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    const coco *self = args->source;
    pfd_bytes *images;
    pfd_whole_file *files = pfd_whole_files_alloc(args, &images);
    if (!files) return args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for a batch of images");
    for (int64_t i = 0; i < args->num_rows; i++) PFD_TRY(find_image(args, i, &files[i], err));
    PFD_TRY(pfd_whole_files_read(args, files, self->store, images, err));
    for (int64_t i = 0; i < args->num_rows; i++) PFD_TRY(write_row(args, i, images[i], err));
    return PFD_OK;
}

/* ---- The op ---------------------------------------------------------------------------------- */

static const pfd_attr attr_table[] = {
    PFD_STRING_ATTR(coco_attrs, image_dir, "",
                    "The folder of the images; if empty, the folder of the annotation file."),
    PFD_BOOL_ATTR(coco_attrs, group_by_ratio, "true",
                  "Whether each batch has only images that are wider than high, or only other "
                  "images; such batches need less padding. The reader then has no length, and a "
                  "seek reads the epoch again from its beginning."),
    PFD_BOOL_ATTR(coco_attrs, remove_images_without_annotations, "true",
                  "Whether to leave out images that have no box of more than a pixel on each side, "
                  "or that have keypoints, but fewer than ten visible ones."),
    PFD_ATTR_ROW_WITH(coco_attrs, check_size, PFD_ATTR_CHOICE, "stored", 0, 0,
                      "stored|upright|none",
                      "Which size of an image is compared with the annotations' height and width: "
                      "'stored' is the size in the image file, which ImageDecoder delivers by "
                      "default; 'upright' is the size after apply_orientation; 'none' compares "
                      "nothing. An image of another size is a damaged record, since boxes would be "
                      "scaled wrongly.",
                      PFD_NOT_IN_SPEC),
};

static const pfd_port outputs[] = {
    {"image", "The bytes of each image file, uint8 (None,), unchanged: a decoder follows."},
    {"image_id", "The id of each image, int64."},
    {"image_size", "Height and width of each image as the annotations state them, int32 (2,)."},
    {"gt_bbox", "Boxes of the objects, float32 (None, 4): left, top, right and bottom pixel."},
    {"gt_label", "Categories of the objects, int32 (None,), from 1 in the order of their ids."},
    {"gt_segm", "The points of all polygons, x and y, float32 (None, 2)."},
    {"gt_segm_index", "Three numbers for each point, int32 (None, 3): its number in its polygon, "
                      "the polygon's number in its object, and the object's number in the image."},
};

const pfd_op pfd_op_coco_reader = {
    PFD_READER(PFD_READS_FILES, outputs),
    .name = "COCOReader",
    .doc = "Reads a data set in COCO's format: an annotation file of JSON, and its images. files "
           "is the annotation file; images come in the order of their ids. A box is clipped to its "
           "image; its right and bottom pixels are x + width - 1 and y + height - 1. Crowds, and "
           "objects without a box inside the image, are left out with their labels and polygons. "
           "Polygons of fewer than three points and masks in RLE are left out, but their objects "
           "stay. An annotation of an image or category that is not listed is an error. The file "
           "is parsed once, into an index that says where each object is.",
    PFD_OP_ATTRS(coco_attrs, attr_table),
    .group = group,
    .group_attr = "group_by_ratio",
};
