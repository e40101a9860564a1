/* registry/node.h -- one use of an op in a graph.
 *
 * The rows of a blob are in the order of one reader or view, or the blob comes from several
 * readers, whose batches only a loader can pair.  Views take blobs of the first kind only.
 *
 * OWNERSHIP  Reference-counted; a node owns references to the nodes of its inputs.  The caller owns
 *            lists of files and opened files, even if the call failed.
 * THREADS    Immutable after creation: any thread.
 * ERRORS     All errors in attrs and types are reported at creation, with the op's name.
 */
#ifndef PFD_REGISTRY_NODE_H
#define PFD_REGISTRY_NODE_H
#include "core/error.h"
#include "files/file_names.h"
#include "files/input_files.h"
#include "files/part_files.h"
#include "registry/attrs.h"
#include "registry/registry.h"

struct pfd_node {
    _Atomic int32_t references;
    const pfd_registered_op *op;   /* the registry's, or own_op */
    pfd_registered_op *own_op; /* with the node's own ports; or NULL */
    char *name;               /* "" for none */
    pfd_attrs *attrs;         /* attrs of the op's own table */
    pfd_attr_value *inferred; /* those of them that were inferred from files */
    int64_t num_inferred;
    pfd_path_list left_out;   /* texts about parts of the records that `inferred` leaves out */
    pfd_attrs *file_attrs;    /* pfd_file_attrs, of ops that read files; else NULL */
    pfd_attrs *reader_attrs;  /* pfd_reader_attrs, of readers; else NULL */
    pfd_blob *inputs;         /* owned references; as many as op->public_op->num_inputs */
    pfd_row_type *outputs;    /* as many as op->public_op->num_outputs */
    const pfd_node *order;    /* the reader or view, itself or upstream, that orders its rows; NULL:
                                 there are several */
    int64_t batch_size;       /* logical, of the readers upstream */
    pfd_node *whole;          /* owned reference; the node of which it is a part, and which owns its
                                 file_attrs and reader_attrs; NULL: it is one itself */
    pfd_node *next_released;  /* pfd_node_release()'s list of nodes to free */
};

/* Takes one more reference and returns the node. */
pfd_node *pfd_node_retain(pfd_node *node);

/* The same node with only the outputs `kept` of its own, in increasing order, besides those of
 * every reader; it has no inputs.  A part has the spec, name and random numbers of the whole node.
 * *out is NULL where the op cannot leave the others out. */
pfd_status pfd_node_part(pfd_node *node, const int32_t *kept, int32_t num_kept, pfd_node **out,
                         pfd_error *err);

/* As pfd_node_create(), for an op that is not a reader, with the types of the inputs' rows in place
 * of blobs.  The node has no nodes upstream; loader/rows/eager.c uses it. */
pfd_status pfd_node_create_on_rows(const char *op, const char *name, const pfd_attr_value *values,
                                   int64_t num_values, const pfd_row_type *inputs,
                                   int64_t num_inputs, pfd_node **out, pfd_error *err);

/* The inputs of a view are runs of the fields of each of its data sets: the end of the run of
 * inputs that begins at `begin`. */
int64_t pfd_node_end_of_source(const pfd_node *node, int64_t begin);

/* ---- Files ----------------------------------------------------------------------------------- */

/* Finds the paths of a reader with PFD_READS_FILES. */
pfd_status pfd_node_find_files(const pfd_node *node, pfd_path_list *out,
                               pfd_error *err) PFD_PRIVATE;

/* Finds and opens them, with the attrs file_access and compression.  `bounds`: of the loader,
 * borrowed until they are closed; NULL: there is none. */
pfd_status pfd_node_open_files(const pfd_node *node, const pfd_bounds *bounds,
                               pfd_input_files **out, pfd_error *err) PFD_PRIVATE;
#endif
