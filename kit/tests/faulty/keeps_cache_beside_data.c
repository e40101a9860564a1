/* Keeps the number of records in a file beside the data, for the next run.
 *
 * group: state
 * finding: writes-files
 * says: open\(\) leaves a file, \S+part-0\.count
 * likely: an index or a cache that is kept beside the data */
#include "box.h"

#include <stdio.h>

static pfd_status faulty_index(box *self, const pfd_open_args *args, int32_t index, pfd_error *err)
{
    char path[4096];
    PFD_TRY(box_index_file(self, args, index, err));
    (void)snprintf(path, sizeof path, "%s.count", args->files[index]->path);
    FILE *cache = fopen(path, "w");
    if (!cache) return PFD_OK;
    (void)fprintf(cache, "%d\n", (int)self->size);
    (void)fclose(cache);
    return PFD_OK;
}
#define BOX_INDEX faulty_index
#include "box_plugin.h"
