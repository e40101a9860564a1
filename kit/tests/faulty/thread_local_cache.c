/* Keeps the row that it unpacked last for each thread, by the number of the record alone.
 *
 * group: two sources
 * finding: sources-mixed
 * says: record \d+, output .values., .* by turns on one thread
 * likely: thread_local or static cache that belongs to no source */
#include "box.h"

static _Thread_local struct unpacked {
    int64_t ordinal, size;
    uint8_t values[BOX_WIDTH];
} last = {.ordinal = -1};

static void unpack(const pfd_record *record)
{
    if (last.ordinal == record->ordinal) return;
    last = (struct unpacked){.ordinal = record->ordinal, .size = record->size - 4};
    memcpy(last.values, record->data + 4, (size_t)last.size);
}

static pfd_status faulty_compute(const pfd_compute_args *args, pfd_error *err)
{
    for (int64_t row = 0; row < args->num_rows; row++) {
        PFD_TRY(box_verify(args, row, err));
        unpack(&args->records[row]);
        memcpy(args->outputs[0]->data + row * BOX_WIDTH, last.values, BOX_WIDTH);
        memcpy(args->outputs[1]->data + row * 8, &last.size, 8);
    }
    return PFD_OK;
}

#define BOX_COMPUTE faulty_compute
#include "box_plugin.h"
