/* Takes four bytes of a record for a number where they are, which some processors refuse.
 *
 * sanitizer: ubsan
 * says: load of misaligned address.* in first_number\(\) at reads_unaligned.c:\d+ */
#include "box.h"

static uint32_t first_number(const uint8_t *data)
{
    return *(const volatile uint32_t *)(const void *)data;
}

static pfd_status faulty_compute(const pfd_compute_args *args, pfd_error *err)
{
    for (int64_t row = 0; row < args->num_rows; row++) {
        PFD_TRY(box_verify(args, row, err));
        box_write(args, row);
        if (args->records[row].size < 9) continue;
        uint32_t number = first_number(args->records[row].data + 5);
        memcpy(args->outputs[0]->data + row * BOX_WIDTH + 1, &number, sizeof number);
    }
    return PFD_OK;
}

#define BOX_COMPUTE faulty_compute
#include "box_plugin.h"
