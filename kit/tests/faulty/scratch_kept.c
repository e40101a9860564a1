/* Keeps bytes that were read for open() alone.
 *
 * group: records
 * finding: late-read
 * says: at\(\) read memory .* that was no longer its own */
#include "box.h"

static pfd_status faulty_index(box *self, const pfd_open_args *args, int32_t index, pfd_error *err)
{
    PFD_TRY(box_index_file(self, args, index, err));
    return args->host->read(args->files[index], 0, 4, args->scratch, &self->kept, err);
}

static pfd_status faulty_at(void *source, const int64_t *ordinals, int64_t n, pfd_scratch *scratch,
                            pfd_record *out, pfd_error *err)
{
    box *self = source;
    if (memcmp(self->kept, "BOX1", 4) != 0)
        return self->host->fail(err, PFD_CORRUPT_DATA, "this is no box file");
    return box_at(source, ordinals, n, scratch, out, err);
}

#define BOX_INDEX faulty_index
#define BOX_AT faulty_at
#include "box_plugin.h"
