/* Copies of records: into cells that are kept, and into a scratch. */
#include "core/error.h"
#include "dataset/decorator.h"

#include <stdlib.h>
#include <string.h>

enum { SMALLEST = 64, MUCH = 1024 * 1024 };

/* Enough for this record and for one a little larger; one huge record does not keep its memory in
 * the cell for ever. */
static int64_t capacity_for(const pfd_record_cell *cell, int64_t size)
{
    int64_t wasted = cell->capacity - size;
    if (wasted >= 0 && !(wasted > MUCH && wasted > 3 * size)) return cell->capacity;
    return size < SMALLEST ? SMALLEST : size + size / 4;
}

static void copy_bytes(uint8_t *to, const pfd_record *record)
{
    if (record->size > 0) memcpy(to, record->data, (size_t)record->size);
}

pfd_status pfd_record_cell_store(pfd_record_cell *cell, const pfd_record *record, pfd_error *err)
{
    int64_t capacity = capacity_for(cell, record->size);
    if (capacity != cell->capacity) {
        uint8_t *memory = malloc((size_t)capacity);
        if (!memory) return pfd_fail_memory(err, capacity, "a copy of a record");
        free(cell->memory);
        cell->memory = memory;
        cell->capacity = capacity;
    }
    copy_bytes(cell->memory, record);
    cell->record = *record;
    cell->record.data = cell->memory;
    return PFD_OK;
}

void pfd_record_cell_free(pfd_record_cell *cell)
{
    free(cell->memory);
    *cell = (pfd_record_cell){0};
}

pfd_status pfd_record_copy(const pfd_record *record, pfd_scratch *scratch, pfd_record *out,
                           pfd_error *err)
{
    uint8_t *memory = pfd_scratch_alloc(scratch, record->size);
    if (!memory) return pfd_fail_memory(err, record->size, "a record");
    copy_bytes(memory, record);
    *out = *record;
    out->data = memory;
    return PFD_OK;
}
