/* formats/coco/coco_index.h -- the images of an annotation file, and where their objects are in it.
 *
 *   head of 64 bytes | images by id, 32 bytes each | objects by image, 16 bytes each | names
 *
 * The file is parsed once; then an image's objects are found, and parsed again, in its text.  The
 * numbers of an image begin its entry, which is also the record that the reader's source gives.
 *
 * THREADS  An open index: any.
 */
#ifndef PFD_FORMATS_COCO_INDEX_H
#define PFD_FORMATS_COCO_INDEX_H
#include "formats/coco/coco_layout.h"

typedef struct pfd_coco_index {
    int64_t num_images, num_objects, name_bytes;
    const pfd_coco_image *images; /* and one more, which ends the objects of the last */
    const pfd_coco_place *objects;
    const char *names;
} pfd_coco_index;

/* 0: the numbers of the image contradict each other. */
int32_t pfd_coco_index_init(pfd_coco_index *index, const pfd_index_image *image);

/* The objects of image i and its name; 0: the index was changed or cut short while in use. */
int32_t pfd_coco_index_at(const pfd_coco_index *index, int64_t i, const pfd_coco_place **objects,
                          int64_t *num_objects, const char **name);
#endif
