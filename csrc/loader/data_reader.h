/* loader/data_reader.h -- one opened reader: its files and its chain of datasets.
 *
 * OWNERSHIP  The node is borrowed, and must outlive the reader; all else is the reader's.
 * THREADS    open, close and apply_seed: one thread, and nobody in the chain.  locate and
 *            check_disk: any thread.  The chain: as in dataset/dataset.h.
 * ERRORS     Name the op, and where they are about a record its place.
 */
#ifndef PFD_LOADER_DATA_READER_H
#define PFD_LOADER_DATA_READER_H
#include "core/private.h"
#include "core/scratch.h"
#include "dataset/dataset.h"
#include "files/input_files.h"
#include "registry/node.h"

typedef struct pfd_data_reader {
    const pfd_node *node; /* borrowed */
    const pfd_reader_attrs *attrs;
    pfd_input_files *files; /* NULL for a reader of no files */
    pfd_dataset *source;    /* what the op opened; owned by the chain */
    pfd_dataset *shuffled;  /* the shuffle of `shuffle`; in the chain, NULL for none */
    pfd_dataset *logical;   /* forms logical batches; in the chain */
    pfd_dataset *chain;     /* outermost; forms this rank's batches */
    char *name, *order_key, *spec;
    pfd_scratch *group_scratch; /* of the op's group(); NULL where it has none */
    int64_t seed, next_seed; /* in use; to be used, see below */
    int32_t seed_origin;
    int32_t shuffle;       /* PFD_SHUFFLE_* */
    int32_t in_sequence;   /* an epoch has the records in the order of the files */
    int32_t has_groups;    /* batches are of one group each, which the op's group() tells */
    int32_t random_access; /* the whole chain: batches can be asked for by number */
    int64_t num_files, num_bytes;
    int64_t outside_bytes; /* of a record, about: that the op reads from other files */
    uint64_t fingerprint;          /* of the files */
    int64_t num_records;           /* -1: a stream */
    int64_t index_bytes, index_ns; /* of the source's indexes, and for getting them */
    int64_t indexes_built;         /* that were not in the cache */
    char *index_path;              /* where one lies; "": in memory */
    _Atomic int64_t window_ahead;  /* which window was asked for last, see read_ahead.c */
    int64_t num_batches;           /* of an epoch; -1: known at its end */
    int64_t local_batch_size;      /* most rows of a batch on this rank */
    const pfd_bounds *bounds; /* borrowed; cancelled: a stream's next() ends so */
} pfd_data_reader;

/* A seed for all readers of a loader that are given none: those of one order key stay in step. */
int64_t pfd_draw_seed(void);

/* Opens reader `index` of a loader. A failure leaves a reader that close() accepts. */
pfd_status pfd_data_reader_open(pfd_data_reader *reader, const pfd_node *node, int32_t index,
                                int64_t drawn_seed, const pfd_bounds *bounds,
                                pfd_error *err) PFD_PRIVATE;
/* Closes the chain and the files; what was learned of them stays. Repeatable. */
void pfd_data_reader_close_files(pfd_data_reader *reader);
void pfd_data_reader_close(pfd_data_reader *reader) PFD_PRIVATE; /* accepts a zeroed struct */

/* Where next_seed is another than seed, builds the decorators again with it; nobody may be in the
 * chain. */
pfd_status pfd_data_reader_apply_seed(pfd_data_reader *reader, pfd_error *err);

/* Adds op, file, line and byte of `record` (may be NULL) to an error that names a place in it. */
void pfd_data_reader_locate(const pfd_data_reader *reader, const pfd_record *record,
                            pfd_error *err) PFD_PRIVATE;

/* PFD_IO when a file was cut short while it was read; cheap. */
pfd_status pfd_data_reader_check_guard(const pfd_data_reader *reader, pfd_error *err) PFD_PRIVATE;

/* PFD_IO when the files on disk are not the ones that were opened. */
pfd_status pfd_data_reader_check_disk(const pfd_data_reader *reader, pfd_error *err);
#endif
