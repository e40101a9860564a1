/* The format of COCO's annotation files. */
#include "pyflowdata/op.h"

#include <string.h>

/* More than text that is named .json. */
enum { is_coco = PFD_PROBE_POSSIBLE + PFD_PROBE_SUFFIX + 10 };

static int32_t has(const pfd_probe_args *args, const char *text)
{
    return memmem(args->data, (size_t)args->size, text, strlen(text)) != NULL;
}

static int32_t probe(const pfd_probe_args *args)
{
    if (args->size == 0 || args->data[0] != '{') return PFD_PROBE_NO;
    int32_t has_images = has(args, "\"images\"") && has(args, "\"file_name\"");
    int32_t has_objects = has(args, "\"annotations\"") && has(args, "\"image_id\"");
    int32_t is_one = (has_images && has(args, "\"height\"")) ||
                     (has_objects && has(args, "\"category_id\""));
    return is_one ? is_coco : PFD_PROBE_NO;
}

const pfd_format pfd_format_coco = {
    .struct_size = sizeof(pfd_format),
    .name = "coco",
    .title = "COCO",
    .doc = "Annotations of images in COCO's JSON, with the images in a folder.",
    .suffixes = NULL,
    .reader = "COCOReader",
    .checks = "the annotations, and that each image can be read",
    .probe = probe,
};
