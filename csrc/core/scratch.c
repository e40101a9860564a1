/* A scratch is a bump allocator over a short list of blocks. */
#include "core/scratch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { ALIGNMENT = 64, FIRST_BLOCK = 16 * 1024 };

typedef struct block {
    struct block *older;
    int64_t size;
    uint8_t *memory;
} block;

/* Something that is lent, in memory of the scratch. */
typedef struct loan {
    struct loan *next;
    void (*give_back)(void *lent);
    void *lent;
} loan;

struct pfd_scratch {
    block *newest; /* allocations come from this one */
    int64_t used;  /* bytes in use of the newest block */
    int64_t held;  /* bytes of all blocks */
    int64_t refused; /* bytes in use with the alloc() that exceeded the bounds; 0: none did */
    const pfd_bounds *bounds; /* borrowed; may be NULL */
    int32_t never_waits;
    pfd_call_memory *call;    /* borrowed; NULL: no call is running */
    loan *loans;
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

static void end_loans(pfd_scratch *scratch)
{
    for (const loan *one = scratch->loans; one; one = one->next) one->give_back(one->lent);
    scratch->loans = NULL;
}

void pfd_scratch_free(pfd_scratch *scratch)
{
    if (!scratch) return;
    end_loans(scratch);
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

/* A block for `bytes`, larger than that where the bounds allow it. */
static int make_block(pfd_scratch *scratch, int64_t bytes)
{
    int64_t most = pfd_scratch_most_bytes(scratch);
    int64_t unused = scratch->newest ? scratch->newest->size - scratch->used : 0;
    int64_t in_use = scratch->held - unused;
    if (bytes > most - in_use) {
        scratch->refused = in_use + bytes;
        return 0;
    }
    int64_t size = scratch->held > FIRST_BLOCK ? scratch->held : FIRST_BLOCK;
    if (size < bytes || size > most - scratch->held) size = bytes;
    return add_block(scratch, size);
}

void *pfd_scratch_alloc(pfd_scratch *scratch, int64_t bytes)
{
    if (bytes < 0 || bytes > INT64_MAX / 4) {
        scratch->refused = INT64_MAX;
        return NULL;
    }
    int64_t rounded = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (rounded == 0) rounded = ALIGNMENT; /* every call returns a different pointer */
    if (!scratch->newest || scratch->newest->size - scratch->used < rounded)
        if (!make_block(scratch, rounded)) return NULL;
    void *memory = scratch->newest->memory + scratch->used;
    scratch->used += rounded;
    return memory;
}

void pfd_scratch_reset(pfd_scratch *scratch)
{
    end_loans(scratch);
    if (scratch->newest && scratch->newest->older) {
        int64_t held = scratch->held;
        free_blocks(scratch);
        (void)add_block(scratch, held); /* without memory the next alloc tries again */
    }
    scratch->used = scratch->refused = 0;
}

void pfd_scratch_set_call(pfd_scratch *scratch, pfd_call_memory *call)
{
    scratch->call = call;
}

pfd_scratch *pfd_scratch_lasting(pfd_scratch *scratch)
{
    return scratch->call && scratch->call->lasting ? scratch->call->lasting : scratch;
}

int32_t pfd_scratch_lend(pfd_scratch *scratch, void (*give_back)(void *lent), void *lent)
{
    pfd_scratch *to = pfd_scratch_lasting(scratch);
    loan *made = pfd_scratch_alloc(to, sizeof *made);
    if (!made) return 0;
    *made = (loan){to->loans, give_back, lent};
    to->loans = made;
    return 1;
}

void pfd_scratch_rows_last(pfd_scratch *scratch)
{
    if (scratch->call) scratch->call->rows_last = 1;
}

void pfd_scratch_note_padding(pfd_scratch *scratch, int64_t elements, int64_t padded)
{
    if (!scratch->call) return;
    scratch->call->elements += elements;
    scratch->call->padded += padded;
}

int32_t pfd_scratch_has(const pfd_scratch *scratch, const void *address)
{
    uintptr_t at = (uintptr_t)address;
    for (const block *one = scratch->newest; one; one = one->older)
        if (at - (uintptr_t)one->memory < (uintptr_t)one->size) return 1;
    return 0;
}

void pfd_scratch_set_bounds(pfd_scratch *scratch, const pfd_bounds *bounds)
{
    scratch->bounds = bounds;
}

void pfd_scratch_inherit(pfd_scratch *scratch, const pfd_scratch *from)
{
    scratch->bounds = from ? from->bounds : NULL;
    scratch->never_waits = from && from->never_waits;
}

void pfd_scratch_set_waits(pfd_scratch *scratch, int32_t waits)
{
    scratch->never_waits = !waits;
}

int32_t pfd_scratch_waits(const pfd_scratch *scratch)
{
    return !scratch->never_waits;
}

const pfd_bounds *pfd_scratch_bounds(const pfd_scratch *scratch)
{
    return scratch ? scratch->bounds : NULL;
}

int32_t pfd_scratch_is_cancelled(const pfd_scratch *scratch)
{
    return scratch->bounds &&
           atomic_load_explicit(&scratch->bounds->cancelled, memory_order_relaxed);
}

int64_t pfd_scratch_most_bytes(const pfd_scratch *scratch)
{
    int64_t most = scratch && scratch->bounds ? scratch->bounds->most_bytes : 0;
    return most > 0 ? most : INT64_MAX;
}

int64_t pfd_scratch_refused(const pfd_scratch *scratch)
{
    return scratch->refused;
}

pfd_status pfd_scratch_explain(const pfd_scratch *scratch, pfd_status status, pfd_error *err)
{
    const int64_t any_machine = (int64_t)1 << 46;
    int64_t bytes = scratch->refused;
    if (status != PFD_OUT_OF_MEMORY || bytes == 0) return status;
    (void)snprintf(err->message, sizeof err->message,
                   "%s%" PRId64 " bytes are needed at once, and memory_budget allows %" PRId64
                   "; lower batch_size or raise memory_budget",
                   bytes > any_machine ? "more than " : "",
                   bytes > any_machine ? any_machine : bytes, pfd_scratch_most_bytes(scratch));
    return status;
}

int64_t pfd_scratch_bytes(const pfd_scratch *scratch)
{
    return scratch->held;
}
