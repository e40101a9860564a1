/* Channels of pixels: one loop for each pair of layout and colour space, made by inlining. */
#include "images/codecs/pixel_rows.h"

#include "core/cpu.h"
#include "images/codecs/image_file.h"

int32_t pfd_layout_channels(int32_t layout)
{
    static const int32_t channels[] = {1, 2, 3, 4, 4};
    return channels[layout];
}

static inline uint8_t product(int32_t a, int32_t b) /* a * b / 255, rounded */
{
    int32_t scaled = a * b + 128;
    return (uint8_t)((scaled + (scaled >> 8)) >> 8);
}

PFD_INLINE void convert(const uint8_t *in, int32_t layout, uint8_t *out, int32_t color_space,
                        int64_t n)
{
    static const int32_t in_channels[] = {1, 2, 3, 4, 4};
    int32_t in_step = in_channels[layout];
    int32_t out_step = color_space == PFD_COLOR_GRAY ? 1 : color_space == PFD_COLOR_RGBA ? 4 : 3;
    for (int64_t i = 0; i < n; i++, in += in_step, out += out_step) {
        uint8_t red = in[0], green = red, blue = red, alpha = 255;
        if (layout == PFD_LAYOUT_GRAY_ALPHA) alpha = in[1];
        if (layout == PFD_LAYOUT_RGBA) alpha = in[3];
        if (layout >= PFD_LAYOUT_RGB) green = in[1];
        if (layout >= PFD_LAYOUT_RGB) blue = in[2];
        if (layout == PFD_LAYOUT_INVERTED_CMYK) {
            red = (uint8_t)(in[3] - product(255 - red, in[3]));
            green = (uint8_t)(in[3] - product(255 - green, in[3]));
            blue = (uint8_t)(in[3] - product(255 - blue, in[3]));
        }
        if (color_space == PFD_COLOR_GRAY) {
            out[0] = layout <= PFD_LAYOUT_GRAY_ALPHA
                         ? red
                         : (uint8_t)((19595u * red + 38470u * green + 7471u * blue + 32768u) >> 16);
            continue;
        }
        out[0] = color_space == PFD_COLOR_BGR ? blue : red;
        out[1] = green;
        out[2] = color_space == PFD_COLOR_BGR ? red : blue;
        if (color_space == PFD_COLOR_RGBA) out[3] = alpha;
    }
}

PFD_INLINE void convert_to(const uint8_t *in, int32_t layout, uint8_t *out, int32_t color_space,
                           int64_t n)
{
    switch (layout) {
    case PFD_LAYOUT_GRAY: convert(in, PFD_LAYOUT_GRAY, out, color_space, n); break;
    case PFD_LAYOUT_GRAY_ALPHA: convert(in, PFD_LAYOUT_GRAY_ALPHA, out, color_space, n); break;
    case PFD_LAYOUT_RGB: convert(in, PFD_LAYOUT_RGB, out, color_space, n); break;
    case PFD_LAYOUT_RGBA: convert(in, PFD_LAYOUT_RGBA, out, color_space, n); break;
    default: convert(in, PFD_LAYOUT_INVERTED_CMYK, out, color_space, n); break;
    }
}

void pfd_convert_pixels(const uint8_t *in, int32_t layout, uint8_t *out, int32_t color_space,
                        int64_t n)
{
    switch (color_space) {
    case PFD_COLOR_RGB: convert_to(in, layout, out, PFD_COLOR_RGB, n); break;
    case PFD_COLOR_BGR: convert_to(in, layout, out, PFD_COLOR_BGR, n); break;
    case PFD_COLOR_GRAY: convert_to(in, layout, out, PFD_COLOR_GRAY, n); break;
    default: convert_to(in, layout, out, PFD_COLOR_RGBA, n); break;
    }
}
