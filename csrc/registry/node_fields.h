/* registry/node_fields.h -- the fields of a node; registry/node.h says who owns them and when they
 * change. */
#ifndef PFD_REGISTRY_NODE_FIELDS_H
#define PFD_REGISTRY_NODE_FIELDS_H
#include "files/part_files.h"
#include "registry/attrs.h"
#include "registry/reader_attrs.h"
#include "registry/registry.h"

struct pfd_node {
    _Atomic int32_t references;
    const pfd_registered_op *op;   /* the registry's, or own_op */
    pfd_registered_op *own_op; /* with the node's own ports, see registry/node_ports.h; or NULL */
    char *name;               /* "" for none */
    pfd_attrs *attrs;         /* of the op's own table */
    pfd_attr_value *inferred; /* those of them that were inferred, see registry/inferred_attrs.h */
    int64_t num_inferred;
    pfd_attrs *file_attrs;    /* pfd_file_attrs, of ops that read files; else NULL */
    pfd_attrs *reader_attrs;  /* pfd_reader_attrs, of readers; else NULL */
    pfd_blob *inputs;         /* owned references; as many as op->public_op->num_inputs */
    pfd_row_type *outputs;    /* as many as op->public_op->num_outputs */
    const pfd_node *order;    /* the reader or view whose rows its rows are: itself, or upstream;
                                 NULL: of several, see registry/node_order.h */
    int64_t batch_size;       /* logical, of the readers upstream */
    pfd_node *next_released;  /* pfd_node_release()'s list of nodes to free */
};
#endif
