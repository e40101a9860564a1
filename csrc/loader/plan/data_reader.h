/* loader/plan/data_reader.h -- one opened reader: its files, its chain of datasets, the places of
 * its records, and the reading ahead of them.
 *
 * OWNERSHIP  The node is borrowed, and must outlive the reader; the reader owns everything else.
 * THREADS    open, close and apply_seed: one thread, while no thread uses the chain.  locate,
 *            check_disk, read_ahead and the places: any thread.  The chain: as in
 *            dataset/dataset.h.
 * ERRORS     Have the op and, if they are about a record, its place.
 */
#ifndef PFD_LOADER_PLAN_DATA_READER_H
#define PFD_LOADER_PLAN_DATA_READER_H
#include "core/error.h"
#include "core/scratch.h"
#include "dataset/dataset.h"
#include "files/input_files.h"
#include "registry/node.h"

/* ---- The spec: what decides the order of the records ----------------------------------------- */

/* "name=value" lines, a text that grows.  A state has it, and is refused where it differs. */
typedef struct pfd_spec {
    char *text;
    size_t used;
    int32_t failed; /* memory was short */
} pfd_spec;

void pfd_spec_add(pfd_spec *spec, const char *prefix, const char *line);

/* Adds the node's own attrs, each name after `prefix`.  A table is there with its fingerprint;
 * other objects differ from process to process, and are left out. */
void pfd_spec_add_own_attrs(pfd_spec *spec, const char *prefix, const pfd_node *node);

/* ---- The reader ------------------------------------------------------------------------------ */

typedef struct pfd_data_reader {
    const pfd_node *node; /* borrowed; of the source, or of the batches of a view */
    const pfd_node *batches; /* borrowed; whose attrs of every reader hold: the same node, or a
                                BatchDataset */
    const pfd_reader_attrs *attrs;
    struct pfd_data_reader *leaves; /* a view's readers, borrowed; a view has no source */
    int32_t num_leaves;
    pfd_input_files *files; /* NULL: the reader reads no files */
    pfd_dataset *source;    /* source that the op opened; owned by the chain */
    pfd_dataset *shuffled;  /* the shuffle of `shuffle`; in the chain, NULL for none */
    pfd_dataset *logical;   /* forms logical batches; in the chain */
    struct pfd_view *former; /* forms batches whose sizes differ; owned, or NULL */
    pfd_dataset *chain;     /* outermost; forms this rank's batches */
    char *name, *order_key, *spec;
    pfd_scratch *group_scratch; /* scratch of the op's group(); NULL: the op has none */
    int64_t seed, next_seed; /* the current one, and the one for pfd_data_reader_apply_seed() */
    int32_t seed_origin;
    int32_t shuffle;       /* PFD_SHUFFLE_* */
    int32_t in_sequence;   /* an epoch has the records in the order of the files */
    int32_t has_groups;    /* each batch has records of one group, as the op's group() tells */
    int32_t random_access; /* 1: the whole chain can read batches by number */
    int64_t num_files, num_bytes;
    int64_t outside_bytes; /* about how many bytes of a record the op reads from other files */
    uint64_t fingerprint;          /* a hash of the files */
    int64_t num_records;           /* -1: a stream */
    int64_t index_bytes, index_ns; /* size of the source's indexes, time to get them */
    int64_t indexes_built;         /* how many were not in the cache */
    char *index_path;              /* path of one of the indexes; "": in memory */
    char *notice;                  /* what users should be warned of, a sentence a line */
    struct pfd_blocks_ahead *blocks_ahead; /* NULL: nothing that it reads is remote */
    int32_t is_in_store; /* some of its files, or what its records name: rows may wait for it */
    int32_t has_need; /* the source has objects that the host does not know of: need() of op.h */
    _Atomic int64_t *windows_ahead; /* for each lane: the window that was entered last, see
                                       read_ahead(); NULL: no window shuffle of files */
    int64_t num_batches;           /* batches of an epoch; -1: not known before its end */
    _Atomic int64_t left_out;      /* records of an epoch without a batch, by last_batch; -1: not
                                      known, or not before the end of an epoch */
    int64_t local_batch_size;      /* most rows of a batch on this rank */
    int64_t first_file_bit; /* of its files in a pfd_file_set; -1: all of them are in each */
    const pfd_bounds *bounds; /* borrowed; when it is cancelled, next() of a stream ends */
} pfd_data_reader;

/* Draws the seed that all readers of a loader without a seed share, so that readers with the same
 * order key have the same order. */
int64_t pfd_draw_seed(void);

/* Sets the seed of a reader: the seed of its attrs, or `drawn`, or with several ranks, or without a
 * drawn seed (-1), 0. */
void pfd_data_reader_choose_seed(pfd_data_reader *reader, const pfd_node *batches, int64_t drawn);

/* Opens reader `index` of a loader: the source of `node`, in batches by the attrs of `batches`,
 * which may be the same node.  A failure leaves a reader that close() accepts. */
pfd_status pfd_data_reader_open(pfd_data_reader *reader, const pfd_node *node,
                                const pfd_node *batches, int32_t index, int64_t drawn_seed,
                                const pfd_bounds *bounds, pfd_error *err) PFD_PRIVATE;

/* Opens a source for views: there are no batches.  PFD_UNSUPPORTED: it is a stream. */
pfd_status pfd_data_reader_open_leaf(pfd_data_reader *reader, const pfd_node *node, int32_t index,
                                     const pfd_bounds *bounds, pfd_error *err);

/* Opens what makes batches of the `size` rows of a view over readers that are open.  Its seed was
 * chosen before; `views` is their spec, and is taken. */
pfd_status pfd_data_reader_open_view(pfd_data_reader *reader, int32_t index, int64_t size,
                                     pfd_data_reader *leaves, int32_t num_leaves, pfd_spec *views,
                                     const pfd_bounds *bounds, pfd_error *err);
/* Closes the chain and the files; facts such as num_records stay. Repeatable. */
void pfd_data_reader_close_files(pfd_data_reader *reader);
void pfd_data_reader_close(pfd_data_reader *reader) PFD_PRIVATE; /* accepts a zeroed struct */

/* If next_seed differs from seed, makes the decorators again with it.  No thread may use the
 * chain. */
pfd_status pfd_data_reader_apply_seed(pfd_data_reader *reader, pfd_error *err);

/* Adds op, file, line and byte of `record` (may be NULL) to an error that names a place in it. */
void pfd_data_reader_locate(const pfd_data_reader *reader, const pfd_record *record,
                            pfd_error *err) PFD_PRIVATE;

/* PFD_IO: a file was truncated while it was read.  Cheap. */
pfd_status pfd_data_reader_check_guard(const pfd_data_reader *reader, pfd_error *err) PFD_PRIVATE;

/* PFD_IO: the files on disk have changed since they were opened. */
pfd_status pfd_data_reader_check_disk(const pfd_data_reader *reader, pfd_error *err);

/* ---- Files that a batch was read from -------------------------------------------------------- */

/* A bit for each file of all readers; threads add to it. */
typedef _Atomic uint64_t pfd_file_set;

/* Gives the files of a reader their bits, from `bits` on; returns how many are taken then.  Readers
 * of a few files, and those with files beside that of a record, have none. */
int64_t pfd_data_reader_number_files(pfd_data_reader *reader, int64_t bits);

/* Adds the files of n records; of a reader with files, not of one over views. */
void pfd_data_reader_note_files(const pfd_data_reader *reader, const pfd_record *records, int64_t n,
                                pfd_file_set *set);

/* PFD_IO: one of these files has changed since it was opened. */
pfd_status pfd_data_reader_check_files(const pfd_data_reader *reader, const pfd_file_set *set,
                                       pfd_error *err);

/* Bytes that were read, not mapped, from its files since it was opened. */
int64_t pfd_data_reader_bytes_read(const pfd_data_reader *reader);

/* ---- Places: files are numbered as in the blob "id", over all readers of a view ---------------
 */

/* Path of a file; NULL: there is no such file. */
const char *pfd_record_file(const pfd_data_reader *reader, int64_t file);

/* Bytes of its remote files that the cache does not have: of those that the rest of the epoch, of
 * num_batches, will read, or the next one if the last batch is at work; of all until that is
 * known. */
int64_t pfd_record_missing_bytes(const pfd_data_reader *reader, int64_t num_batches);

/* *ordinal: that of the first record in a file or after it; the number of records if there is none.
 * For sources whose records are in the order of their files.  PFD_INVALID_ARGUMENT: there is no
 * such file. */
pfd_status pfd_record_first(const pfd_data_reader *reader, int64_t file, int64_t *ordinal,
                            pfd_error *err);

/* Sets file, ordinal, line and byte of *place to those of a record. */
pfd_status pfd_record_locate(const pfd_data_reader *reader, int64_t file, int64_t ordinal,
                             pfd_error *place);

/* ---- Reading ahead --------------------------------------------------------------------------- */

/* Asks the kernel to read the next records from the disk, if they are known.  Call it when work on
 * the positions [position, position + rows) of an epoch begins; `records` are theirs. */
void pfd_data_reader_read_ahead(pfd_data_reader *reader, int64_t epoch, int64_t position,
                                const pfd_record *records, int64_t rows);

/* Remote files: blocks are asked for in the order in which batches need them, as far ahead as the
 * cache has room.  Batches are counted over all epochs.
 *
 * Called when work on batch `now` begins: *batch is the batch to ask for now.  0: there is none, or
 * another thread asks.  Otherwise the caller asks for the places of this batch, and then calls
 * pfd_data_reader_asked(), which may give the next batch. */
int32_t pfd_data_reader_begin_ask(pfd_data_reader *reader, int64_t now, int64_t *batch);
int32_t pfd_data_reader_asked(pfd_data_reader *reader, int64_t *batch);
/* Drops what was asked for ahead: the next batch is at another place in the order.  No thread works
 * on a batch. */
void pfd_data_reader_jump(pfd_data_reader *reader);

/* Plans which blocks the batches of about an epoch need, so that the cache drops the blocks that
 * are needed last. Both functions give a batch whose places are to be planned, like the two
 * functions above; `has_room`: the places were planned. */
int32_t pfd_data_reader_begin_plan(pfd_data_reader *reader, int64_t now, int64_t num_batches,
                                   int64_t *batch);
int32_t pfd_data_reader_planned(pfd_data_reader *reader, int32_t has_room, int64_t *batch);

/* Plans the blocks of n places of `own`, of at() without a scratch, which is the reader or one of
 * its leaves.  0: there is no room. */
int32_t pfd_data_reader_plan(const pfd_data_reader *reader, const pfd_data_reader *own,
                             const pfd_record *places, int64_t n, int64_t batch);

/* Asks for the blocks of n places, of at() without a scratch, and for the objects that the records
 * name; `scratch` has memory of the call. */
void pfd_data_reader_ask(const pfd_data_reader *reader, const pfd_record *places, int64_t n,
                         pfd_scratch *scratch);
#endif
