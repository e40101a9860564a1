/* registry/reader_attrs.h -- the attrs and outputs that every reader op has besides its own.
 *
 * OWNERSHIP  Strings in pfd_reader_attrs belong to the pfd_attrs that the struct is in.
 */
#ifndef PFD_REGISTRY_READER_ATTRS_H
#define PFD_REGISTRY_READER_ATTRS_H
#include "core/error.h"
#include "pyflowdata/op.h"
#include "pyflowdata/pyflowdata.h"

/* In the order of the attr's choices. */
#define PFD_SHUFFLE_AUTO 0
#define PFD_SHUFFLE_NONE 1
#define PFD_SHUFFLE_GLOBAL 2
#define PFD_SHUFFLE_WINDOW 3
#define PFD_SHUFFLE_BUFFER 4
#define PFD_SHUFFLE_TRUE 5 /* these two are never there once settled */
#define PFD_SHUFFLE_FALSE 6

#define PFD_ON_ERROR_RAISE 0
#define PFD_ON_ERROR_SKIP 1
#define PFD_ON_ERROR_PAD 2

/* pfd_attr.flags of the table below: the attr is part of the order of the records, so a state
 * has it in the reader's spec, if the reader ... */
#define PFD_ORDER_ALWAYS (UINT64_C(1) << 32)
#define PFD_ORDER_WINDOW (UINT64_C(2) << 32) /* shuffles windows */
#define PFD_ORDER_BUFFER (UINT64_C(4) << 32) /* shuffles with a buffer over an index */
#define PFD_ORDER_GROUPS (UINT64_C(8) << 32) /* makes batches of one group each */
#define PFD_ORDER_LANES (UINT64_C(16) << 32) /* shuffles windows in several lanes */

typedef struct pfd_reader_attrs {
    int32_t batch_size;
    int32_t last_batch; /* PFD_LAST_BATCH_* of dataset/dataset.h */
    int32_t random_shuffle; /* once settled, also 1 where `shuffle` alone asks for a shuffle */
    int32_t shuffle; /* PFD_SHUFFLE_*; see pfd_reader_attrs_shuffle() */
    int32_t shuffle_after_epoch;
    int32_t shuffle_buffer_size;
    int32_t shuffle_block_size; /* records in a block of shuffle=window */
    int32_t shuffle_window;     /* blocks in a window */
    int32_t shuffle_lanes;      /* disjoint parts of the data, with windows of their own */
    int64_t seed;              /* -1: not set */
    const char *order_key;     /* "": the reader's name */
    int32_t group_buffer_size; /* the most records that wait for a batch of their group */
    int64_t rank, world_size;  /* never -1 once settled */
    int32_t on_error;          /* PFD_ON_ERROR_* */
    int64_t max_errors;        /* per epoch and rank; -1: no limit */
    int32_t with_mask, with_id;
} pfd_reader_attrs;

extern const pfd_attr pfd_reader_attr_table[];
extern const uint32_t pfd_reader_attr_count;

/* What the table cannot say.  rank and world_size that were both left at -1 become 0 of 1: finding
 * out is the caller's part, which gives what it found.  A shuffle asked for by name is a
 * random_shuffle.  shuffle=true is random_shuffle, and shuffle_after_epoch unless the `n` given
 * values have that.  Refused are: only one of rank and world_size, a rank
 * outside the world, a batch_size that world_size or the lanes do not divide (with the nearest
 * sizes; not where sizes differ from batch to batch), and attrs of a shuffle that contradict each
 * other. */
pfd_status pfd_reader_attrs_settle(pfd_reader_attrs *attrs, const pfd_attr_value *values, int64_t n,
                                   int32_t sizes_differ, pfd_error *err);

/* Refuses attrs of a window among the given values where `shuffle` is of another kind: they would
 * have no effect. */
pfd_status pfd_reader_attrs_check_window(const pfd_reader_attrs *attrs,
                                         const pfd_attr_value *given, int64_t n, pfd_error *err);

/* Which shuffle, never auto, the attrs `shuffle` and random_shuffle ask for, of a source with an
 * index or of one that can only be read in sequence: PFD_UNSUPPORTED where an index is needed. */
pfd_status pfd_reader_attrs_shuffle(const pfd_reader_attrs *attrs, int32_t random_access,
                                    int32_t *shuffle, pfd_error *err);

/* PFD_ACCESS_*: how the records of a source with an index will be asked for. */
int32_t pfd_reader_attrs_access(const pfd_reader_attrs *attrs) PFD_PRIVATE;

/* Fills the outputs of sources/fields.h for n records; NULL: one that is not asked for. */
void pfd_reader_ports_fill(const pfd_record *records, int64_t n, uint8_t *mask,
                           int64_t *ids) PFD_PRIVATE;
#endif
