/* Publishes events, and says which buffer is in use. */
#include "loader/watch/trace_buffer.h"

void pfd_trace_buffer_put(pfd_trace_buffer *buffer, const pfd_trace_event *event)
{
    int64_t count = atomic_load_explicit(&buffer->count, memory_order_relaxed);
    if (count == buffer->capacity) {
        atomic_fetch_add_explicit(&buffer->dropped, 1, memory_order_relaxed);
        return;
    }
    buffer->events[count] = *event;
    atomic_store_explicit(&buffer->count, count + 1, memory_order_release);
}

/* Announces the buffer before it is used; it may have been taken away in between. */
pfd_trace_buffer *pfd_traced_use(pfd_traced *traced)
{
    pfd_trace_buffer *buffer = atomic_load(&traced->buffer);
    if (!buffer) return NULL;
    atomic_store(&traced->used, buffer);
    if (atomic_load(&traced->buffer) == buffer) return buffer;
    atomic_store(&traced->used, NULL);
    return NULL;
}

void pfd_traced_leave(pfd_traced *traced)
{
    atomic_store(&traced->used, NULL);
}
