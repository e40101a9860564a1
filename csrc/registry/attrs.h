/* registry/attrs.h -- the attrs of a node: the values that a user gave in an op's struct, and what
 * every reader op has besides its own.
 *
 * OWNERSHIP  A pfd_attrs owns copies of its strings and lists, also those of a pfd_reader_attrs in
 *            it; tables are borrowed for the call.
 * THREADS    Immutable once its creator has completed it: any thread.
 */
#ifndef PFD_REGISTRY_ATTRS_H
#define PFD_REGISTRY_ATTRS_H
#include "core/error.h"
#include "pyflowdata/op.h"
#include "pyflowdata/pyflowdata.h"

/* A parsed attr struct; strings and lists in it are owned by it. */
typedef struct pfd_attrs pfd_attrs;

/* Makes a struct of struct_size bytes from defaults and values.  Values whose name is not in the
 * table belong to another table and are skipped.  PFD_INVALID_ARGUMENT: a value has the wrong
 * type or is out of range, or a required attr is missing.  An attr with PFD_ATTR_FOUND and
 * without a default may be missing: it is 0 or empty until pfd_attrs_set().  The caller frees
 * *out. */
pfd_status pfd_attrs_create(const pfd_attr *table, uint32_t count, uint32_t struct_size,
                            const pfd_attr_value *values, int64_t num_values, pfd_attrs **out,
                            pfd_error *err);
void pfd_attrs_free(pfd_attrs *attrs); /* accepts NULL */

/* Sets one attr, by the same rules.  *kept is a copy of the value that lives as long as the attrs.
 */
pfd_status pfd_attrs_set(pfd_attrs *attrs, const pfd_attr *row, const pfd_attr_value *value,
                         pfd_attr_value *kept, pfd_error *err);

/* Whether there is a value for this attr among those given. */
int32_t pfd_attrs_has_value(const char *attr, const pfd_attr_value *values, int64_t n);

/* PFD_INVALID_ARGUMENT: the attr is needed; `why` ends the sentence, or is "". */
pfd_status pfd_attrs_fail_missing(const pfd_attr *row, const char *why, pfd_error *err);

/* A copy of a struct of struct_size bytes in which a list of strings has only n of its elements;
 * everything else is borrowed from `attrs`, which must live longer.  NULL: memory is short. */
pfd_attrs *pfd_attrs_with_fewer(const pfd_attrs *attrs, uint32_t struct_size, const pfd_attr *list,
                                const int32_t *kept, int32_t n);
const void *pfd_attrs_struct(const pfd_attrs *attrs) PFD_PRIVATE;
void *pfd_attrs_unsettled(pfd_attrs *attrs); /* the same struct, for its creator to complete */

/* "name=value" of one attr, written as in pfd_attr.default_value, with control bytes as \xNN; cut
 * to capacity, which is at least 8. */
void pfd_attrs_format(const pfd_attrs *attrs, const pfd_attr *row, char *out, size_t capacity);

/* ---- The attrs and outputs of every reader --------------------------------------------------- */

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

/* pfd_attr.flags of the table below: the attr decides the order of the records, so a state has it
 * in the reader's spec, if the reader ... */
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
    double max_skipped;        /* damaged records of an epoch and rank: (0, 1) a share, else a
                                  number; -1: no limit, also for the share 1.0 or if max_errors
                                  is given */
    int64_t max_errors;        /* the older attr: their number; -1: no limit */
    int32_t with_mask, with_id;
} pfd_reader_attrs;

extern const pfd_attr pfd_reader_attr_table[];
extern const uint32_t pfd_reader_attr_count;

/* Applies the rules that the table cannot state.  If rank and world_size are both -1, they become 0
 * and 1: the caller has inferred them where it could.  A shuffle that is chosen by name sets
 * random_shuffle; shuffle=true also sets shuffle_after_epoch, unless the `n` given values have it.
 * PFD_INVALID_ARGUMENT: only one of rank and world_size is given, the rank is outside the world,
 * world_size or the lanes do not divide batch_size (unless sizes differ from batch to batch), or
 * attrs of a shuffle contradict each other. */
pfd_status pfd_reader_attrs_settle(pfd_reader_attrs *attrs, const pfd_attr_value *values, int64_t n,
                                   int32_t sizes_differ, pfd_error *err);

/* Refuses attrs of a window among the given values where `shuffle` is of another kind: they would
 * have no effect. */
pfd_status pfd_reader_attrs_check_window(const pfd_reader_attrs *attrs,
                                         const pfd_attr_value *given, int64_t n, pfd_error *err);

/* Which shuffle, never auto, the attrs `shuffle` and random_shuffle choose for a source with random
 * access or without.  PFD_UNSUPPORTED: the shuffle needs random access. */
pfd_status pfd_reader_attrs_shuffle(const pfd_reader_attrs *attrs, int32_t random_access,
                                    int32_t *shuffle, pfd_error *err);

/* PFD_ACCESS_*: the order in which a loader will ask for the records of a source with an index. */
int32_t pfd_reader_attrs_access(const pfd_reader_attrs *attrs) PFD_PRIVATE;

/* Fills the outputs mask and id for n records (sources/fields.h); NULL: the output is not wanted.
 */
void pfd_reader_ports_fill(const pfd_record *records, int64_t n, uint8_t *mask,
                           int64_t *ids) PFD_PRIVATE;
#endif
