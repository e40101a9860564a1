/* One workspace per thread, freed when the thread ends. */
#include "images/codecs/workspace.h"

#include "core/scratch.h"

#include <pthread.h>
#include <stdlib.h>

/* A thread keeps no more than this between two images: enough for what baseline JPEG files of any
 * size need, and for progressive ones of some megapixels. */
static const int64_t MOST_KEPT = INT64_C(16) << 20;

static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int32_t has_key;

static void free_workspace(void *object)
{
    pfd_workspace *self = object;
    for (int32_t i = 0; i < PFD_KEEP_COUNT; i++)
        if (self->kept[i].object) self->kept[i].free(self->kept[i].object);
    pfd_scratch_free(self->arena);
    free(self);
}

static void make_key(void)
{
    has_key = pthread_key_create(&key, free_workspace) == 0;
}

static pfd_workspace *of_this_thread(void)
{
    (void)pthread_once(&once, make_key);
    pfd_workspace *self = has_key ? pthread_getspecific(key) : NULL;
    if (self || !has_key) return self;
    self = calloc(1, sizeof *self);
    if (!self || pthread_setspecific(key, self) == 0) return self;
    free(self);
    return NULL;
}

pfd_workspace *pfd_workspace_begin(const pfd_scratch *scratch)
{
    pfd_workspace *self = of_this_thread();
    if (!self) return NULL;
    if (!self->arena) self->arena = pfd_scratch_create();
    if (!self->arena) return NULL;
    pfd_scratch_inherit_bounds(self->arena, scratch);
    return self;
}

void pfd_workspace_end(pfd_workspace *self)
{
    pfd_scratch_set_bounds(self->arena, NULL);
    if (pfd_scratch_bytes(self->arena) <= MOST_KEPT) {
        pfd_scratch_reset(self->arena);
        return;
    }
    pfd_scratch_free(self->arena);
    self->arena = NULL;
}
