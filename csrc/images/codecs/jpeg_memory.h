/* images/codecs/jpeg_memory.h -- libjpeg's memory manager on a scratch. */
#ifndef PFD_IMAGE_CODECS_JPEG_MEMORY_H
#define PFD_IMAGE_CODECS_JPEG_MEMORY_H
#include "core/scratch.h"

#include <stdio.h>

#include <jpeglib.h>

typedef struct pfd_jpeg_memory {
    struct jpeg_memory_mgr methods; /* first: libjpeg gives it back */
    struct jpeg_memory_mgr *own;    /* libjpeg's, with what it allocated before */
    pfd_scratch *arena;             /* borrowed; of the current image */
    struct jvirt_sarray_control *sarrays; /* asked for, in the arena */
    struct jvirt_barray_control *barrays;
} pfd_jpeg_memory;

/* From now on, all that libjpeg allocates for this object comes from `arena`, whole images of
 * coefficients included; freeing does nothing.  `cinfo->mem` is libjpeg's own. */
void pfd_jpeg_memory_install(pfd_jpeg_memory *self, j_common_ptr cinfo);

/* Before each image: nothing of the former one is held. */
void pfd_jpeg_memory_use(pfd_jpeg_memory *self, pfd_scratch *arena);

/* Before jpeg_destroy(). */
void pfd_jpeg_memory_remove(pfd_jpeg_memory *self, j_common_ptr cinfo);
#endif
