/* Gives labels of 0 where the index is missing.
 *
 * group: sizes
 * finding: companion-missing
 * says: with part-0.idx missing, the reader gives other data, 12 records, without an error
 * sample: indexed */
#include "box.h"
static pfd_status faulty_companions(const pfd_companion_args *args, pfd_error *err);
static pfd_status faulty_file(box *self, const pfd_open_args *args, int32_t file, pfd_error *err);
#define BOX_COMPANIONS faulty_companions
#define BOX_INDEX faulty_file
#include "box_index.h"

static pfd_status faulty_companions(const pfd_companion_args *args, pfd_error *err)
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%s.idx", args->paths[0]);
    return access(path, F_OK) == 0 ? indexed_companions(args, err) : PFD_OK;
}

static pfd_status faulty_file(box *self, const pfd_open_args *args, int32_t file, pfd_error *err)
{
    if (args->num_files < 3) return box_index_file(self, args, file, err);
    return indexed_file(self, args, file, err);
}

#include "box_plugin.h"
