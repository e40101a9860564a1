/* A bump allocator over a short list of blocks. */
#include "core/scratch.h"

#include <stdlib.h>

enum { ALIGNMENT = 64, FIRST_BLOCK = 16 * 1024 };

typedef struct block {
    struct block *older;
    int64_t size;
    uint8_t *memory;
} block;

struct pfd_scratch {
    block *newest; /* what is handed out comes from this one */
    int64_t used;  /* of the newest */
    int64_t held;  /* of all */
    const _Atomic int32_t *cancel; /* borrowed; may be NULL */
};

pfd_scratch *pfd_scratch_create(void)
{
    return calloc(1, sizeof(pfd_scratch));
}

static void free_blocks(pfd_scratch *scratch)
{
    while (scratch->newest) {
        block *older = scratch->newest->older;
        free(scratch->newest->memory);
        free(scratch->newest);
        scratch->newest = older;
    }
    scratch->used = scratch->held = 0;
}

void pfd_scratch_free(pfd_scratch *scratch)
{
    if (!scratch) return;
    free_blocks(scratch);
    free(scratch);
}

static int add_block(pfd_scratch *scratch, int64_t size)
{
    block *added = malloc(sizeof *added);
    uint8_t *memory = aligned_alloc(ALIGNMENT, (size_t)size);
    if (!added || !memory) {
        free(added);
        free(memory);
        return 0;
    }
    *added = (block){.older = scratch->newest, .size = size, .memory = memory};
    scratch->newest = added;
    scratch->used = 0;
    scratch->held += size;
    return 1;
}

void *pfd_scratch_alloc(pfd_scratch *scratch, int64_t bytes)
{
    if (bytes < 0 || bytes > INT64_MAX / 4) return NULL;
    int64_t rounded = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (rounded == 0) rounded = ALIGNMENT; /* a pointer of its own for every call */
    if (!scratch->newest || scratch->newest->size - scratch->used < rounded) {
        int64_t size = scratch->held > FIRST_BLOCK ? scratch->held : FIRST_BLOCK;
        if (!add_block(scratch, rounded > size ? rounded : size)) return NULL;
    }
    void *memory = scratch->newest->memory + scratch->used;
    scratch->used += rounded;
    return memory;
}

void pfd_scratch_reset(pfd_scratch *scratch)
{
    if (scratch->newest && scratch->newest->older) {
        int64_t held = scratch->held;
        free_blocks(scratch);
        (void)add_block(scratch, held); /* without memory the next alloc tries again */
    }
    scratch->used = 0;
}

void pfd_scratch_set_cancel(pfd_scratch *scratch, const _Atomic int32_t *cancel)
{
    scratch->cancel = cancel;
}

void pfd_scratch_inherit_cancel(pfd_scratch *scratch, const pfd_scratch *from)
{
    scratch->cancel = from ? from->cancel : NULL;
}

int32_t pfd_scratch_is_cancelled(const pfd_scratch *scratch)
{
    return scratch->cancel && atomic_load_explicit(scratch->cancel, memory_order_relaxed);
}

int64_t pfd_scratch_bytes(const pfd_scratch *scratch)
{
    return scratch->held;
}
