/* registry/formats.h -- the list of file formats: the built-in ones and those of plugins.
 *
 * OWNERSHIP  Returned lists live as long as the process, and never change.
 * THREADS    pfd_formats_list() from any thread; one thread at a time changes the list, under the
 *            lock of the registry of ops.
 */
#ifndef PFD_REGISTRY_FORMATS_H
#define PFD_REGISTRY_FORMATS_H
#include "pyflowdata/op.h"

/* Defined in builtin_formats.c, ends with NULL. */
extern const pfd_format *const pfd_builtin_formats[];

typedef struct pfd_registered_format {
    const pfd_format *author; /* as it was given */
    pfd_format format;        /* the same, with all fields of this library */
    const char *origin;       /* as of an op */
    char words[];             /* for messages: "TFRecord (TFRecordReader reads it)" */
} pfd_registered_format;

/* A list never changes: adding formats replaces it by a new one. */
typedef struct pfd_format_list {
    const struct pfd_format_list *former;
    int64_t size;
    const pfd_registered_format *formats[];
} pfd_format_list;

/* The current list; NULL: no format was added yet. */
const pfd_format_list *pfd_formats_list(void);

typedef struct pfd_new_formats {
    const pfd_format *const *formats;
    int64_t size;
    const char *origin; /* borrowed for the life of the process */
    int32_t replace;    /* 1: formats of the same name are replaced, except those of `keep` */
    const char *keep;   /* an origin, compared as a pointer: its formats are not replaced */
    const pfd_op *(*find_op)(const char *name); /* NULL: unknown op */
} pfd_new_formats;

/* Adds all of them, at the end or in place of those that they replace.  If one is faulty, none is
 * added.  PFD_INTERNAL and PFD_INVALID_ARGUMENT name the format and the field. */
pfd_status pfd_formats_add(const pfd_new_formats *added, pfd_error *err);

/* Whether all of these descriptors are in the list. */
int32_t pfd_formats_has_all(const pfd_format *const *formats, int64_t size);
#endif
