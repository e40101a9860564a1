/* images/codecs/image_codec.h -- images in the bytes of a file: their format, size and pixels; and
 * files written from images.
 *
 *   pfd_image_file file = pfd_image_file_at(args, i);
 *   pfd_image_header header;
 *   pfd_pixels pixels = {0};
 *   PFD_TRY(pfd_read_image_header(&file, options, &header, err));
 *   PFD_TRY(pfd_decode_region(&file, options, &header, &region, &pixels, err));
 *
 * The first bytes tell the codec. Sizes are (height, width) of the delivered pixels: upright if the
 * options say so, and shrunk. A region has the same pixels, bit for bit, as the whole image has
 * there.  JPEG, BMP and PNM files, and PNG files without interlacing, are decoded as far as the
 * region needs: damage after its last row is not noticed.
 *
 * ERRORS   Damaged bytes are host->fail_row(PFD_CORRUPT_DATA), so that on_error may leave out the
 *          row. The same holds for an image that alone is too large for memory_budget, and for a
 *          kind of file that is not decoded.  PFD_UNSUPPORTED: the library that decodes the format
 *          is not in this build.
 * MEMORY   Pixels are in the call's scratch.  A decoder's inner memory belongs to the thread, is
 *          reused for the next image, and counts against the same bounds. libwebp allocates its
 *          own.
 */
#ifndef PFD_IMAGES_CODECS_IMAGE_CODEC_H
#define PFD_IMAGES_CODECS_IMAGE_CODEC_H
#include "images/codecs/image_file.h"
#include "images/pixels/image_rows.h"

/* Row i of an op's input whose rows are bytes. */
pfd_image_file pfd_image_file_at(const pfd_compute_args *args, int32_t input, int64_t i);

/* Reads the file's header, and no pixels. */
pfd_status pfd_read_image_header(const pfd_image_file *file, const pfd_decode_options *options,
                                 pfd_image_header *out, pfd_error *err);

/* Asks for the image at 1/shrink (1, 2, 4, 8) of its size, rounded up, and sets height and width. A
 * JPEG file then decodes at less cost; each pixel is about the mean of shrink * shrink pixels.
 * Other codecs keep the size, and set header->shrink to 1. */
void pfd_shrink_image(pfd_image_header *header, int32_t shrink);

/* Fails with PFD_CORRUPT_DATA if the file and the region's pixels need more than memory_budget. */
pfd_status pfd_check_image_memory(const pfd_image_file *file, const pfd_decode_options *options,
                                  const pfd_image_header *header, const pfd_region *region,
                                  pfd_error *err);

/* Decodes a region of the image with this header.  If out->data is NULL, sets data and stride to
 * memory in the scratch; otherwise writes the pixels to out->data. After a failure the pixels are
 * unspecified. */
pfd_status pfd_decode_region(const pfd_image_file *file, const pfd_decode_options *options,
                             const pfd_image_header *header, const pfd_region *region,
                             pfd_pixels *out, pfd_error *err);

/* ---- Attrs of ops that decode images --------------------------------------------------------- */

/* An op that decodes has a member `pfd_decode_options decode` in its attr struct, and the rows
 * PFD_DECODE_ATTRS(struct) in its attr table. */
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

/* The same rows with another default of color_space. */
#define PFD_DECODE_ATTRS_WITH(owner, default_color_space)                                          \
    PFD_DECODE_ATTR(owner, PFD_ATTR_CHOICE, color_space, "color_space", default_color_space, 0, 0, \
                    "RGB|BGR|GRAY|RGBA",                                                           \
                    "The channels of a pixel. GRAY is computed with the weights of ITU-R 601, or " \
                    "is the stored luminance of a JPEG image. RGBA keeps the alpha channel, "      \
                    "which is 255 if the image has none; the other choices drop it."),             \
        PFD_ORIENTATION_ATTR(owner),                                                               \
        PFD_DECODE_ATTR(owner, PFD_ATTR_CHOICE, incomplete, "incomplete", "error", 0, 0,           \
                        "error|fill",                                                              \
                        "How to handle an image that has lost pixels because its bytes end early " \
                        "or are damaged: with 'error' the row is damaged; with 'fill' the row "    \
                        "has the pixels that could be decoded, and gray (JPEG) or 0 in place of "  \
                        "the others. A JPEG image loses pixels if its data end too early, or "     \
                        "have bad codes, missing restart markers or scans in a wrong order; not "  \
                        "if there are bytes between segments, the end marker is missing, or "      \
                        "libjpeg warns of other things. A wrong checksum in a PNG image is "       \
                        "damage."),                                                                \
        PFD_DECODE_ATTR(owner, PFD_ATTR_INT64, max_pixels, "max_pixels", "178956970", 1,           \
                        4611686018427387904.0, NULL,                                               \
                        "An image with more pixels counts as damaged, so that a few wrong bytes "  \
                        "cannot ask for much memory. The default is Pillow's limit. An image "     \
                        "that alone needs more than the loader's memory_budget is damaged, too.")

/* ---- Encoding -------------------------------------------------------------------------------- */

/* Equal images and options give equal bytes with the same libraries. */
typedef struct pfd_encoded { /* in the scratch of the call */
    const uint8_t *data;
    int64_t size;
} pfd_encoded;

/* Fails if the format cannot hold so many channels, or its library is not in this build. */
pfd_status pfd_expect_encoder(const pfd_host *host, const pfd_encode_options *options,
                              int64_t channels, pfd_error *err);

/* Encodes an image of uint8, whose colours are RGB, with a number of channels that
 * pfd_expect_encoder() accepts. */
pfd_status pfd_encode_image(const pfd_encode_call *call, const pfd_encode_options *options,
                            const pfd_image *image, pfd_encoded *out, pfd_error *err);
#endif
