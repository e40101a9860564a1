/* images/pixels/image_window.h -- copies windows of images, with borders around the images, and
 * draws random windows.
 */
#ifndef PFD_IMAGES_PIXELS_IMAGE_WINDOW_H
#define PFD_IMAGES_PIXELS_IMAGE_WINDOW_H
#include "images/pixels/image_rows.h"

/* The attrs of a border: fill, and padding_mode, whose choices have the numbers PFD_BORDER_*. */
#define PFD_BORDER_ATTRS(owner)                                                                    \
    PFD_FLOATS_ATTR(owner, fill, "0", 0, 0,                                                        \
                    "The value of the padding with padding_mode='constant': one number, or one "   \
                    "for each channel."),                                                          \
        PFD_CHOICE_ATTR(owner, padding_mode, "constant", "constant|edge|reflect|symmetric",        \
                        "What is put around an image: 'constant': the value fill; 'edge': the "    \
                        "pixel at the edge; 'reflect': the image mirrored without repeating its "  \
                        "edge pixels; 'symmetric': the image mirrored with its edge pixels; as "   \
                        "in numpy.pad and torchvision.")
enum { PFD_BORDER_CONSTANT, PFD_BORDER_EDGE, PFD_BORDER_REFLECT, PFD_BORDER_SYMMETRIC };

typedef struct pfd_border {
    int32_t kind;                       /* PFD_BORDER_* */
    uint8_t fill[PFD_MOST_PIXEL_BYTES]; /* a pixel */
} pfd_border;

/* Copies window->height x window->width pixels to `out`.  Top and left may be negative.  The image
 * has at least one pixel, except with PFD_BORDER_CONSTANT. */
void pfd_copy_window(const pfd_image *image, int64_t pixel_bytes, const pfd_window *window,
                     const pfd_border *border, uint8_t *out);

/* ---- Random windows: torchvision's rule, which is also Inception's and OneFlow's ------------- */

typedef struct pfd_crop_rule {
    double area[2];         /* fraction of the image's area, lowest and highest, 0 < . <= 1 */
    double aspect_ratio[2]; /* width / height, lowest and highest, > 0 */
    int64_t num_attempts;   /* 0 .. PFD_MOST_CROP_ATTEMPTS */
} pfd_crop_rule;

enum {
    PFD_MOST_CROP_ATTEMPTS = 1000,
    PFD_CROP_DRAWS = 2 + 2 * PFD_MOST_CROP_ATTEMPTS /* the first draw that the rule does not use */
};

/* Makes a rule from attrs that are lists of two numbers, and checks these. The message has the
 * names of the attrs. */
pfd_status pfd_make_crop_rule(const pfd_host *host, const char *area_name, pfd_list_float64 area,
                              const char *aspect_ratio_name, pfd_list_float64 aspect_ratio,
                              int64_t num_attempts, pfd_crop_rule *out, pfd_error *err);

/* The rows of attr tables for the rule, with the names given, and num_attempts. */
#define PFD_CROP_RULE_ATTRS(owner, area_name, ratio_name, default_ratio)                           \
    PFD_FLOATS_ATTR(owner, area_name, "0.08,1", 0, 1,                                              \
                    "Range of the window's area as a fraction of the image's area, [min, max]."),  \
        PFD_FLOATS_ATTR(owner, ratio_name, default_ratio, 0, 1e6,                                  \
                        "Range of the window's width / height, [min, max]."),                      \
        PFD_INT_ATTR(owner, num_attempts, "10", 0, PFD_MOST_CROP_ATTEMPTS,                         \
                     "How many times a window is drawn at most, until one fits into the image; "   \
                     "if none fits, it is the largest one in the middle.")

/* A side in whole pixels: the nearest integer, ties to even, as Python's round(). A number above
 * 2^60, infinite or NaN becomes 2^60, which fits into no image. */
int64_t pfd_window_side(double pixels);

/* Draws a window of a row's image, with height and width > 0. Each attempt draws an area and an
 * aspect ratio, and succeeds if the window fits into the image; its place is uniform. After the
 * last attempt the window is the largest in the middle whose aspect ratio is allowed. Draws: 0 the
 * top, 1 the left side, 2 + 2k and 3 + 2k the area and aspect ratio of attempt k. */
pfd_window pfd_random_window(const pfd_compute_args *args, int64_t row, const pfd_crop_rule *rule,
                             int64_t height, int64_t width);
#endif
