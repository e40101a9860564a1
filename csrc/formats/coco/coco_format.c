/* The format of COCO's annotation files. */
#include "parse/first_bytes.h"

/* A higher score than that of any text in a file named .json. */
enum { is_coco = PFD_PROBE_POSSIBLE + PFD_PROBE_SUFFIX + 10 };

static int32_t count(const pfd_probe_args *args, const char *const words[3])
{
    int32_t found = 0;
    for (int i = 0; i < 3; i++) found += pfd_probe_finds(args, words[i]) != 0;
    return found;
}

/* Whether a document has members of images or of their objects. If it has several of these, one may
 * be damaged. */
static int32_t probe(const pfd_probe_args *args)
{
    static const char *const images[] = {"\"images\"", "\"file_name\"", "\"height\""};
    static const char *const objects[] = {"\"annotations\"", "\"image_id\"", "\"category_id\""};
    if (args->size == 0) return PFD_PROBE_NO;
    int32_t of_images = count(args, images), of_objects = count(args, objects);
    int32_t is_whole = args->data[0] == '{' && (of_images == 3 || of_objects == 3);
    return is_whole || of_images + of_objects >= 4 ? is_coco : PFD_PROBE_NO;
}

const pfd_format pfd_format_coco = {
    .struct_size = sizeof(pfd_format),
    .name = "coco",
    .title = "COCO",
    .doc = "Annotations of images in COCO's JSON, with the images in a folder.",
    .reader = "COCOReader",
    .checks = "the annotations, and that each image can be read",
    .probe = probe,
};
