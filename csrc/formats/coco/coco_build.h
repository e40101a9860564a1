/* formats/coco/coco_build.h -- making the index of a COCO file. */
#ifndef PFD_FORMATS_COCO_BUILD_H
#define PFD_FORMATS_COCO_BUILD_H
#include "index/index_image.h"

/* What is read, and which images count. */
typedef struct pfd_coco_source {
    const pfd_host *host;
    const pfd_file *file;
    pfd_scratch *scratch; /* of open() */
    int32_t keeps_empty;  /* images without objects too */
} pfd_coco_source;

/* A pfd_index_build_fn; `ctx` is a pfd_coco_source.  PFD_CORRUPT_DATA names the byte. */
pfd_status pfd_coco_index_build(void *ctx, int32_t num_threads, pfd_index_image **out,
                                pfd_error *err);
#endif
