/* Counts the records by a number of 16 bits: those from 65,536 on take the places of the first.
 *
 * group: many records
 * finding: narrow-count
 * says: size\(\) says \d+ records, where there are 65\d+
 * likely: a number of records or files of uint16_t */
#include "box.h"

static pfd_status faulty_add(box *self, box_entry entry, pfd_error *err)
{
    PFD_TRY(box_add(self, entry, err));
    self->size = (uint16_t)self->size;
    return PFD_OK;
}
#define UNCOUNTED_ADD faulty_add
#include "box_uncounted.h"

#include "box_plugin.h"
