/* check/calls.h -- a run is a sequence of calls of an op's functions.
 *
 * OWNERSHIP  A source owns its files and its data set; a call borrows its other arguments.
 * THREADS    A call belongs to its thread; several threads may share a source.
 */
#ifndef PFD_KIT_CHECK_CALLS_H
#define PFD_KIT_CHECK_CALLS_H
#include "files/input_files.h"
#include "watch/run_state.h"

/* Bytes that fill memory before a call: a byte that keeps both fills was never written. */
#define PFD_KIT_FILL_1 0xA5
#define PFD_KIT_FILL_2 0x5A

/* Begins a call of a function of the op under check; pfd_kit_leave() or pfd_kit_left() ends it. */
void pfd_kit_enter(pfd_kit_call *call, const char *function, pfd_kit_scratch *scratch);
/* Checks the status and the error that the function returned, and reports what is wrong. Returns a
 * status that fits both. */
pfd_status pfd_kit_leave(pfd_kit_call *call, pfd_status status, pfd_error *err);
/* Ends the call of a function that cannot fail. */
void pfd_kit_left(pfd_kit_call *call);

/* watching_host.c: the checking host. */
const pfd_host *pfd_kit_host(void);
int32_t pfd_kit_scratch_open(pfd_kit_scratch *scratch); /* 0: out of memory */
/* Takes back all memory, and checks that nothing was written beyond it. */
void pfd_kit_scratch_reset(pfd_kit_scratch *scratch, pfd_kit_run_state *run, const char *function);
void pfd_kit_scratch_close(pfd_kit_scratch *scratch); /* after a reset; accepts a zeroed scratch */

/* crash.c: writes reports of crashes and of calls that do not end to options->report_fd. */
void pfd_kit_crash_begin(const pfd_kit_options *options);
void pfd_kit_crash_end(void);

/* Files and source of a reader node. */
typedef struct pfd_kit_source {
    const pfd_node *node;
    int32_t is_checked;     /* 0: a reader upstream of the op under check, called plainly */
    pfd_input_files *files; /* NULL for a reader of no files */
    const pfd_file *const *list;
    int64_t num_files;
    struct pfd_dataset *dataset; /* owns the source */
    pfd_source_methods methods;
    void *self;
    int64_t size; /* -1: a stream */
} pfd_kit_source;

/* checked_source.c */
pfd_status pfd_kit_source_open(pfd_kit_call *call, const pfd_node *node, pfd_kit_source *out,
                               pfd_error *err);
void pfd_kit_source_close(pfd_kit_call *call, pfd_kit_source *source); /* accepts a zeroed source */
/* Gets the records with these ordinals by at(), and checks them. */
pfd_status pfd_kit_source_at(pfd_kit_call *call, const pfd_kit_source *source,
                             const int64_t *ordinals, int64_t n, pfd_kit_scratch *scratch,
                             pfd_record *out, pfd_error *err);
/* Gets the next 1 to `most` records by next(); PFD_END at the end. */
pfd_status pfd_kit_source_next(pfd_kit_call *call, const pfd_kit_source *source, int64_t most,
                               pfd_kit_scratch *scratch, pfd_record *out, int64_t *n,
                               pfd_error *err);
/* Seeks, in the epoch that the options say. */
pfd_status pfd_kit_source_seek(pfd_kit_call *call, const pfd_kit_source *source, int64_t position,
                               pfd_error *err);
/* Touches every byte, and hashes it with the record's place; never 0 or 1. */
uint64_t pfd_kit_hash_record(pfd_kit_call *call, const pfd_record *record);

/* inputs.c: computes the tensors of a node's inputs for these records, without checks, in memory of
 * the scratch. `source` is the reader's. */
pfd_status pfd_kit_inputs_make(const pfd_node *node, const pfd_record *records, int64_t n,
                               uint64_t random_key, const void *source, pfd_scratch *scratch,
                               const pfd_tensor **inputs, pfd_error *err);
/* Returns the only reader that a node is, or depends on; NULL: there are several. */
const pfd_node *pfd_kit_reader_of(const pfd_node *node);
/* Damages the bytes of the tensors, with ragged rows in memory of the scratch, where the options
 * say so. */
void pfd_kit_damage_inputs(const pfd_kit_run_state *run, const pfd_tensor *const *inputs, int64_t n,
                           pfd_scratch *scratch);
/* Copies the attrs of a run's op into memory that the op cannot write to. 0: out of memory; close()
 * all the same. */
int32_t pfd_kit_attrs_open(pfd_kit_run_state *run, const void *attrs);
void pfd_kit_attrs_close(pfd_kit_run_state *run);

/* attempt.c: computes the node under check for these records, and hashes each output row (never to
 * 0 or 1).  err->row is the row that failed. */
pfd_status pfd_kit_compute(pfd_kit_call *call, const pfd_record *records, int64_t n,
                           uint64_t *hashes, pfd_error *err);

/* optional_functions.c: calls functions that an op need not have. group() is called twice for each
 * record, whose bytes are guarded; err->row is the row that failed. */
pfd_status pfd_kit_try_group(pfd_kit_call *call, const pfd_record *records, int64_t n,
                             pfd_error *err);
void pfd_kit_try_describe(pfd_kit_call *call, const pfd_kit_source *source,
                          const pfd_record *record);
void pfd_kit_try_places(pfd_kit_call *call, const pfd_kit_source *source, const int64_t *ordinals,
                        int64_t n);
void pfd_kit_try_blocks(pfd_kit_call *call, const pfd_kit_source *source);
/* Before at() is called for the same records. */
void pfd_kit_try_need(pfd_kit_call *call, const pfd_kit_source *source, const int64_t *ordinals,
                      int64_t n, pfd_kit_scratch *scratch);
/* Asks the formats that the op reads about the files of the sample. */
pfd_status pfd_kit_try_formats(pfd_kit_run_state *run, pfd_error *err);

#define PFD_KIT_MOST_LENGTH 4097 /* rows of a range */
/* ranges.c: computes some rows, each alone and in ranges of up to `most` rows, and in one range of
 * all rows. Reports rows that are not written or differ, once for all lengths. Returns the length
 * of the longest range; 0: no row could be computed. */
int64_t pfd_kit_try_ranges(pfd_kit_call *call, const pfd_tensor *const *inputs,
                           const pfd_record *records, int64_t n, int64_t most);
/* Tries ranges of the first records of a source, and at() for ranges of ordinals. */
pfd_status pfd_kit_try_sample_ranges(pfd_kit_call *call, const pfd_kit_source *source,
                                     int64_t *longest, pfd_error *err);

/* types.c: offers infer() inputs of many types, and computes made-up rows of what it accepts. */
pfd_status pfd_kit_try_types(pfd_kit_run_state *run, pfd_error *err);

#endif
