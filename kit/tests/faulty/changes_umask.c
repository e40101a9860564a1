/* Writes a file that only its owner may read, and leaves the mask for all files so.
 *
 * group: state
 * finding: process-state
 * says: open\(\) changed the umask \(from 0\d\d to 077\) of the whole process */
#include "box.h"

#include <stdio.h>
#include <sys/stat.h>

static pfd_status faulty_index(box *self, const pfd_open_args *args, int32_t index, pfd_error *err)
{
    (void)umask(077);
    FILE *index_file = tmpfile();
    if (index_file) (void)fclose(index_file);
    return box_index_file(self, args, index, err);
}
#define BOX_INDEX faulty_index
#include "box_plugin.h"
