/* images/codecs/workspace.h -- what a thread keeps from image to image for the codecs.
 *
 * An arena for the inner memory of a library, and the objects of libjpeg, which cost more to make
 * than a small image to decode.  It ends with its thread.
 */
#ifndef PFD_IMAGE_CODECS_WORKSPACE_H
#define PFD_IMAGE_CODECS_WORKSPACE_H
#include "pyflowdata/op.h"

enum { PFD_KEEP_JPEG_READER, PFD_KEEP_JPEG_WRITER, PFD_KEEP_COUNT };

typedef struct pfd_workspace {
    pfd_scratch *arena; /* emptied by the next pfd_workspace_begin() */
    struct {
        void *object;
        void (*free)(void *object);
    } kept[PFD_KEEP_COUNT]; /* by the codec that made it */
} pfd_workspace;

/* The workspace of this thread, its arena empty and with the bounds of `scratch`.  NULL: out of
 * memory.  Until the end, no other codec of this thread begins. */
pfd_workspace *pfd_workspace_begin(const pfd_scratch *scratch);
void pfd_workspace_end(pfd_workspace *self);
#endif
