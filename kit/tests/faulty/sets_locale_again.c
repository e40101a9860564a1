/* Makes sure that numbers have a decimal point, which changes nothing in a C program.
 *
 * group: state
 * finding: process-state
 * says: open\(\) calls setlocale\(\), which changes the locale of the whole process */
#include "box.h"

#include <locale.h>

static pfd_status faulty_index(box *self, const pfd_open_args *args, int32_t index, pfd_error *err)
{
    (void)setlocale(LC_NUMERIC, "C");
    return box_index_file(self, args, index, err);
}
#define BOX_INDEX faulty_index
#include "box_plugin.h"
