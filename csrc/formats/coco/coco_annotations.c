/* Annotation files of COCO: an index of their images and objects, made by parsing all of a file
 * once, and objects parsed again. */
#include "formats/coco/coco_annotations.h"

#include "files/file_read.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- The tables of an index: where they are, to write and to read them ----------------------- */

typedef struct coco_head {
    int64_t num_images, num_objects, name_bytes;
    int64_t reserved[5];
} coco_head;

typedef struct coco_tables {
    pfd_coco_image *images;
    pfd_coco_place *objects;
    char *names;
} coco_tables;

static inline int64_t coco_bytes(const coco_head *head)
{
    return (int64_t)sizeof *head + (head->num_images + 1) * (int64_t)sizeof(pfd_coco_image) +
           head->num_objects * (int64_t)sizeof(pfd_coco_place) + head->name_bytes;
}

static inline coco_tables coco_tables_of(void *entries, const coco_head *head)
{
    coco_tables tables;
    tables.images = (pfd_coco_image *)(void *)((uint8_t *)entries + sizeof *head);
    tables.objects = (pfd_coco_place *)(void *)(tables.images + head->num_images + 1);
    tables.names = (char *)(tables.objects + head->num_objects);
    return tables;
}

/* ---- Objects --------------------------------------------------------------------------------- */

static void read_box(pfd_json *json, pfd_coco_object *out)
{
    int32_t n = 0;
    double number;
    if (pfd_json_null(json)) return;
    (void)pfd_json_enter(json, '[');
    while (pfd_json_element(json)) {
        if (!pfd_json_double(json, &number)) return;
        if (n < 4) out->box[n] = number;
        n++;
    }
    out->has_box = n == 4; /* of a crowd it does not matter */
}

static void read_crowd(pfd_json *json, pfd_coco_object *out)
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

static void count_keypoints(pfd_json *json, pfd_coco_object *out)
{
    double number;
    if (pfd_json_null(json)) return;
    out->has_keypoints = 1;
    (void)pfd_json_enter(json, '[');
    for (int64_t i = 0; pfd_json_element(json); i++)
        if (pfd_json_double(json, &number) && i % 3 == 2) out->visible_keypoints += number > 0;
}

void pfd_coco_object_read(pfd_json *json, pfd_coco_object *out)
{
    pfd_json_text key;
    *out = (pfd_coco_object){.image_id = INT64_MIN, .category_id = INT64_MIN};
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

int32_t pfd_coco_box(const pfd_coco_object *object, int32_t height, int32_t width, float box[4])
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

/* ---- Polygons -------------------------------------------------------------------------------- */

/* Returns whether the polygon was added. */
static int32_t read_polygon(pfd_json *json, int32_t object, int32_t polygon, pfd_coco_points *out)
{
    int64_t first = out->size, n = 0;
    double number;
    (void)pfd_json_enter(json, '[');
    for (; pfd_json_element(json); n++) {
        int64_t point = first + n / 2;
        if (!pfd_json_double(json, &number)) return 0;
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

const char *pfd_coco_polygons_read(const uint8_t *data, int64_t size, int32_t object,
                                   pfd_coco_points *out)
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
    return json.problem;
}

/* ---- Looking up images and objects ----------------------------------------------------------- */

int32_t pfd_coco_index_init(pfd_coco_index *index, const pfd_index_image *image)
{
    coco_head head;
    int64_t most = image->header->num_entries * PFD_INDEX_ENTRY_BYTES;
    if (most < (int64_t)sizeof head) return 0;
    memcpy(&head, image->entries, sizeof head);
    if (head.num_images < 0 || head.num_objects < 0 || head.name_bytes < 0) return 0;
    if (head.num_images > most || head.num_objects > most || head.name_bytes > most) return 0;
    if (coco_bytes(&head) > most || head.num_images != image->header->num_records) return 0;
    const coco_tables tables = coco_tables_of(image->entries, &head);
    *index = (pfd_coco_index){.num_images = head.num_images,
                              .num_objects = head.num_objects,
                              .name_bytes = head.name_bytes,
                              .images = tables.images,
                              .objects = tables.objects,
                              .names = tables.names};
    return 1;
}

int32_t pfd_coco_index_at(const pfd_coco_index *index, int64_t i, const pfd_coco_place **objects,
                          int64_t *num_objects, const char **name)
{
    if (i < 0 || i >= index->num_images) return 0;
    const pfd_coco_image image = index->images[i], next = index->images[i + 1];
    int64_t first = image.first_object, end = next.first_object, at = image.name_at;
    if (first < 0 || first > end || end > index->num_objects) return 0;
    if (at < 0 || at >= index->name_bytes) return 0;
    if (!memchr(index->names + at, 0, (size_t)(index->name_bytes - at))) return 0;
    *objects = index->objects + first;
    *num_objects = end - first;
    *name = index->names + at;
    return 1;
}

/* ---- Building the index ---------------------------------------------------------------------- */

/* An image as it was read. */
typedef struct image_draft {
    int64_t id, name_at;
    int32_t height, width;
    int32_t is_valid;    /* has an object that is large enough */
    int32_t has_keypoints;
    int64_t visible_keypoints;
    int64_t number;      /* of those that are kept; -1: left out */
    int64_t num_objects; /* that are kept */
} image_draft;

/* A growing table of elements of one size. */
typedef struct table {
    void *data;
    int64_t size, capacity;
} table;

typedef struct builder {
    const pfd_coco_source *source;
    pfd_json json;
    table images, objects, categories, names;
} builder;

static pfd_status fail_memory(const builder *self, pfd_error *err)
{
    return self->source->host->fail(err, PFD_OUT_OF_MEMORY,
                                    "no memory for the annotations of a COCO file");
}

static pfd_status fail_at(const builder *self, int64_t byte, const char *what, int64_t number,
                          pfd_error *err)
{
    return self->source->host->fail_file(err, self->source->file, byte, PFD_CORRUPT_DATA,
                                         "%s %" PRId64, what, number);
}

/* Room for `more` elements; NULL: out of memory. */
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

/* ---- Parsing --------------------------------------------------------------------------------- */
static void read_side(pfd_json *json, int32_t *side)
{
    int64_t value = 0;
    if (!pfd_json_int64(json, &value)) return;
    if (value < 1 || value > 1 << 24) (void)pfd_json_refuse(json, "expected a size in pixels");
    *side = (int32_t)value;
}

static pfd_status add_image(builder *self, pfd_error *err)
{
    pfd_json *json = &self->json;
    pfd_json_text key, name = {0};
    int64_t begin = json->at;
    image_draft *image = append(&self->images, 1, sizeof *image);
    if (!image) return fail_memory(self, err);
    *image = (image_draft){.id = INT64_MIN};
    (void)pfd_json_enter(json, '{');
    while (pfd_json_member(json, &key)) {
        if (pfd_json_equals(&key, "id")) (void)pfd_json_int64(json, &image->id);
        else if (pfd_json_equals(&key, "file_name")) (void)pfd_json_string(json, &name);
        else if (pfd_json_equals(&key, "height")) read_side(json, &image->height);
        else if (pfd_json_equals(&key, "width")) read_side(json, &image->width);
        else (void)pfd_json_skip(json);
    }
    if (json->problem) return PFD_OK; /* told by the caller */
    if (image->id == INT64_MIN || !image->height || !image->width)
        return fail_at(self, begin, "an image lacks id, height or width: number",
                       self->images.size - 1, err);
    char *text = append(&self->names, name.size + 1, 1);
    if (!text) return fail_memory(self, err);
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
    pfd_coco_object *object = append(&self->objects, 1, sizeof *object);
    if (!object) return fail_memory(self, err);
    pfd_coco_object_read(&self->json, object);
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
    if (!id) return fail_memory(self, err);
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
    const pfd_coco_source *source = self->source;
    (void)pfd_json_enter(&self->json, '[');
    for (int64_t i = 0; pfd_json_element(&self->json); i++) {
        if (i % 1024 == 0 && source->host->is_cancelled(source->scratch))
            return source->host->fail(err, PFD_CANCELLED, "the loader is closing");
        PFD_TRY(add(self, err));
    }
    return PFD_OK;
}

static pfd_status parse(builder *self, pfd_error *err)
{
    const pfd_coco_source *source = self->source;
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
    return source->host->fail_file(err, source->file, json->at, PFD_CORRUPT_DATA, "%s",
                                   json->problem);
}

/* ---- What is kept ---------------------------------------------------------------------------- */
static int by_number(const void *a, const void *b)
{
    int64_t left, right; /* an id begins each element */
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

/* Looks at an object: 1 in *kept where it has a box in an image.  Its category_id becomes its
 * label, its image_id the place of its image. */
static pfd_status judge(builder *self, pfd_coco_object *object, int32_t *kept, pfd_error *err)
{
    float box[4];
    image_draft *image = find(&self->images, sizeof *image, object->image_id);
    *kept = 0;
    if (object->is_crowd || !image) return PFD_OK;
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
    *kept = pfd_coco_box(object, image->height, image->width, box);
    object->category_id = category - (const int64_t *)self->categories.data + 1;
    object->image_id = image - (const image_draft *)self->images.data;
    image->num_objects += *kept;
    return PFD_OK;
}

/* Objects that are not kept are taken out; the others stay in the order of the file. */
static pfd_status choose_objects(builder *self, pfd_error *err)
{
    pfd_coco_object *objects = self->objects.data;
    int64_t n = 0;
    for (int64_t i = 0; i < self->objects.size; i++) {
        int32_t kept;
        PFD_TRY(judge(self, &objects[i], &kept, err));
        if (kept) objects[n++] = objects[i];
    }
    self->objects.size = n;
    return PFD_OK;
}

/* The rule of OneFlow and Detectron: a box of more than a pixel on each side, and, where there are
 * keypoints, ten of them visible. */
static int32_t is_kept(const builder *self, const image_draft *image)
{
    if (self->source->keeps_empty) return 1;
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

/* Objects of one image come together, by counting. */
static pfd_status write(const builder *self, const coco_head *head, pfd_index_image *image,
                        pfd_error *err)
{
    const coco_tables to = coco_tables_of(image->entries, head);
    const image_draft *images = self->images.data;
    const pfd_coco_object *objects = self->objects.data;
    int64_t *next = calloc((size_t)self->images.size + 1, sizeof *next), first = 0;
    if (!next) return fail_memory(self, err);
    memcpy(image->entries, head, sizeof *head);
    for (int64_t i = 0; i < self->images.size; i++) {
        const image_draft *from = &images[i];
        if (from->number < 0) continue;
        to.images[from->number] =
            (pfd_coco_image){from->id, from->height, from->width, first, from->name_at};
        next[i] = first;
        first += from->num_objects;
    }
    to.images[head->num_images] = (pfd_coco_image){.first_object = first};
    for (int64_t i = 0; i < self->objects.size; i++) {
        const pfd_coco_object *from = &objects[i];
        if (images[from->image_id].number < 0) continue;
        to.objects[next[from->image_id]++] = (pfd_coco_place){
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
    pfd_status status = write(self, &head, *out, err);
    if (status != PFD_OK) pfd_index_image_free(*out);
    return status;
}

pfd_status pfd_coco_index_build(void *ctx, int32_t num_threads, pfd_index_image **out,
                                pfd_error *err)
{
    (void)num_threads; /* JSON is read from its beginning */
    const pfd_coco_source *source = ctx;
    const uint8_t *text;
    int64_t size = source->file->size;
    PFD_TRY(source->host->read(source->file, 0, size, source->scratch, &text, err));
    builder self = {.source = source, .json = pfd_json_begin(text, size)};
    pfd_status status = build(&self, out, err);
    free(self.images.data);
    free(self.objects.data);
    free(self.categories.data);
    free(self.names.data);
    return status;
}
