/* formats/manifest/class_names.h -- names of classes, each with its number.
 *
 * OWNERSHIP  A zeroed struct is empty; it owns its names.
 * THREADS    Once all are added: any thread.
 */
#ifndef PFD_FORMATS_MANIFEST_CLASS_NAMES_H
#define PFD_FORMATS_MANIFEST_CLASS_NAMES_H
#include "parse/json.h"

typedef struct pfd_class_names {
    char **names; /* in the order of their numbers */
    int64_t size;
    int64_t *slots; /* numbers, by open addressing; -1: free */
    int64_t room;
} pfd_class_names;

/* -1: it is none of them. */
int64_t pfd_class_names_find(const pfd_class_names *names, const char *name, int64_t size);

/* Adds a name, which has no 0 byte, unless it is there; 0: out of memory. */
int32_t pfd_class_names_add(pfd_class_names *names, const char *name, int64_t size);

void pfd_class_names_free(pfd_class_names *names);
#endif
