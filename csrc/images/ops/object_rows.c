/* Moves boxes and points of objects as their images move. */
#include "images/ops/object_rows.h"

#include "core/rows.h"
#include "images/ops/flips.h"
#include "parse/row_type.h"

#include <inttypes.h>
#include <stdio.h>

enum { most_side = 1 << 24 }; /* float32 holds all whole numbers up to 2^24 */

pfd_status pfd_expect_float_table(const pfd_infer_args *args, int32_t input, const char *name,
                                  int32_t columns, pfd_error *err)
{
    const pfd_row_type *type = &args->inputs[input];
    char expected[100];
    if (type->dtype == PFD_FLOAT32 && type->ndim == 2 && type->shape[1] == columns) return PFD_OK;
    (void)snprintf(expected, sizeof expected, "they must be float32 (None, %d): %s", columns,
                   columns == 4 ? "left, top, right, bottom of each box" : "x, y of each point");
    return pfd_refuse_rows(args, input, name, expected, err);
}

pfd_status pfd_expect_image_size(const pfd_infer_args *args, int32_t input, pfd_error *err)
{
    const pfd_row_type *type = &args->inputs[input];
    int32_t is_integer = type->dtype == PFD_INT32 || type->dtype == PFD_INT64;
    if (is_integer && type->ndim == 1 && type->shape[0] == 2) return PFD_OK;
    return pfd_refuse_rows(args, input, "image_size",
                           "they must be int32 or int64 (2,): height and width", err);
}

pfd_status pfd_image_size_at(const pfd_compute_args *args, int32_t input, int64_t row,
                             pfd_size *out, pfd_error *err)
{
    const pfd_tensor *tensor = args->inputs[input];
    const int32_t *small = (const int32_t *)(const void *)tensor->data + 2 * row;
    const int64_t *large = (const int64_t *)(const void *)tensor->data + 2 * row;
    *out = tensor->type.dtype == PFD_INT32 ? (pfd_size){small[0], small[1]}
                                           : (pfd_size){large[0], large[1]};
    if (out->height > 0 && out->width > 0 && out->height <= most_side && out->width <= most_side)
        return PFD_OK;
    return args->host->fail_row(err, row, -1, PFD_CORRUPT_DATA,
                                "image_size is (%" PRId64 ", %" PRId64 "); height and width must "
                                "be in [1, %d]", out->height, out->width, most_side);
}

/* x * scale[0] + shift[0], y * scale[1] + shift[1]. */
typedef struct point_map {
    float scale[2], shift[2];
} point_map;

/* Writes row `row` of output 0: the mapped numbers of input 0, x and y in turn. Returns the row;
 * NULL: out of memory, and *err says so. */
static float *map_points(const pfd_compute_args *args, int64_t row, const point_map *map,
                         int64_t *num_points, pfd_error *err)
{
    pfd_row in;
    pfd_row_at(args->inputs[0], row, &in);
    const float *from = (const void *)in.data;
    float *to = pfd_row_to_write(args, 0, row, in.shape, err);
    *num_points = in.num_elements / 2;
    for (int64_t i = 0; to && i < *num_points; i++) {
        to[2 * i] = from[2 * i] * map->scale[0] + map->shift[0];
        to[2 * i + 1] = from[2 * i + 1] * map->scale[1] + map->shift[1];
    }
    return to;
}

/* A column x becomes width - x - less. */
static point_map flip_map(const pfd_size *size, int32_t flips, float less)
{
    point_map map = {{1, 1}, {0, 0}};
    if (flips & PFD_FLIP_HORIZONTAL) {
        map.scale[0] = -1;
        map.shift[0] = (float)size->width - less;
    }
    if (flips & PFD_FLIP_VERTICAL) {
        map.scale[1] = -1;
        map.shift[1] = (float)size->height - less;
    }
    return map;
}

float *pfd_flip_points(const pfd_compute_args *args, int64_t row, float less, int32_t *flips,
                       int64_t *num_points, pfd_error *err)
{
    pfd_size size;
    if (pfd_image_size_at(args, 1, row, &size, err) != PFD_OK ||
        pfd_flip_code_at(args, 2, row, flips, err) != PFD_OK)
        return NULL;
    const point_map map = flip_map(&size, *flips, less);
    return map_points(args, row, &map, num_points, err);
}

pfd_status pfd_infer_flipped(const pfd_infer_args *args, int32_t columns, pfd_error *err)
{
    PFD_TRY(pfd_expect_float_table(args, 0, "in", columns, err));
    PFD_TRY(pfd_expect_image_size(args, 1, err));
    PFD_TRY(pfd_expect_flip_code(args, 2, err));
    args->outputs[0] = args->inputs[0];
    return PFD_OK;
}

pfd_status pfd_infer_scaled(const pfd_infer_args *args, int32_t columns, pfd_error *err)
{
    const pfd_row_type *scale = &args->inputs[1];
    PFD_TRY(pfd_expect_float_table(args, 0, "in", columns, err));
    args->outputs[0] = args->inputs[0];
    if (scale->dtype == PFD_FLOAT32 && scale->ndim == 1 && scale->shape[0] == 2) return PFD_OK;
    return pfd_refuse_rows(args, 1, "scale",
                           "they must be float32 (2,): the scales of height and width", err);
}

pfd_status pfd_scale_points(const pfd_compute_args *args, pfd_error *err)
{
    const float *scales = (const void *)args->inputs[1]->data;
    for (int64_t row = 0; row < args->num_rows; row++) {
        const point_map map = {{scales[2 * row + 1], scales[2 * row]}, {0, 0}};
        int64_t n;
        if (!map_points(args, row, &map, &n, err)) return err->status;
    }
    return PFD_OK;
}
