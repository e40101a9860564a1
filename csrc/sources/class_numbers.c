/* The labels of classes that are known by their names. */
#include "sources/class_numbers.h"

#include <inttypes.h>

pfd_status pfd_check_class_numbers(const pfd_host *host, const pfd_list_int64 *numbers,
                                   int64_t num_classes, pfd_error *err)
{
    if (numbers->size == 0 || numbers->size == num_classes) return PFD_OK;
    return host->fail_attr(err, "class_numbers", NULL, PFD_INVALID_ARGUMENT,
                           " has %" PRId64 " numbers, and there are %" PRId64
                           " classes; give one for each", numbers->size, num_classes);
}

int64_t pfd_class_number(const pfd_list_int64 *numbers, int64_t i)
{
    return numbers->size > 0 ? numbers->data[i] : i;
}
