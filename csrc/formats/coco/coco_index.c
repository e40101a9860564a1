/* Looks up images and objects in an index of a COCO file. */
#include "formats/coco/coco_index.h"

#include <string.h>

int32_t pfd_coco_index_init(pfd_coco_index *index, const pfd_index_image *image)
{
    pfd_coco_head head;
    int64_t most = image->header->num_entries * PFD_INDEX_ENTRY_BYTES;
    if (most < (int64_t)sizeof head) return 0;
    memcpy(&head, image->entries, sizeof head);
    if (head.num_images < 0 || head.num_objects < 0 || head.name_bytes < 0) return 0;
    if (head.num_images > most || head.num_objects > most || head.name_bytes > most) return 0;
    if (pfd_coco_bytes(&head) > most || head.num_images != image->header->num_records) return 0;
    const pfd_coco_tables tables = pfd_coco_tables_of(image->entries, &head);
    *index = (pfd_coco_index){.num_images = head.num_images,
                              .num_objects = head.num_objects,
                              .name_bytes = head.name_bytes,
                              .images = tables.images,
                              .objects = tables.objects,
                              .names = tables.names};
    return 1;
}

int32_t pfd_coco_index_at(const pfd_coco_index *index, int64_t i, const pfd_coco_place **objects,
                          int64_t *num_objects, const char **name)
{
    if (i < 0 || i >= index->num_images) return 0;
    const pfd_coco_image image = index->images[i], next = index->images[i + 1];
    int64_t first = image.first_object, end = next.first_object, at = image.name_at;
    if (first < 0 || first > end || end > index->num_objects) return 0;
    if (at < 0 || at >= index->name_bytes) return 0;
    if (!memchr(index->names + at, 0, (size_t)(index->name_bytes - at))) return 0;
    *objects = index->objects + first;
    *num_objects = end - first;
    *name = index->names + at;
    return 1;
}
