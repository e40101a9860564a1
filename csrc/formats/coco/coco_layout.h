/* formats/coco/coco_layout.h -- where the tables of an index are, to write and to read it. */
#ifndef PFD_FORMATS_COCO_LAYOUT_H
#define PFD_FORMATS_COCO_LAYOUT_H
#include "index/index_image.h"

typedef struct pfd_coco_image {
    int64_t id;
    int32_t height, width;
    int64_t first_object; /* the next image's is its end */
    int64_t name_at;
} pfd_coco_image;

typedef struct pfd_coco_place {
    int64_t offset; /* in the file */
    int32_t size;
    int32_t label; /* 1 for the lowest id of a category */
} pfd_coco_place;

typedef struct pfd_coco_head {
    int64_t num_images, num_objects, name_bytes;
    int64_t reserved[5];
} pfd_coco_head;

typedef struct pfd_coco_tables {
    pfd_coco_image *images;
    pfd_coco_place *objects;
    char *names;
} pfd_coco_tables;

static inline int64_t pfd_coco_bytes(const pfd_coco_head *head)
{
    return (int64_t)sizeof *head + (head->num_images + 1) * (int64_t)sizeof(pfd_coco_image) +
           head->num_objects * (int64_t)sizeof(pfd_coco_place) + head->name_bytes;
}

static inline pfd_coco_tables pfd_coco_tables_of(void *entries, const pfd_coco_head *head)
{
    pfd_coco_tables tables;
    tables.images = (pfd_coco_image *)(void *)((uint8_t *)entries + sizeof *head);
    tables.objects = (pfd_coco_place *)(void *)(tables.images + head->num_images + 1);
    tables.names = (char *)(tables.objects + head->num_objects);
    return tables;
}
#endif
