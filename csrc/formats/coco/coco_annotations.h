/* formats/coco/coco_annotations.h -- the images of an annotation file of COCO, and where their
 * objects are in it.
 */
#ifndef PFD_FORMATS_COCO_ANNOTATIONS_H
#define PFD_FORMATS_COCO_ANNOTATIONS_H
#include "index/index_image.h"
#include "parse/json.h"

/* ---- Tables of an index ---------------------------------------------------------------------- */

typedef struct pfd_coco_image {
    int64_t id;
    int32_t height, width;
    int64_t first_object; /* the next image's is its end */
    int64_t name_at;
} pfd_coco_image;

typedef struct pfd_coco_place {
    int64_t offset; /* in the file */
    int32_t size;
    int32_t label; /* 1 for the lowest id of a category */
} pfd_coco_place;

/* ---- An annotation: one object in an image --------------------------------------------------- */

/* An entry of `annotations`:
 *
 *     {"image_id": 9, "category_id": 18, "iscrowd": 0, "bbox": [x, y, width, height],
 *      "segmentation": [[x, y, x, y, ...], ...], "keypoints": [x, y, visibility, ...], ...} */

typedef struct pfd_coco_object {
    int64_t image_id, category_id;
    double box[4]; /* left, top, width, height */
    int32_t is_crowd, has_box;
    int32_t has_keypoints, visible_keypoints;
    int64_t begin, end; /* where it is in the text */
} pfd_coco_object;

/* Reads the object at the cursor, all but its polygons; json->problem says what is wrong. */
void pfd_coco_object_read(pfd_json *json, pfd_coco_object *out);

/* The box in pixels, left, top, right, bottom, clipped to the image: the right one of the pixels is
 * left + width - 1.  0: nothing of it is left. */
int32_t pfd_coco_box(const pfd_coco_object *object, int32_t height, int32_t width, float box[4]);

/* Points of polygons, as many as there is room for. */
typedef struct pfd_coco_points {
    float *points;     /* x, y of each */
    int32_t *index;    /* of each: point in its polygon, polygon in its object, object */
    int64_t size, room;
} pfd_coco_points;

/* Adds the polygons of an object, number `object` of its image; a point takes 4 bytes of text at
 * least.  Polygons of fewer than three points are left out, and so are masks in RLE.  NULL, or what
 * is wrong. */
const char *pfd_coco_polygons_read(const uint8_t *data, int64_t size, int32_t object,
                                   pfd_coco_points *out);

/* ---- The index ------------------------------------------------------------------------------- */

/* An index has these parts:
 *
 *   head of 64 bytes | images by id, 32 bytes each | objects by image, 16 bytes each | names
 *
 * The file is parsed once; then an image's objects are found, and parsed again, in its text.  The
 * numbers of an image begin its entry, which is also the record that the reader's source gives.
 *
 * THREADS  An open index: any. */

typedef struct pfd_coco_index {
    int64_t num_images, num_objects, name_bytes;
    const pfd_coco_image *images; /* and one more, which ends the objects of the last */
    const pfd_coco_place *objects;
    const char *names;
} pfd_coco_index;

/* 0: the numbers of the image contradict each other. */
int32_t pfd_coco_index_init(pfd_coco_index *index, const pfd_index_image *image);

/* The objects of image i and its name; 0: the index was changed or cut short while in use. */
int32_t pfd_coco_index_at(const pfd_coco_index *index, int64_t i, const pfd_coco_place **objects,
                          int64_t *num_objects, const char **name);

/* ---- Building the index ---------------------------------------------------------------------- */

/* What is read, and which images count. */
typedef struct pfd_coco_source {
    const pfd_host *host;
    const pfd_file *file;
    pfd_scratch *scratch; /* of open() */
    int32_t keeps_empty;  /* images without objects too */
} pfd_coco_source;

/* A pfd_index_build_fn; `ctx` is a pfd_coco_source.  PFD_CORRUPT_DATA names the byte. */
pfd_status pfd_coco_index_build(void *ctx, int32_t num_threads, pfd_index_image **out,
                                pfd_error *err);
#endif
