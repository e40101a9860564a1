/* Fills polygons row by row, between the places where the row's centre line crosses their edges. */
#include "images/pixels/fill_polygon.h"

#include <math.h>
#include <string.h>

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

void pfd_fill_polygon(const float *points, int64_t n, double *room, const pfd_mask *mask)
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
