/* Parses annotations of COCO. */
#include "formats/coco/coco_object.h"

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
