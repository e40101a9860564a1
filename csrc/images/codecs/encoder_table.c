/* The bytes of a file while an encoder writes it. */
#include "images/codecs/encoder_table.h"

#include "core/scratch.h"

#include <string.h>

uint8_t *pfd_grow(pfd_growing *self, int64_t bytes)
{
    if (bytes > self->capacity - self->size) {
        int64_t capacity = self->size + bytes > 2 * self->capacity ? self->size + bytes
                                                                   : 2 * self->capacity;
        uint8_t *data = pfd_scratch_alloc(self->workspace->arena, capacity);
        if (!data) return NULL;
        if (self->size) memcpy(data, self->data, (size_t)self->size);
        self->data = data;
        self->capacity = capacity;
    }
    return self->data + self->size;
}

pfd_status pfd_fail_encode_memory(const pfd_encode_call *call, pfd_scratch *arena, pfd_error *err)
{
    pfd_status status = call->host->fail_row(err, call->row, -1, PFD_OUT_OF_MEMORY,
                                             "no memory to encode an image");
    return arena ? pfd_scratch_explain(arena, status, err) : status;
}
