/* formats/coco/coco_object.h -- an annotation of COCO: one object in an image.
 *
 *     {"image_id": 9, "category_id": 18, "iscrowd": 0, "bbox": [x, y, width, height],
 *      "segmentation": [[x, y, x, y, ...], ...], "keypoints": [x, y, visibility, ...], ...}
 */
#ifndef PFD_FORMATS_COCO_OBJECT_H
#define PFD_FORMATS_COCO_OBJECT_H
#include "parse/json.h"

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
#endif
