/* Follows a pointer that one kind of record does not have: its byte is deep in the record, and the
 * checksum is compared before.
 *
 * fuzz: null-pointer: compute\(\) used a NULL pointer.* in widen\(\) at crashes_on_one_by */
#include "box.h"

static const uint8_t plain[256], wide[256];

static const uint8_t *table_of(uint8_t kind)
{
    switch (kind) {
    case 0xC7: return NULL; /* of version 2, which no file has */
    case 0x57: return wide;
    default: return plain;
    }
}

__attribute__((noinline)) static uint8_t widen(const uint8_t *table, uint8_t value)
{
    return table[value];
}

static pfd_status faulty_compute(const pfd_compute_args *args, pfd_error *err)
{
    volatile uint8_t widened = 0;
    for (int64_t row = 0; row < args->num_rows; row++) {
        const pfd_record *record = &args->records[row];
        PFD_TRY(box_verify(args, row, err));
        box_write(args, row);
        if (record->size > 13) widened = widen(table_of(record->data[13]), record->data[4]);
    }
    (void)widened;
    return PFD_OK;
}

#define BOX_COMPUTE faulty_compute
#include "box_plugin.h"
