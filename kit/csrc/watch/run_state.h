/* watch/run_state.h -- a run over an op, the call that a thread is in, the findings, the watches.
 *
 * OWNERSHIP  A run borrows the node, the options and the result.
 * THREADS    A call belongs to its thread; a run may have several, and its counters are atomic.
 */
#ifndef PFD_KIT_WATCH_RUN_STATE_H
#define PFD_KIT_WATCH_RUN_STATE_H
#include "pyflowdata_kit/kit.h"
#include "registry/node.h"

#include <signal.h>
#include <stdatomic.h>

/* Memory of one call: a scratch for the host's own functions, and the regions that were handed
 * out. */
typedef struct pfd_kit_scratch {
    pfd_scratch *scratch;
    int32_t first; /* region; -1: none */
} pfd_kit_scratch;

typedef struct pfd_kit_run_state {
    const pfd_node *node; /* the node under check */
    const pfd_kit_options *options;
    pfd_kit_result *result;
    _Atomic int64_t num_reads, num_allocs;
    _Atomic int32_t injected; /* 1: a failure was injected, see options */
    int64_t file_bytes;
    int32_t round;      /* from 0 */
    const void *source; /* of the reader, for compute() */
    int32_t watch;      /* 1: the plugin's global memory may not change any more */
    const void *attrs;  /* of the op, on pages that cannot be written to */
    int32_t attr_regions[2];
} pfd_kit_run_state;

/* What a thread is doing, also for the message of a crash. */
typedef struct pfd_kit_call {
    pfd_kit_run_state *run;
    pfd_kit_scratch *scratches[2]; /* for the current function; NULL: none */
    int32_t second;                /* the second of two equal calls: guards in front, other fill */
    const char *function;          /* "open()", ...; NULL: no function of the op */
    uint64_t arithmetic;           /* mode of the processor before the call */
    void *locale;                  /* a locale_t */
    sigset_t mask;
    int32_t num_locks;   /* held before the call */
    const char *reading; /* the returned value that the kit reads; NULL: none */
    int64_t reading_index;
    const char *const *row_words; /* what each made-up row is; NULL: rows are of records */
    const char *type_words; /* "in: float32, dense, shape (7)" of made-up inputs; NULL: none */
    const pfd_compute_args *computing; /* in compute(); NULL: in another function */
} pfd_kit_call;

extern _Thread_local pfd_kit_call *pfd_kit_active; /* the thread's call; NULL: none */
extern _Thread_local const char *pfd_kit_last_function; /* for the message of a crash */

/* ---- Findings -------------------------------------------------------------------------------- */

/* Adds a finding; a result has each id once. */
void pfd_kit_report(pfd_kit_run_state *run, const char *id, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Adds a finding with what its ranges have in common: PFD_KIT_PATTERN_ONE ... */
void pfd_kit_report_pattern(pfd_kit_run_state *run, const char *id, int32_t pattern,
                            const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Reports "process-state": the function of the call changed something of the whole process. */
void pfd_kit_process_report(const pfd_kit_call *call, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- Watches --------------------------------------------------------------------------------- */

/* leftovers.c: watches whether the op's functions change memory that outlives the call. */
void pfd_kit_globals_open(pfd_kit_run_state *run);
void pfd_kit_globals_check(pfd_kit_run_state *run, const char *function);
void pfd_kit_globals_close(void);
/* The file of the plugin that the op is in; NULL: it is in none. */
const char *pfd_kit_library_of(const pfd_kit_run_state *run);

/* Memory and descriptors in use. */
typedef struct pfd_kit_usage {
    int64_t heap;        /* bytes of malloc(); -1: not known */
    int64_t mapped;      /* bytes of address space */
    int64_t descriptors; /* open descriptors; -1: not known */
} pfd_kit_usage;
/* Keeps the smaller of what is in use now and, after the first time, of the numbers before, since
 * other threads use memory for a while. `own_bytes` of address space are the kit's and do not
 * count. */
void pfd_kit_usage_add(pfd_kit_usage *usage, int64_t own_bytes, int32_t is_first);
#define PFD_KIT_USAGES 5
/* Reports what grew steadily over `n` usages, which are `rounds` apart. */
void pfd_kit_usage_compare(pfd_kit_run_state *run, const pfd_kit_usage *usages, int32_t n,
                           int64_t rounds);

/* process_watch.c: watches whether they change the state of the process, or keep a lock. */
void pfd_kit_process_begin(pfd_kit_run_state *run);
void pfd_kit_process_enter(pfd_kit_call *call);
void pfd_kit_process_check(pfd_kit_call *call, pfd_status status); /* `status`: from the function */
void pfd_kit_process_end(pfd_kit_run_state *run);

/* generators.c: watches calls of generators of random numbers, as the options say. */
void pfd_kit_generators_begin(pfd_kit_run_state *run);
void pfd_kit_generators_end(void);

/* delays.c: makes threads meet where they could disturb each other, where the options say so. */
void pfd_kit_delays_begin(pfd_kit_run_state *run);
void pfd_kit_delays_end(void);
void pfd_kit_delay(void);                      /* in functions of the host */
void pfd_kit_delays_join(int32_t num_threads); /* a thread begins: waits for the others */
void pfd_kit_delays_part(void);                /* a thread ends */

#endif
