/* Asks for a locale to read numbers with.
 *
 * group: records
 * finding: process-state
 * says: open\(\) changed the locale of the whole process */
#include "box.h"

#include <locale.h>

static pfd_status faulty_index(box *self, const pfd_open_args *args, int32_t index, pfd_error *err)
{
    (void)setlocale(LC_NUMERIC, "C.UTF-8");
    return box_index_file(self, args, index, err);
}

#define BOX_INDEX faulty_index
#include "box_plugin.h"
