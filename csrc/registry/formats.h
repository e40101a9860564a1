/* registry/formats.h -- the list of file formats: the built-in ones and those of plugins.
 *
 * OWNERSHIP  What is returned lives as long as the process, and never changes.
 * THREADS    pfd_formats_list() from any thread; the list is changed by one at a time, under the
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

/* A list never changes: a new one takes its place. */
typedef struct pfd_format_list {
    const struct pfd_format_list *former;
    int64_t size;
    const pfd_registered_format *formats[];
} pfd_format_list;

/* The list of now; NULL: nothing was added yet. */
const pfd_format_list *pfd_formats_list(void);

typedef struct pfd_new_formats {
    const pfd_format *const *formats;
    int64_t size;
    const char *origin; /* stays */
    int32_t replace;    /* 1: formats of that name give way, but those of `keep` */
    const char *keep;   /* an origin, compared as a pointer: its formats stay */
    const pfd_op *(*find_op)(const char *name); /* NULL: unknown op */
} pfd_new_formats;

/* Adds all of them after the others or in place of those that give way; or, where one is faulty,
 * none.  PFD_INTERNAL and PFD_INVALID_ARGUMENT name the format and the field. */
pfd_status pfd_formats_add(const pfd_new_formats *added, pfd_error *err);

/* Whether all of these descriptors are in the list. */
int32_t pfd_formats_has_all(const pfd_format *const *formats, int64_t size);
#endif
