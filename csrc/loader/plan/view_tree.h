/* loader/plan/view_tree.h -- the data set of a BatchDataset: its readers, and the views over them.
 *
 * A data set is a tree.  A branch is a run of views that only reorder records; it ends at a reader,
 * or at a view of several data sets (or of rows made of several records), below which there is a
 * branch for each.  Branch 0 is the outermost; a parent comes before its branches.
 *
 * OWNERSHIP  Nodes are borrowed; the tree owns its readers and views.
 * THREADS    create, open and close: one thread.  In between it is read only.
 */
#ifndef PFD_LOADER_PLAN_VIEW_TREE_H
#define PFD_LOADER_PLAN_VIEW_TREE_H
#include "dataset/view.h"
#include "loader/plan/data_reader.h"

typedef struct pfd_branch {
    int32_t parent;     /* -1: of the outermost branch */
    int32_t source;     /* number of the inner view of the view at the parent's end */
    int32_t is_aligned; /* 1: its rows are those of the batch, one for one */
    int32_t kind;       /* PFD_VIEW_* of the view at its end; 0: there is a reader */
    int32_t leaf;       /* number of that reader; -1 */
    int32_t num_orders;
    const pfd_node **order_nodes; /* owned array; outermost first */
    const pfd_node *end;
    const pfd_view **orders; /* opened, as order_nodes; owned array */
    const pfd_view *joint;   /* the view at its end; NULL for a reader */
    int32_t *children;       /* the branch of each inner view of the view at its end; owned array */
    int32_t num_children;
} pfd_branch;

typedef struct pfd_view_tree {
    pfd_branch *branches;
    int32_t num_branches;
    pfd_data_reader *leaves;
    int32_t num_leaves;
    int64_t *first_files; /* first file of each leaf, among the files of all leaves */
    int32_t has_ops;      /* ops compute on its rows: they may draw random numbers */
    int32_t is_direct;    /* one reader and no view: its source can be read as without a tree */
    pfd_view *top;        /* the outermost view; NULL until opened, or where it is direct */
    char **names;         /* names of views, for their random keys */
    int32_t num_names;
} pfd_view_tree;

/* The tree before `batches`, a node of BatchDataset. */
pfd_status pfd_view_tree_create(const pfd_node *batches, pfd_view_tree **out, pfd_error *err);

/* Opens the readers and the views.  `seed` is borrowed: the loader's, which may change while no
 * thread uses the tree. */
pfd_status pfd_view_tree_open(pfd_view_tree *tree, const int64_t *seed, const pfd_bounds *bounds,
                              pfd_error *err);
void pfd_view_tree_close(pfd_view_tree *tree); /* accepts NULL */

/* Adds what decides the records of each row to a spec. */
void pfd_view_tree_describe(const pfd_view_tree *tree, pfd_spec *spec);

/* A hash of the attrs outside the spec that decided the rows before `position` of `epoch`; 0: none
 * did.  For a view below others, whose rows may be anywhere, the hash is of all rows. */
uint64_t pfd_view_tree_past(const pfd_view_tree *tree, int64_t epoch, int64_t position);

/* As pfd_data_reader_locate(), of a record whose file is counted among the files of all leaves. */
void pfd_view_tree_locate(const pfd_view_tree *tree, const pfd_record *record, pfd_error *err);
#endif
