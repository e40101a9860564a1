/* dataset/view.h -- a view: the records of one or several data sets in another order.
 *
 * A view is a pure function: map() turns places in the view into places in its inner view or views.
 * A view reads no file, has no cursor, and allocates nothing after it was opened.
 *
 * OWNERSHIP  A view owns its inner views; pfd_view_close() of the outermost closes the tree.
 * THREADS    open and close: one thread.  map, expand, past: any number of threads.
 * ERRORS     Only open() can fail.  Places are in range: 0 <= position < size.
 */
#ifndef PFD_DATASET_VIEW_H
#define PFD_DATASET_VIEW_H
#include "pyflowdata/pyflowdata.h"

/* The places of rows, which views map to records: an array for each field, one element per row. */
typedef struct pfd_places {
    int64_t n;
    int64_t *epochs;    /* epochs of the data set that the places are in, from 0 */
    int64_t *positions; /* in that epoch */
    uint64_t *draws;    /* for random ops: 0, or if an epoch has a record more than once, a number
                           that differs for each draw of the record; see pfd_view_count_draw() */
    int32_t *sources; /* set by views of several data sets: the inner view of each row */
} pfd_places;

/* For an op whose rows are made of several records, pfd_compute_args.source points to this struct:
 * row k of each input is the row of the record of pieces[k], and pieces[k].row is an output row. */
typedef struct pfd_join_args {
    int64_t num_pieces;
    const struct pfd_piece *pieces;
} pfd_join_args;

/* A piece of a row that is made of several records: elements [begin, begin + length) of its record
 * go to [at, at + length) of the row. */
typedef struct pfd_piece {
    int64_t row; /* index into the places of expand() */
    int64_t at, begin, length;
    int64_t whole; /* elements that the record has, as the view was told */
    int64_t back;  /* for the first piece of a row: the number of pieces before it that belong to
                    * the row, too */
} pfd_piece;

typedef struct pfd_view pfd_view;

typedef struct pfd_view_methods {
    const char *name;
    void (*close)(pfd_view *self); /* frees self, not the inner views */

    /* Turns places in this view into places in its inner view, in place.  A view of several data
     * sets also sets `sources`; a zip has no map(): NULL. */
    void (*map)(const pfd_view *self, const pfd_places *places);

    /* A view whose rows are made of several records has these two in place of map(): the number of
     * records of the rows, then the place of each record in the inner view, and where it goes.
     * `pieces` is in order of rows; a row without a piece has the record of the row before it. */
    int64_t (*num_pieces)(const pfd_view *self, const pfd_places *places);
    void (*expand)(const pfd_view *self, const pfd_places *places, const pfd_places *inner,
                   pfd_piece *pieces);

    /* Optional: a hash of the attrs outside the spec that decided the rows before `position` of
     * `epoch`.  A state has the hash. */
    uint64_t (*past)(const pfd_view *self, int64_t epoch, int64_t position);

    /* A view that forms batches: the positions [*begin, *end) of a batch.  Its map() turns the
     * places of one epoch into places of one epoch. */
    void (*batch)(const pfd_view *self, int64_t epoch, int64_t step, int64_t *begin, int64_t *end);
} pfd_view_methods;

/* First member of every view's own struct. */
struct pfd_view {
    const pfd_view_methods *methods;
    pfd_view **inner; /* owned, as the array */
    int32_t num_inner;
    int64_t size; /* set by open(): rows of an epoch, the same in every epoch */
    int64_t num_batches, most_rows; /* batches of an epoch; the most rows of one of them */
    int64_t wanted_rows; /* 0, or set by open(): how many rows at once cost map() least for each */
};

/* ---- Opening --------------------------------------------------------------------------------- */

/* What the attrs of every reader say to a view that forms batches. */
typedef struct pfd_batching {
    int64_t num_records;   /* records of the data set */
    int64_t batch_size;    /* most rows of a batch */
    int32_t last_batch;    /* PFD_LAST_BATCH_* */
    int32_t is_random;     /* the order is random */
    int32_t reshuffle;     /* each epoch has its own order */
} pfd_batching;

typedef struct pfd_view_args {
    const void *attrs; /* the op's attrs; valid until the view is closed */
    pfd_view *const *inner;
    int32_t num_inner;
    const int64_t *seed; /* the loader's seed; it changes only while no thread is in the view */
    /* For random keys, valid until close: the name of the node, or that of its op and "_0". */
    const char *name;
    const pfd_batching *batching; /* for PFD_VIEW_BATCHES, which has no inner views; else NULL */
} pfd_view_args;

/* One inner view: its rows in another order. */
#define PFD_VIEW_ORDER 1
/* Several inner views with the same fields: each row is of one of them.  Its op has the attr
 * num_sources, and takes the fields of the first source, then those of the second, and so on. */
#define PFD_VIEW_CHOICE 2
/* Several inner views of equal length: row i has the fields of row i of all of them. */
#define PFD_VIEW_ZIP 3
/* One inner view: each row is made of several of its rows by the op's compute(). */
#define PFD_VIEW_JOIN 4

/* The op makes batches of its inner view as a reader makes them of its records.  If the op has an
 * open(), that makes a view which maps the rows of batches to records. */
#define PFD_VIEW_BATCHES 5

/* An op that is a view; registry/builtin_views.c lists them. */
typedef struct pfd_view_op {
    const pfd_op *op; /* with PFD_VIEW */
    int32_t kind;     /* PFD_VIEW_* */
    /* *out: a view with `methods` and `size` set; the host fills in its inner views.  A failure
     * leaves nothing to close. */
    pfd_status (*open)(const pfd_view_args *args, pfd_view **out, pfd_error *err);
    const char *method; /* method of a data set in Python that makes the view */
} pfd_view_op;

/* Whether the op, or NULL, forms the batches itself, which may then differ in size. */
static inline int32_t pfd_view_forms_batches(const pfd_view_op *op)
{
    return op && op->kind == PFD_VIEW_BATCHES && op->open;
}

/* ---- For those who write views --------------------------------------------------------------- */

/* Makes the draw of a row differ from those with another `number`; 0 leaves a draw of 0. */
void pfd_view_count_draw(uint64_t *draw, uint64_t number);

/* The key of a random order, by the name of the view, an epoch, and the seed `own`, or the seed of
 * the loader if `own` is -1. */
uint64_t pfd_view_key(const pfd_view_args *args, int64_t own, int64_t epoch);

/* A view of `bytes`, zeroed but for its methods; PFD_OUT_OF_MEMORY. */
pfd_status pfd_view_create(size_t bytes, const pfd_view_methods *methods, void *out,
                           pfd_error *err);

/* The end of the function that opens a view: *out gets the view, a pfd_view; if `status` is a
 * failure, the view is closed.  Returns the status. */
pfd_status pfd_view_opened(pfd_status status, void *view, pfd_view **out);

void pfd_view_free(pfd_view *self);  /* close() of a view that owns nothing else */
void pfd_view_close(pfd_view *view); /* closes a tree; accepts NULL */
#endif
