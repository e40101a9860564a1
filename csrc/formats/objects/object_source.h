/* formats/objects/object_source.h -- who reads objects of the program. */
#ifndef PFD_FORMATS_OBJECTS_OBJECT_SOURCE_H
#define PFD_FORMATS_OBJECTS_OBJECT_SOURCE_H
#include "pyflowdata/pyflowdata.h"

/* What pfd_object_source_set() was given; NULL: nothing, the program is none of Python. */
const pfd_object_source *pfd_object_source_get(void);
#endif
