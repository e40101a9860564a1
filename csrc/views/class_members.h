/* views/class_members.h -- the records of each class.
 *
 * OWNERSHIP  pfd_class_members_free() frees what pfd_class_members_find() allocated; after a
 *            failure there is nothing to free.
 */
#ifndef PFD_VIEWS_CLASS_MEMBERS_H
#define PFD_VIEWS_CLASS_MEMBERS_H
#include "pyflowdata/op.h"

typedef struct pfd_class_members {
    int64_t num_classes;
    int64_t num_records; /* of all classes */
    int64_t *begins;   /* of each class in records[], and their end */
    uint32_t *records; /* class by class, in ascending order of the labels; in a class in theirs */
} pfd_class_members;

/* The classes with at least `least` of n records, n < 2^32. */
pfd_status pfd_class_members_find(const int64_t *labels, int64_t n, int64_t least,
                                  pfd_class_members *out, pfd_error *err);

void pfd_class_members_free(pfd_class_members *members);
#endif
