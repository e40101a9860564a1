/* images/codecs/decode_attrs.h -- the attrs of ops that decode images.
 *
 * The attr struct of such an op has a member `pfd_decode_options decode`, and its table the rows
 * PFD_DECODE_ATTRS(struct).
 */
#ifndef PFD_IMAGE_CODECS_DECODE_ATTRS_H
#define PFD_IMAGE_CODECS_DECODE_ATTRS_H
#include "images/codecs/image_codec.h"

#define PFD_DECODE_ATTR(owner, type, field, name, default_value, min, max, choices, doc)           \
    {name,                                                                                         \
     type,                                                                                         \
     (uint32_t)offsetof(owner, decode.field),                                                      \
     (uint32_t)sizeof(((owner *)0)->decode.field),                                                 \
     default_value,                                                                                \
     min,                                                                                          \
     max,                                                                                          \
     choices,                                                                                      \
     doc,                                                                                          \
     0}

#define PFD_ORIENTATION_ATTR(owner)                                                                \
    PFD_DECODE_ATTR(owner, PFD_ATTR_BOOL, apply_orientation, "apply_orientation", "false", 0, 0,   \
                    NULL,                                                                          \
                    "Whether images are turned and mirrored as the EXIF tag Orientation says, as " \
                    "Pillow's ImageOps.exif_transpose() does; sizes are then those of the turned " \
                    "image.")

#define PFD_DECODE_ATTRS(owner) PFD_DECODE_ATTRS_WITH(owner, "RGB")

/* With another default of color_space. */
#define PFD_DECODE_ATTRS_WITH(owner, default_color_space)                                          \
    PFD_DECODE_ATTR(owner, PFD_ATTR_CHOICE, color_space, "color_space", default_color_space, 0, 0, \
                    "RGB|BGR|GRAY|RGBA",                                                           \
                    "The channels of a pixel. GRAY has the weights of ITU-R 601, and of JPEG the " \
                    "stored luminance; an alpha channel is dropped but for RGBA, and 255 where "   \
                    "there is none."),                                                             \
        PFD_ORIENTATION_ATTR(owner),                                                               \
        PFD_DECODE_ATTR(owner, PFD_ATTR_CHOICE, incomplete, "incomplete", "error", 0, 0,           \
                        "error|fill",                                                              \
                        "What to do with an image of which pixels are lost, since its bytes end "  \
                        "early or are damaged: with 'error' the row is damaged; with 'fill' it "   \
                        "has what could be decoded, and gray (JPEG) or 0 in place of the rest. "   \
                        "Of JPEG, pixels are lost by data that end before their time, bad codes, " \
                        "missing restart markers and scans in a wrong order; not by bytes "        \
                        "between segments, an absent end marker and the other things that "        \
                        "libjpeg warns of. Of PNG, a wrong checksum is damage."),                  \
        PFD_DECODE_ATTR(owner, PFD_ATTR_INT64, max_pixels, "max_pixels", "178956970", 1,           \
                        4611686018427387904.0, NULL,                                               \
                        "An image with more pixels is damaged, which keeps a few wrong bytes "     \
                        "from asking for much memory. The default is Pillow's limit.")
#endif
