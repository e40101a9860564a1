/* pyflowdata_kit/kit.h -- the C interface of libpyflowdata_kit.so, which checks and measures ops.
 *
 *   pfd_kit_*    the conformance kit, which `pyflowdata check` runs
 *   pfd_bench_*  the benchmark of ops, which `pyflowdata bench` runs
 *
 * The library is linked against libpyflowdata.so of the same build, and works on nodes of that
 * library. A program that trains does not load the kit.
 *
 * OWNERSHIP, ERRORS, FORK  As in pyflowdata.h.
 * THREADS                  Any thread; one pfd_kit_run() at a time, other callers wait.
 */
#ifndef PYFLOWDATA_KIT_H
#define PYFLOWDATA_KIT_H

#include "pyflowdata/pyflowdata.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* cdef-begin */

/* Python compares this with what it read from this header, before any other call. 0:
 * libpyflowdata.so is of another build, and no other function of this header may be called. */
uint32_t pfd_kit_abi_version(void);

/* ---- Conformance kit ----------------------------------------------------------------------------
 *
 * Calls the functions of one op as a loader would, in one process and without a loader, through a
 * checking host: its memory lies between forbidden pages, its read() and alloc() can be made to
 * fail, and it checks what the op returns.  A faulty op may crash the process: the crash is
 * described in report_fd first. */

#define PFD_KIT_MOST_RECORDS 256 /* records that checks look at in one run */

/* What a run does. */
#define PFD_KIT_PASS 0        /* goes through the records of the sample */
#define PFD_KIT_TYPES 1       /* offers inputs of a dtype, with many shapes and values */
#define PFD_KIT_RANGES 2      /* computes the first records, alone and in ranges of many lengths:
                                 result.num_records is the longest */
#define PFD_KIT_FORMATS 3     /* calls probe() and resync() of the op's formats */
#define PFD_KIT_TWO_SOURCES 4 /* goes through two nodes, by turns: a range of each */

/* In which order a pass takes the records. */
#define PFD_KIT_FORWARD 0
#define PFD_KIT_BACKWARD 1
#define PFD_KIT_SHUFFLED 2 /* and each record twice */
#define PFD_KIT_STREAM 3   /* next(), also where there is at() */

/* Where the bytes of a record lie. */
typedef struct pfd_kit_span {
    int64_t offset, size; /* as the reader says; in a compressed file, of decompressed bytes */
    int32_t file;         /* -1: the record was not seen */
} pfd_kit_span;

/* What a pass gives for each record that it looks at: arrays of the caller, of `capacity`. */
typedef struct pfd_kit_seen {
    uint64_t *records;   /* hash of the record, 0: not seen, 1: failed */
    uint64_t *rows;      /* hash of all outputs of the op in this row */
    pfd_kit_span *spans; /* NULL: not wanted */
    int64_t capacity;    /* 0: no array is given */
} pfd_kit_seen;

/* One call of host->random_bits() by compute(). */
typedef struct pfd_kit_draw {
    uint64_t key; /* the arguments of the call */
    int64_t ordinal, draw;
    int64_t first, first_offset; /* ordinal and offset of the record of the call's row 0 */
    int64_t num_rows;            /* in that call of compute() */
} pfd_kit_draw;

/* The first of these calls, in an array of the caller. */
typedef struct pfd_kit_draws {
    pfd_kit_draw *list;
    int64_t capacity; /* 0: no array is given */
} pfd_kit_draws;

/* The rows that PFD_KIT_TYPES offers. */
#define PFD_KIT_MANY_SHAPES 0 /* 0 to 4,099 elements */
#define PFD_KIT_ONE_SHAPE 1   /* the first of them that infer() accepts, in ranges of 1 to 17 */
#define PFD_KIT_LARGE_ROWS 2  /* some MB each */

/* What PFD_KIT_TYPES varies. */
typedef struct pfd_kit_varied {
    int32_t input; /* its number, from 0; other inputs are as in the sample */
    int32_t dtype; /* of the input, PFD_BOOL ... */
    int32_t rows;  /* PFD_KIT_MANY_SHAPES ... */
} pfd_kit_varied;

/* Which generators of random numbers, besides random_bits(), are watched: any of these. */
#define PFD_KIT_NAME_GENERATORS 1 /* generators of the process, such as rand(), are findings */
#define PFD_KIT_FIX_SYSTEM 2      /* generators of the system, as getrandom(), repeat numbers */
#define PFD_KIT_FIX_SEEDED 4      /* generators whose state the op owns, such as rand_r(), too */

typedef struct pfd_kit_options {
    uint32_t struct_size;
    int32_t mode;        /* PFD_KIT_PASS ... */
    const char *doing;   /* for messages: the change of the sample; NULL: none */
    int32_t report_fd;   /* for reports of crashes and endless calls; -1: no signal handlers */
    int32_t limit_ms;    /* processor time of a run; 0: no limit.  Needs a report_fd */
    int64_t seed;        /* for PFD_KIT_SHUFFLED and the random key */
    int32_t watch_state; /* 1: compares all of the process's state around each call, even what
                            takes time; one thread */
    /* PFD_KIT_TYPES alone uses this. */
    pfd_kit_varied varied;
    /* PFD_KIT_TWO_SOURCES alone uses the second node, and arrays with the capacity of `seen`. */
    const pfd_blob *other;
    pfd_kit_seen other_seen;
    /* Passes through one node or two use these. */
    int32_t order;        /* PFD_KIT_FORWARD ...; of a stream always PFD_KIT_STREAM */
    int32_t only_output;  /* n > 0: seen.rows hashes the n-th output alone */
    int64_t range;        /* records of one call of at(), next() and compute(), 1 to 8192 */
    int64_t most_records; /* of more records, the first and the last are looked at; >= 2 */
    int64_t epoch;        /* argument of seek(), >= 0 */
    pfd_kit_seen seen;
    /* PFD_KIT_PASS alone uses these. */
    int64_t seek;              /* PFD_KIT_STREAM: begin at this record; -1: without a seek() */
    int64_t seek_from;         /* PFD_KIT_STREAM, seek > 0: first read this record; 0: none */
    int32_t rounds;            /* from open to close, >= 1; from 6 on, looks for leaks */
    int32_t num_threads;       /* in one source; above 1, some checks are left out */
    int32_t twice;             /* 1: every compute() is called twice, and has to agree */
    int32_t filler;            /* 1: every second record is marked as filler */
    int32_t unguarded;         /* 1: host->read() and host->alloc() give plain memory, for very
                                  many calls; findings are then only about results of calls */
    int32_t watch_globals;     /* 1: watch the plugin's global memory from the second round on */
    int32_t delays;            /* 1: threads wait for each other where the op calls the host or the
                                  C library: after a seek, a copy or an allocation */
    int32_t cancelled;         /* 1: is_cancelled() returns 1 */
    int64_t fail_read;         /* number of the read() that fails, from 1; 0: none */
    int64_t fail_alloc;        /* number of the alloc() that fails, from 1; 0: none */
    pfd_status fail_read_with; /* PFD_IO or PFD_CORRUPT_DATA */
    int32_t damaged_inputs;    /* n > 0: inputs of compute() get other bytes, in the n-th way */
    int64_t changed_draw;      /* number of the random_bits() that gives another number, from 1 */
    pfd_kit_draws draws;       /* the draws of compute() */
    int32_t generators;        /* PFD_KIT_NAME_GENERATORS | ... */
    int64_t clock_delay_s;     /* watch_state: seconds that the plugin's clocks are slow, >= 0 */
    int32_t other_variables;   /* watch_state: 1: variables of the environment that the plugin asks
                                  for are not set, and those that are not set are "1" */
} pfd_kit_options;

/* What the ranges that show a fault have in common. */
#define PFD_KIT_NO_PATTERN 0
#define PFD_KIT_PATTERN_BLOCKS 1 /* a rest of rows after the last whole block */
#define PFD_KIT_PATTERN_MANY 2   /* more rows than some number */
#define PFD_KIT_PATTERN_ONE 3    /* one row alone */

/* One fault of an op. */
typedef struct pfd_kit_finding {
    char id[32];     /* "reads-past-record", always the same for one kind of fault */
    char text[992];  /* the fault, the expectation, the remedy */
    int32_t pattern; /* PFD_KIT_NO_PATTERN ... */
} pfd_kit_finding;

typedef struct pfd_kit_result {
    uint32_t struct_size;
    pfd_status status;   /* of the first failure, if possible not PFD_CORRUPT_DATA */
    pfd_error error;     /* of the same failure */
    char function[16];   /* the function that failed: "open()" */
    int32_t injected;    /* 1: a failure that was asked for took place */
    int64_t num_records; /* records that were looked at; of a stream: yielded */
    int64_t size;        /* all records of the source; -1: a stream */
    int64_t num_failed;  /* records and rows that failed */
    int64_t num_reads, num_allocs; /* in the first round */
    int64_t num_findings;
    pfd_kit_finding findings[8]; /* the first findings, each id once */
    int64_t num_draws;           /* may be above options->draws.capacity */
    char generator[32]; /* the first of the system, or with an op's state: "rand_r"; "": none */
    char shared_position[256]; /* the file in which a thread moved the position that another had
                                  just set, "descriptor 7, /data/part-0"; "": none seen */
    int64_t num_clock_reads;   /* watch_state: by the plugin's code; -1: not known */
    int64_t num_accepted;      /* PFD_KIT_TYPES: how many shapes infer() has accepted */
    char variable[64];         /* watch_state: the first variable of the environment that the
                                  plugin asked for; "": none seen */
} pfd_kit_result;

/* Checks the op that makes a blob.  PFD_OK if the op could be called at all; *out then has what it
 * did.  One run at a time in a process. PFD_INVALID_ARGUMENT: an option is wrong.  PFD_UNSUPPORTED:
 * several readers are upstream. */
pfd_status pfd_kit_run(const pfd_blob *blob, const pfd_kit_options *options, pfd_kit_result *out,
                       pfd_error *err);

/* Watches infer(), companions() and propose() of an op while this process makes nodes of the op,
 * until the same thread calls pfd_kit_watch_end(). Borrows *options and *out until then; only
 * watch_state and the options of a crash count. */
pfd_status pfd_kit_watch_begin(const char *op, const pfd_kit_options *options, pfd_kit_result *out,
                               pfd_error *err);
void pfd_kit_watch_end(void);

/* Writes the paths of the files that the reader of a blob would read, in order, each with a NUL
 * after it, to `paths`, which has room for `size` bytes. *needed is the bytes of all paths; if
 * these are more than `size`, some paths are left out. */
pfd_status pfd_kit_files(const pfd_blob *blob, char *paths, int64_t size, int64_t *needed,
                         pfd_error *err);

/* The name of the i-th attr that the op of a blob declares, not counting the host's attrs; NULL
 * past the last. */
const char *pfd_kit_attr(const pfd_blob *blob, int64_t i);

/* ---- Benchmark of ops ---------------------------------------------------------------------------
 *
 * Calls the functions of a reader and of the ops after it as a loader would, on one thread, over
 * ranges of records, and times each part by itself.  What is measured is a window: the first
 * records of the dataset, as many as take a round's time, or all of them. */
typedef struct pfd_bench_options {
    uint32_t struct_size;
    int32_t rounds;   /* the best round counts; >= 1 */
    int64_t round_ns; /* the least time of a round, > 0 */
    int64_t window;   /* records to measure over, at most; 0: as many as take a round's time */
    int32_t shuffled; /* 1: in random order; the reader's attrs should ask for a shuffle, so that
                         the source has random access */
} pfd_bench_options;

/* What one part of the work costs a record. */
typedef struct pfd_bench_cost {
    double ns;
    double mallocs;      /* allocations from the C library; -1: they cannot be counted here */
    double malloc_bytes; /* bytes of these; -1: not known */
    double allocs;       /* calls of host->alloc() by compute(): they cost next to nothing */
    double alloc_bytes;
} pfd_bench_cost;

#define PFD_BENCH_MOST_OPS 32

typedef struct pfd_bench_result {
    uint32_t struct_size;
    int32_t num_ops; /* of the chain, the reader first */
    int64_t num_files;
    int64_t num_bytes;                    /* of all files */
    int64_t num_records;                  /* in the dataset; -1: a stream */
    int64_t range_rows;                   /* rows of one compute(), as many as a loader takes */
    int64_t window_records, window_bytes; /* measured records, and bytes of their data */
    uint64_t window_sum;   /* of that data as 64-bit words; each record's last word is filled
                              with 0 */
    double open_ns;        /* for the whole dataset: files, open(), index */
    pfd_bench_cost locate; /* the source's at(), or a stream's next() */
    pfd_bench_cost read;   /* touching each cache line of the data */
    pfd_bench_cost copy;   /* limit: memcpy() of the data, record by record */
    pfd_bench_cost sum;    /* limit: summing the data in place */
    const char *op_names[PFD_BENCH_MOST_OPS]; /* live as long as the process */
    pfd_bench_cost ops[PFD_BENCH_MOST_OPS];   /* compute() of each op */
} pfd_bench_result;

/* Measures the ops that some blobs depend on.  Takes 3 times the rounds.
 * PFD_UNSUPPORTED: several readers, more than PFD_BENCH_MOST_OPS ops, or a stream in random order.
 * PFD_CORRUPT_DATA: a record is damaged, or there is none. */
pfd_status pfd_bench_ops(const pfd_blob *blobs, int64_t num_blobs, const pfd_bench_options *options,
                         pfd_bench_result *out, pfd_error *err);

/* Records per second that a loader of the same blobs delivers, in the best round. */
pfd_status pfd_bench_loader(const pfd_blob *blobs, int64_t num_blobs,
                            const pfd_loader_options *loader_options,
                            const pfd_bench_options *options, double *records_per_second,
                            pfd_error *err);

/* cdef-end */

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
