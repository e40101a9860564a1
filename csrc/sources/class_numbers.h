/* sources/class_numbers.h -- the attr class_numbers of readers whose classes have names. */
#ifndef PFD_SOURCES_CLASS_NUMBERS_H
#define PFD_SOURCES_CLASS_NUMBERS_H
#include "pyflowdata/op.h"

#include <inttypes.h>

#define PFD_CLASS_NUMBERS_ATTR(owner)                                                              \
    PFD_INTS_ATTR(owner, class_numbers, "", 0, 0,                                                  \
                  "The label of each of the classes; empty for 0, 1, 2 and so on.")

/* Fails unless it is empty or has a number for each class. */
static inline pfd_status pfd_check_class_numbers(const pfd_host *host,
                                                 const pfd_list_int64 *numbers,
                                                 int64_t num_classes, pfd_error *err)
{
    if (numbers->size == 0 || numbers->size == num_classes) return PFD_OK;
    return host->fail_attr(err, "class_numbers", NULL, PFD_INVALID_ARGUMENT,
                           " has %" PRId64 " numbers, and there are %" PRId64
                           " classes; give one for each", numbers->size, num_classes);
}

/* The label of the class in place i. */
static inline int64_t pfd_class_number(const pfd_list_int64 *numbers, int64_t i)
{
    return numbers->size > 0 ? numbers->data[i] : i;
}
#endif
