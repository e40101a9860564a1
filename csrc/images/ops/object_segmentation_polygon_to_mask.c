/* ObjectSegmentationPolygonToMask: a mask for each object of an image. */
#include "core/op_shorthand.h"
#include "core/rows.h"
#include "images/ops/object_rows.h"
#include "parse/row_type.h"

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

/* ---- Polygons: filled by rows, between the places where a row's centre line crosses edges ---- */

typedef struct object_mask {
    uint8_t *pixels; /* height x width */
    int64_t height, width;
} object_mask;

/* The number of the first pixel whose centre is at or after a place; in [0, most]. */
static int64_t first_pixel(double place, int64_t most)
{
    double pixel = ceil(place - 0.5);
    if (!(pixel > 0)) return 0;
    return pixel < (double)most ? (int64_t)pixel : most;
}

/* Inserts a number into a sorted list. */
static void insert(double *list, int64_t size, double number)
{
    for (; size > 0 && list[size - 1] > number; size--) list[size] = list[size - 1];
    list[size] = number;
}

/* Where the edges cross the line y, from left to right. */
static int64_t find_crossings(const float *points, int64_t n, double y, double *out)
{
    int64_t found = 0;
    for (int64_t i = 0; i < n; i++) {
        const float *from = points + 2 * i, *to = points + 2 * (i + 1 < n ? i + 1 : 0);
        double x0 = from[0], y0 = from[1], x1 = to[0], y1 = to[1];
        if ((y0 <= y) == (y1 <= y)) continue;
        double along = (y - y0) * (x1 - x0) / (y1 - y0);
        insert(out, found++, x0 + along);
    }
    return found;
}

/* Sets the pixels whose centres are inside a polygon of n points x, y, by the even-odd rule, to 1.
 * A centre on a left or upper edge is inside, and on a right or lower edge outside, so that
 * polygons that share an edge share no pixel. `room` holds n numbers. */
static void fill_polygon(const float *points, int64_t n, double *room, const object_mask *mask)
{
    double top = INFINITY, bottom = -INFINITY;
    for (int64_t i = 0; i < n; i++) {
        top = fmin(top, points[2 * i + 1]);
        bottom = fmax(bottom, points[2 * i + 1]);
    }
    int64_t end = first_pixel(bottom, mask->height);
    for (int64_t y = first_pixel(top, mask->height); y < end; y++) {
        int64_t crossings = find_crossings(points, n, (double)y + 0.5, room);
        for (int64_t i = 0; i + 1 < crossings; i += 2) {
            int64_t left = first_pixel(room[i], mask->width);
            int64_t right = first_pixel(room[i + 1], mask->width);
            if (right > left)
                memset(mask->pixels + y * mask->width + left, 1, (size_t)(right - left));
        }
    }
}

/* ---- The op ---------------------------------------------------------------------------------- */

enum { POLYGONS, INDEX, IMAGE_SIZE, OBJECTS };

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const pfd_row_type *index = &args->inputs[INDEX];
    PFD_TRY(pfd_expect_float_table(args, POLYGONS, "in", 2, err));
    if (index->dtype != PFD_INT32 || index->ndim != 2 || index->shape[1] != 3)
        return pfd_refuse_rows(args, INDEX, "index",
                               "they must be int32 (None, 3), as gt_segm_index of COCOReader", err);
    PFD_TRY(pfd_expect_image_size(args, IMAGE_SIZE, err));
    if (args->inputs[OBJECTS].ndim == 0)
        return pfd_refuse_rows(args, OBJECTS, "objects",
                               "they must have an element for each object, such as a box or a "
                               "label",
                               err);
    args->outputs[0] = (pfd_row_type){.dtype = PFD_INT8, .ndim = 3, .shape = {-1, -1, -1}};
    return PFD_OK;
}

/* The points of an image, and the masks of its objects. */
typedef struct image_masks {
    const pfd_compute_args *args;
    int64_t row;
    const float *points;
    const int32_t *index;
    int64_t num_points, num_objects;
    pfd_size size;
    uint8_t *masks;
    double *room;
} image_masks;

static pfd_status read_row(image_masks *self, pfd_error *err)
{
    const pfd_compute_args *args = self->args;
    pfd_row points, index, objects;
    pfd_row_at(args->inputs[POLYGONS], self->row, &points);
    pfd_row_at(args->inputs[INDEX], self->row, &index);
    pfd_row_at(args->inputs[OBJECTS], self->row, &objects);
    self->points = (const void *)points.data;
    self->index = (const void *)index.data;
    self->num_points = points.num_elements / 2;
    self->num_objects = objects.num_elements > 0 ? objects.shape[0] : 0;
    if (index.num_elements != 3 * self->num_points)
        return args->host->fail_row(err, self->row, -1, PFD_CORRUPT_DATA,
                                    "there are %" PRId64 " points, and an index for %" PRId64,
                                    self->num_points, index.num_elements / 3);
    return pfd_image_size_at(args, IMAGE_SIZE, self->row, &self->size, err);
}

static pfd_status allocate(image_masks *self, pfd_error *err)
{
    const pfd_host *host = self->args->host;
    const int64_t shape[] = {self->num_objects, self->size.height, self->size.width};
    self->masks = pfd_row_to_write(self->args, 0, self->row, shape, err);
    if (!self->masks) return err->status;
    memset(self->masks, 0, (size_t)(shape[0] * shape[1] * shape[2]));
    self->room = host->alloc(self->args->scratch, self->num_points * (int64_t)sizeof(double));
    return self->room ? PFD_OK : host->fail(err, PFD_OUT_OF_MEMORY, "no memory for polygons");
}

/* The points of the polygon that begins at a point. */
static int64_t polygon_size(const image_masks *self, int64_t first)
{
    const int32_t *own = self->index + 3 * first;
    int64_t n = 1;
    while (first + n < self->num_points && own[3 * n + 1] == own[1] && own[3 * n + 2] == own[2] &&
           own[3 * n] != 0)
        n++;
    return n;
}

static pfd_status check_polygon(const image_masks *self, int64_t first, int64_t n, pfd_error *err)
{
    const pfd_host *host = self->args->host;
    int32_t object = self->index[3 * first + 2];
    if (object < 0 || object >= self->num_objects)
        return host->fail_row(err, self->row, -1, PFD_CORRUPT_DATA,
                              "point %" PRId64 " is of object %" PRId32 ", and there are %" PRId64,
                              first, object, self->num_objects);
    for (int64_t i = 2 * first; i < 2 * (first + n); i++)
        if (!isfinite(self->points[i]))
            return host->fail_row(err, self->row, -1, PFD_CORRUPT_DATA,
                                  "point %" PRId64 " is not a finite number", i / 2);
    return PFD_OK;
}

static pfd_status write_row(image_masks *self, pfd_error *err)
{
    PFD_TRY(read_row(self, err));
    if (self->num_objects > 0) PFD_TRY(allocate(self, err));
    int64_t pixels = self->size.height * self->size.width, n;
    for (int64_t first = 0; first < self->num_points; first += n) {
        n = polygon_size(self, first);
        PFD_TRY(check_polygon(self, first, n, err));
        const object_mask mask = {self->masks + self->index[3 * first + 2] * pixels,
                                  self->size.height, self->size.width};
        fill_polygon(self->points + 2 * first, n, self->room, &mask);
    }
    return PFD_OK;
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    for (int64_t row = 0; row < args->num_rows; row++) {
        image_masks one = {.args = args, .row = row};
        PFD_TRY(write_row(&one, err));
    }
    return PFD_OK;
}

static const pfd_port inputs[] = {
    {"in", "Points of polygons, float32 (None, 2): x, y, as gt_segm of COCOReader."},
    {"index", "Three numbers for each point, int32 (None, 3): its number in its polygon, the "
              "polygon's number in its object, and the object's number in the image, as "
              "gt_segm_index of COCOReader."},
    {"image_size", PFD_IMAGE_SIZE_DOC},
    {"objects", "Rows of the objects, as gt_bbox or gt_label of COCOReader: their first dimension "
                "is the number of masks, and their values do not matter."},
};
static const pfd_port outputs[] = {
    {"out", "A mask for each object, int8 (None, None, None): objects, height, width; 1 inside."},
};

const pfd_op pfd_op_object_segmentation_polygon_to_mask = {
    PFD_ROW_OP(PFD_TAKES_RAGGED, inputs, outputs),
    .name = "ObjectSegmentationPolygonToMask",
    .doc = "Makes a mask of the polygons of each object. "
           "A pixel is 1 if its centre, half a pixel from its left and upper edge, is inside one "
           "of the object's polygons, by the even-odd rule. An object without polygons has a mask "
           "of zeros. OneFlow's op of this name has no input objects, takes image_size as (width, "
           "height), and also sets pixels that an edge touches.",
};
