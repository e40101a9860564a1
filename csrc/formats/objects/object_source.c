/* Keeps what Python set once; readers of objects get it when they are opened. */
#include "formats/objects/object_source.h"

#include <stdatomic.h>

static const pfd_object_source *_Atomic object_source;

void pfd_object_source_set(const pfd_object_source *source)
{
    atomic_store_explicit(&object_source, source, memory_order_release);
}

const pfd_object_source *pfd_object_source_get(void)
{
    return atomic_load_explicit(&object_source, memory_order_acquire);
}
