/* check/run_state.h -- what the parts of the conformance kit share: a run, and the call it is in.
 *
 * OWNERSHIP  A run borrows the node, the options and the result.
 * THREADS    A call belongs to its thread; a run may have several, and its counters are atomic.
 */
#ifndef PFD_KIT_RUN_STATE_H
#define PFD_KIT_RUN_STATE_H
#include "files/input_files.h"
#include "pyflowdata_kit/kit.h"
#include "registry/node.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

/* Memory of one call: a scratch for the host's own functions, and the regions handed out. */
typedef struct pfd_kit_scratch {
    pfd_scratch *scratch;
    int32_t first; /* region; -1: none */
} pfd_kit_scratch;

/* Bytes with which memory is filled: what stays both was never written. */
#define PFD_KIT_FILL_1 0xA5
#define PFD_KIT_FILL_2 0x5A

typedef struct pfd_kit_run_state {
    const pfd_node *node; /* under check */
    const pfd_kit_options *options;
    pfd_kit_result *result;
    _Atomic int64_t num_reads, num_allocs;
    _Atomic int32_t injected; /* a failure was, see options */
    int64_t file_bytes;
    int32_t round;      /* from 0 */
    const void *source; /* of the reader, for its compute() */
    int32_t watch;      /* global memory of the plugin: nothing may change there any more */
    const void *attrs;  /* of the op, on pages that cannot be written to */
    int32_t attr_regions[2];
} pfd_kit_run_state;

/* What a thread is doing, also for the message of a crash. */
typedef struct pfd_kit_call {
    pfd_kit_run_state *run;
    pfd_kit_scratch *scratches[2]; /* that the current function may use; NULL: none */
    int32_t second;                /* the second of two equal calls: guards in front, other fill */
    const char *function;          /* "open()", ...; NULL: none of the op's */
    uint64_t arithmetic;           /* what belongs to the thread, as it was before the function */
    void *locale;                  /* a locale_t */
    sigset_t mask;
    int32_t num_locks;   /* that it held */
    const char *reading; /* what the kit looks at that the op returned; NULL: nothing */
    int64_t reading_index;
    const char *const *row_words; /* what each made-up row is; NULL: rows are of records */
    const char *type_words; /* "in: float32, dense, shape (7)" of made-up inputs; NULL: none */
    const pfd_compute_args *computing; /* in compute(); NULL: in another function */
} pfd_kit_call;

/* active_call.c */
extern _Thread_local pfd_kit_call *pfd_kit_active;      /* NULL: in none */
extern _Thread_local const char *pfd_kit_last_function; /* which was called, for that message */

/* watching_host.c: the checking host. */
const pfd_host *pfd_kit_host(void);
int32_t pfd_kit_scratch_open(pfd_kit_scratch *scratch); /* 0: out of memory */
/* Takes all back that was handed out, and looks whether more was written than asked for. */
void pfd_kit_scratch_reset(pfd_kit_scratch *scratch, pfd_kit_run_state *run, const char *function);
void pfd_kit_scratch_close(pfd_kit_scratch *scratch); /* after a reset; accepts a zeroed one */

/* report.c: adds a finding, each id once in a result. */
void pfd_kit_report(pfd_kit_run_state *run, const char *id, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same, with what the ranges have in common in which it shows: PFD_KIT_PATTERN_ONE ... */
void pfd_kit_report_pattern(pfd_kit_run_state *run, const char *id, int32_t pattern,
                            const char *format, ...) __attribute__((format(printf, 4, 5)));
/* "process-state": that the function of the call changed something of the whole process. */
void pfd_kit_process_report(const pfd_kit_call *call, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* What the op's function returned as an agreed status: also reports what is wrong with it. */
pfd_status pfd_kit_returned(pfd_kit_run_state *run, const char *function, pfd_status status,
                            pfd_error *err);

/* globals.c: whether the op's functions change memory that outlives the call. */
void pfd_kit_globals_open(pfd_kit_run_state *run);
void pfd_kit_globals_check(pfd_kit_run_state *run, const char *function);
void pfd_kit_globals_close(void);
/* The file of the plugin that the op is in; NULL: it is in none. */
const char *pfd_kit_library_of(const pfd_kit_run_state *run);

/* process_watch.c: whether they change the state of the process, or keep a lock. */
void pfd_kit_process_begin(pfd_kit_run_state *run);
void pfd_kit_process_enter(pfd_kit_call *call);
void pfd_kit_process_check(pfd_kit_call *call, pfd_status status); /* what the function returned */
void pfd_kit_process_end(pfd_kit_run_state *run);

/* run.c: around a run, for node_calls.c too.  One at a time, others wait. */
void pfd_kit_run_begin(pfd_kit_run_state *run);
void pfd_kit_run_end(pfd_kit_run_state *run);

/* crash.c: reports of crashes and of calls that do not end, written to options->report_fd. */
void pfd_kit_crash_begin(const pfd_kit_options *options);
void pfd_kit_crash_end(void);

/* stack_fault.c: what a fault has to do with the stack, in words; NULL: nothing.  For the signal
 * handler: of such a fault no memory on the stack is worth reading. */
void pfd_kit_stack_begin(void);
const char *pfd_kit_stack_fault(int signal, const void *address, int32_t by_kernel,
                                const void *context);

/* call.c: around each call of a function of the op under check. */
void pfd_kit_enter(pfd_kit_call *call, const char *function, pfd_kit_scratch *scratch);
/* What the function returned, agreed; see pfd_kit_returned(). */
pfd_status pfd_kit_leave(pfd_kit_call *call, pfd_status status, pfd_error *err);
/* The same of a function that cannot fail. */
void pfd_kit_left(pfd_kit_call *call);

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
void pfd_kit_source_close(pfd_kit_call *call, pfd_kit_source *source); /* accepts a zeroed one */
/* The records with these ordinals by at(); what it returned is checked. */
pfd_status pfd_kit_source_at(pfd_kit_call *call, const pfd_kit_source *source,
                             const int64_t *ordinals, int64_t n, pfd_kit_scratch *scratch,
                             pfd_record *out, pfd_error *err);
/* 1 to `most` following records by next(); PFD_END at the end. */
pfd_status pfd_kit_source_next(pfd_kit_call *call, const pfd_kit_source *source, int64_t most,
                               pfd_kit_scratch *scratch, pfd_record *out, int64_t *n,
                               pfd_error *err);
/* In the epoch that the options say. */
pfd_status pfd_kit_source_seek(pfd_kit_call *call, const pfd_kit_source *source, int64_t position,
                               pfd_error *err);
/* Touches every byte, and hashes it with the record's place; never 0 or 1. */
uint64_t pfd_kit_hash_record(pfd_kit_call *call, const pfd_record *record);

/* inputs.c: the tensors that a node's inputs are for these records, computed plainly in memory of
 * the scratch; `source` is that of the reader. */
pfd_status pfd_kit_inputs_make(const pfd_node *node, const pfd_record *records, int64_t n,
                               uint64_t random_key, const void *source, pfd_scratch *scratch,
                               const pfd_tensor **inputs, pfd_error *err);
/* The only reader that a node depends on, or is; NULL: there are several. */
const pfd_node *pfd_kit_reader_of(const pfd_node *node);

/* read_only_attrs.c: gives a run a copy of an attr struct of its op that the op cannot write to.
 * 0: out of memory; close() all the same. */
int32_t pfd_kit_attrs_open(pfd_kit_run_state *run, const void *attrs);
void pfd_kit_attrs_close(pfd_kit_run_state *run);

/* attempt.c: computes the node under check for these records; hashes each output row (never to 0 or
 * 1).  err->row is the row that failed. */
pfd_status pfd_kit_compute(pfd_kit_call *call, const pfd_record *records, int64_t n,
                           uint64_t *hashes, pfd_error *err);

/* The same with the tensors of the inputs given. */
pfd_status pfd_kit_compute_with(pfd_kit_call *call, const pfd_tensor *const *inputs,
                                const pfd_record *records, int64_t n, uint64_t *hashes,
                                pfd_error *err);

/* draws.c: the host's random_bits(), with the draws of compute() noted. */
uint64_t pfd_kit_random_bits(uint64_t key, int64_t ordinal, int64_t draw);

/* generators.c: watches calls of generators of random numbers, as the options say. */
void pfd_kit_generators_begin(pfd_kit_run_state *run);
void pfd_kit_generators_end(void);

/* delays.c: makes threads meet where they could disturb each other, where the options say so. */
void pfd_kit_delays_begin(pfd_kit_run_state *run);
void pfd_kit_delays_end(void);
void pfd_kit_delay(void);                      /* in functions of the host */
void pfd_kit_delays_join(int32_t num_threads); /* each thread at first: waits for the others */
void pfd_kit_delays_part(void);                /* and at last */

/* damaged_inputs.c: gives the tensors, and rows in memory of the scratch, other bytes, where the
 * options say so. */
void pfd_kit_damage_inputs(const pfd_kit_run_state *run, const pfd_tensor *const *inputs, int64_t n,
                           pfd_scratch *scratch);

/* optional_functions.c: functions that an op need not have; called where they are there.  group()
 * is asked twice for each record, whose bytes are guarded; err->row is the one that failed. */
pfd_status pfd_kit_try_group(pfd_kit_call *call, const pfd_record *records, int64_t n,
                             pfd_error *err);
void pfd_kit_try_describe(pfd_kit_call *call, const pfd_kit_source *source,
                          const pfd_record *record);
void pfd_kit_try_places(pfd_kit_call *call, const pfd_kit_source *source, const int64_t *ordinals,
                        int64_t n);

/* ranges.c: computes some rows, each alone and in ranges of many lengths; reports, once for all
 * lengths, where they are not written, or not the same.  The lengths go up to `most`; there is one
 * range of all rows in any case.  Returns the rows of the longest range; 0: no row could be
 * computed. */
int64_t pfd_kit_try_ranges(pfd_kit_call *call, const pfd_tensor *const *inputs,
                           const pfd_record *records, int64_t n, int64_t most);
/* sample_ranges.c: the same with the first records of a source, and with at() for as many. */
pfd_status pfd_kit_try_sample_ranges(pfd_kit_call *call, const pfd_kit_source *source,
                                     int64_t *longest, pfd_error *err);

/* types.c: offers infer() inputs of many types, and computes made-up rows of what it accepts. */
pfd_status pfd_kit_try_types(pfd_kit_run_state *run, pfd_error *err);

/* format_calls.c: asks the formats that the op reads about the files of the sample. */
pfd_status pfd_kit_try_formats(pfd_kit_run_state *run, pfd_error *err);

/* growth.c: memory and descriptors in use. */
typedef struct pfd_kit_usage {
    int64_t heap;        /* bytes of malloc(); -1: cannot be told */
    int64_t mapped;      /* bytes of address space */
    int64_t descriptors; /* open; -1: cannot be told */
} pfd_kit_usage;
/* The least of what is in use now and, unless it is the first time, before: other threads of the
 * process use memory for a while. */
void pfd_kit_usage_add(pfd_kit_usage *usage, int32_t is_first);
#define PFD_KIT_USAGES 5
/* Reports what grew steadily over `n` usages, which are `rounds` apart. */
void pfd_kit_usage_compare(pfd_kit_run_state *run, const pfd_kit_usage *usages, int32_t n,
                           int64_t rounds);
#endif
