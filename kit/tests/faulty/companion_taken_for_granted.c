/* Reads the index that companions() adds where it is there, and takes for granted that it was.
 *
 * group: sizes
 * finding: null-pointer
 * says: open\(\) used a NULL pointer, with part-1.idx missing
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
    for (int64_t i = 0; i < args->num_paths; i++) {
        (void)snprintf(path, sizeof path, "%s.idx", args->paths[i]);
        if (access(path, F_OK) == 0) PFD_TRY(args->add(args->list, path, err));
    }
    return PFD_OK;
}

static pfd_status faulty_file(box *self, const pfd_open_args *args, int32_t file, pfd_error *err)
{
    pfd_open_args pairs = *args;
    pairs.num_files = 4; /* two files, and their indexes */
    return file < 2 ? indexed_file_with(self, &pairs, file, indexed_verify, err) : PFD_OK;
}

#include "box_plugin.h"
