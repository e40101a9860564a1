/* loader/plan/reader_spec.h -- the spec of a reader: what decides the order of its records, in words.
 *
 * A spec is "name=value" lines.  A state has it, and is refused where it differs.
 */
#ifndef PFD_LOADER_READER_SPEC_H
#define PFD_LOADER_READER_SPEC_H
#include "registry/node.h"

/* A text that grows; `failed` once memory is short. */
typedef struct pfd_spec {
    char *text;
    size_t used;
    int32_t failed;
} pfd_spec;

void pfd_spec_add(pfd_spec *spec, const char *prefix, const char *line);

/* The node's own attrs, each name after `prefix`.  Of a table its fingerprint; other objects differ
 * from process to process, and are left out. */
void pfd_spec_add_own_attrs(pfd_spec *spec, const char *prefix, const pfd_node *node);

/* Those attrs of every reader that have one of the flags PFD_ORDER_*. */
void pfd_spec_add_reader_attrs(pfd_spec *spec, const pfd_node *node, uint64_t flags);

/* "name=value" of one attr. */
void pfd_spec_add_attr(pfd_spec *spec, const char *prefix, const pfd_attrs *attrs,
                       const pfd_attr *row);

/* The text without the end of its last line, for the caller to free; NULL: memory was short. */
char *pfd_spec_take(pfd_spec *spec);
#endif
