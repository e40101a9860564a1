/* Sorts the ordinals that it is asked for, to read forward, in the host's own list.
 *
 * group: records
 * finding: writes-into-ordinals
 * says: at\(\) wrote into the bytes of ordinals \d+, which are const */
#include "box.h"

static int compare(const void *a, const void *b)
{
    int64_t one = *(const int64_t *)a, two = *(const int64_t *)b;
    return (one > two) - (one < two);
}

static pfd_status faulty_at(void *source, const int64_t *ordinals, int64_t n, pfd_scratch *scratch,
                            pfd_record *out, pfd_error *err)
{
    qsort((void *)(uintptr_t)ordinals, (size_t)n, sizeof *ordinals, compare);
    return box_at(source, ordinals, n, scratch, out, err);
}

#define BOX_AT faulty_at
#include "box_plugin.h"
