/* Releases the structs of the Arrow C data interface that Python has filled in.
 *
 * A consumer releases a struct in any thread, with or without the interpreter's lock, and even
 * while an exception is raised, when no Python code may run. */
#include "pyflowdata/pyflowdata.h"

#include <stddef.h>

static pfd_python_calls python;

void pfd_exported_python_set(const pfd_python_calls *calls)
{
    python = *calls;
}

/* After the end of the interpreter an object stays where it is. */
static void give_back(void *object)
{
    if (!object || !python.Py_IsInitialized()) return;
    int state = python.PyGILState_Ensure();
    python.Py_DecRef(object);
    python.PyGILState_Release(state);
}

/* Defines `release` and the destructor of a capsule for one kind of struct.  NAME is the name of
 * its capsules. */
#define ARROW_STRUCT(kind, NAME, RELEASE_CHILDREN)                                                 \
    void pfd_exported_##kind##_release(pfd_exported_##kind *self)                                  \
    {                                                                                              \
        RELEASE_CHILDREN                                                                           \
        void *owner = self->private_data;                                                          \
        self->private_data = NULL;                                                                 \
        self->release = NULL;                                                                      \
        give_back(owner);                                                                          \
    }                                                                                              \
                                                                                                   \
    void pfd_exported_##kind##_capsule_end(void *capsule)                                          \
    {                                                                                              \
        pfd_exported_##kind *self = python.PyCapsule_GetPointer(capsule, NAME);                    \
        void *owner = python.PyCapsule_GetContext(capsule);                                        \
        if (self && self->release) self->release(self);                                            \
        give_back(owner);                                                                          \
    }

#define CHILDREN_TOO                                                                               \
    for (int64_t i = 0; i < self->n_children; i++)                                                 \
        if (self->children[i]->release) self->children[i]->release(self->children[i]);

ARROW_STRUCT(schema, "arrow_schema", CHILDREN_TOO)
ARROW_STRUCT(array, "arrow_array", CHILDREN_TOO)
ARROW_STRUCT(stream, "arrow_array_stream", )
