/* formats/objects/object_source.h -- the functions by which C reads Python objects. */
#ifndef PFD_FORMATS_OBJECTS_OBJECT_SOURCE_H
#define PFD_FORMATS_OBJECTS_OBJECT_SOURCE_H
#include "pyflowdata/pyflowdata.h"

/* Returns what pfd_object_source_set() was given; NULL: it was not called, as in a program without
 * Python. */
const pfd_object_source *pfd_object_source_get(void);
#endif
