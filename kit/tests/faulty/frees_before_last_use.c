/* Frees its index in close(), and looks into it afterwards.
 *
 * sanitizer: asan
 * says: heap-use-after-free.* in faulty_close\(\) at frees_before_last_use.c:\d+ */
#include "box.h"

static volatile int64_t last_size;

static void faulty_close(void *source)
{
    box *self = source;
    free(self->entries);
    if (self->size > 0) last_size = self->entries[self->size - 1].size;
    free(self);
}

#define BOX_CLOSE faulty_close
#include "box_plugin.h"
