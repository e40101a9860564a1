/* registry/registry.h -- all ops and file formats by name: the built-in ones and those of plugins.
 *
 * OWNERSHIP  Returned objects live as long as the process, and never change.
 * THREADS    Any thread may call every function.
 */
#ifndef PFD_REGISTRY_REGISTRY_H
#define PFD_REGISTRY_REGISTRY_H
#include "core/error.h"
#include "core/fusion.h"
#include "dataset/view.h"
#include "pyflowdata/pyflowdata.h"

/* Defined in builtin_ops.c, ends with NULL. */
extern const pfd_op *const pfd_builtin_ops[];

/* Defined in builtin_fusions.c, ends with zeros.  The ops are authors' descriptors. */
extern const pfd_fusion pfd_builtin_fusions[];

/* An op and its public form (pfd_op_at): the same with the host's attrs and outputs added. */
typedef struct pfd_registered_op {
    const pfd_op *author;    /* as it was given */
    const pfd_op *op;        /* the same, with all fields of this library */
    const pfd_op *public_op; /* as users see it; of an op that is not a reader, the same as op */
    const char *origin;      /* "built in", or the path of the plugin */
    const struct pfd_registered_op *former; /* whose place it took, which nodes may use; or NULL */
} pfd_registered_op;

/* Defined in builtin_views.c, ends with NULL: they are ops, after the others. */
extern const pfd_view_op *const pfd_builtin_views[];

/* What makes a registered op a view; NULL: it is not a view. */
const pfd_view_op *pfd_view_op_of(const pfd_registered_op *op);

/* NULL and an error with the nearest names if there is no such op.  The first call builds the
 * registry, under a lock; PFD_INTERNAL: a descriptor is faulty, with the op and the field. */
const pfd_registered_op *pfd_registry_find(const char *name, pfd_error *err) PFD_PRIVATE;

/* Adds all ops and formats of a plugin; adds none if one is faulty or its name is taken, or if the
 * plugin was added before.  With `replace` they take the places of other plugins' ops and formats
 * of the same name; nodes of the replaced ops stay.  `origin` is copied.  *out, unless out is NULL:
 * the plugin with all fields of this library. */
pfd_status pfd_registry_add(const pfd_plugin *plugin, const char *origin, int32_t replace,
                            const pfd_plugin **out, pfd_error *err);

int32_t pfd_op_is_reader(const pfd_op *op) PFD_PRIVATE;

/* The name without the number that follows a '#'.  A process numbers the functions of one name that
 * a program maps over its data sets, in the order in which it meets them; so the number is no part
 * of what a node is, and random keys are made without it. */
void pfd_op_kind(const pfd_op *op, char kind[64]);

/* host.c: the table of functions that ops may call. */
const pfd_host *pfd_host_table(void) PFD_PRIVATE;

/* ---- Formats --------------------------------------------------------------------------------- */

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

/* format_detect.c: PFD_INVALID_ARGUMENT where a reader of texts is given a file that is no text,
 * and whose suffix is that of a binary format. */
pfd_status pfd_check_text_reader(const char *reader, const pfd_file *file, pfd_scratch *scratch,
                                 pfd_error *err);

/* format_detect.c: host->looks_like(). */
const char *pfd_looks_like(const uint8_t *data, int64_t size, const char *own);
#endif
