/* pyflowdata/pyflowdata.h -- the C interface that the Python package binds.
 *
 *   pfd_op_*      walk the registry of ops
 *   pfd_format_*  walk the registry of file formats, and find the format of a file
 *   pfd_node_*    one use of an op: attrs and inputs checked, outputs inferred, nothing opened
 *   pfd_eager_*   one use of an op on rows that the program has
 *   pfd_loader_*  open the nodes that the wanted blobs need, and take batches
 *   pfd_crc32c, pfd_xxh64            checksums that formats use, for writers
 *   pfd_seal_*    seals: checksums of all bytes of files, in a file beside them
 *   pfd_stat_risk                    what lets another user change a file
 *   pfd_index_*                      the folder of indexes, and who may write into it
 *   pfd_shuffled                     the order of a shuffle, without a loader
 *   pfd_file_head, pfd_missing_file  how a file begins, and why a path stands for no file
 *   pfd_remote_*, pfd_fetch_*        files at addresses: what the host language knows of them, and
 *                                    the threads with which it fetches their blocks
 *   pfd_cached_*                     the files of the block cache
 *
 * OWNERSHIP    create/open return new objects for the matching release, which accepts NULL.
 *              A node holds references to the nodes of its inputs, a loader to all its nodes.
 *              A batch belongs to the caller until pfd_batch_release(), also after the loader is
 *              closed.
 * THREADS      Every function may be called from any thread.  A loader serves one next() at a time,
 *              further callers wait.  pfd_loader_close() and pfd_loader_release() wait for calls
 *              about the loader that other threads are in.
 * ERRORS       As in op.h.  On failure *out is unchanged.  The caller sets struct_size of a
 *              pfd_error before its first use.
 * BUILD        Unlike op.h, this interface holds within one build only: a program uses it with the
 *              library that was built from the same headers, and compares pfd_abi_version() before
 *              any other call.  The structs declared here are therefore read and written whole;
 *              their struct_size is set by whoever fills one in, and tells a debugger or a binding
 *              the size, it is not a version.  Structs of op.h (pfd_error, pfd_plugin, ...) keep
 *              the rules there: of a pfd_error no more is written than its struct_size says.
 * FORK         A loader belongs to the process that opened it.  In a forked child every call on it
 *              fails with PFD_UNSUPPORTED, and close and release do nothing.
 */
#ifndef PYFLOWDATA_H
#define PYFLOWDATA_H

#include "pyflowdata/op.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* cdef-begin */

/* A status besides those of op.h: a function of the program that an op or a reader called has
 * failed, or returned what it must not. `cause` of the error says which exception it was, if one is
 * known. */
#define PFD_USER_FUNCTION -8

/* ---- Registry -------------------------------------------------------------------------------- */

/* Python compares this number with its headers before it calls any other function. */
uint32_t pfd_abi_version(void);
const char *pfd_version(void);

/* What this build has in it, by name: "compiler", then "SIMD" with the instructions that are used
 * on this machine, then the libraries for compressed files and images.  *version is NULL for a
 * library that this build lacks; the name is NULL past the end. */
const char *pfd_build_part(int64_t i, const char **version);

/* PFD_INTERNAL: the descriptor of an op is faulty, and no op can be used; names op and field. */
pfd_status pfd_registry_check(pfd_error *err);

/* The ops in the order of the built-in list, as users see them; NULL past the end.  A reader has
 * the attrs of every reader after its own ones, and the outputs of pfd_host_output_at() last. */
const pfd_op *pfd_op_at(int64_t i);

/* Where the op comes from: "built in", the path of a plugin, or what pfd_plugin_add() was given.
 * NULL past the end. */
const char *pfd_op_origin(int64_t i);

/* The method of a data set that makes the op's view; NULL: the op is not a view. */
const char *pfd_op_method(int64_t i);

/* The outputs that every reader has after its own ones, which the loader fills in; NULL past the
 * end. */
const pfd_port *pfd_host_output_at(int64_t i);

/* Loads a plugin and adds its ops and formats after the others; if one is faulty, it adds none.
 * Loading a plugin again does nothing; no plugin is unloaded. `path` is the file itself. With
 * `replace` (0 or 1) its ops and formats take the places of other plugins' ops and formats of the
 * same name; nodes of the replaced ops stay. *out, unless out is NULL: the plugin, which lives as
 * long as the process; fields that the author's header lacks are zero. PFD_IO: the file cannot be
 * loaded. PFD_UNSUPPORTED: the plugin was made for another version of the interface or another
 * processor. PFD_INTERNAL: a descriptor is faulty; the error names the op or format, and the field.
 * PFD_INVALID_ARGUMENT: the file is not a plugin, or the name of an op or format is taken. */
pfd_status pfd_library_load(const char *path, int32_t replace, const pfd_plugin **out,
                            pfd_error *err);

/* Adds the ops and formats of a plugin that is in memory, under the same rules; the plugin must
 * stay there unchanged as long as the process lives. `origin` (copied) is what pfd_op_origin()
 * says. */
pfd_status pfd_plugin_add(const pfd_plugin *plugin, const char *origin, int32_t replace,
                          pfd_error *err);

/* Finds an op by any accepted spelling.  The error lists near names. */
pfd_status pfd_op_find(const char *name, const pfd_op **out, pfd_error *err);

/* ---- Formats --------------------------------------------------------------------------------- */

/* The file formats: those of the library in the order of its list, then those of plugins; NULL past
 * the end.  A format lives as long as the process, also after another one has replaced it. */
const pfd_format *pfd_format_at(int64_t i);

/* Where the format comes from, as pfd_op_origin() says it. */
const char *pfd_format_origin(int64_t i);

/* The format of a file, from what it begins with, as pfd_file_head() gives it: `size` bytes of
 * `data`, PFD_PROBE_BYTES where the file has them. `file_size`: bytes of the file if it is not
 * compressed, else -1. `path` is looked at for its suffix and what lies beside the file.
 * PFD_INVALID_ARGUMENT: the file is of no format, or text in UTF-16. PFD_CORRUPT_DATA: its name and
 * first bytes are those of a compressed file, and the rest of its header is damaged. PFD_IO: what
 * lies beside the file cannot be looked at, and no first bytes are those of a format. */
pfd_status pfd_format_detect(const char *path, const uint8_t *data, int64_t size,
                             int64_t file_size, const pfd_format **out, pfd_error *err);

/* The format of a folder that is one data set, found by probe_folder() (op.h); NULL: there is none.
 * PFD_IO: a folder in it cannot be read. */
pfd_status pfd_format_of_folder(const char *path, const pfd_format **out, pfd_error *err);

/* Where reading can go on in damaged bytes of the format with this name: what its resync() returns
 * (op.h), for 0 <= from <= size.  -1: there is no such format, or it has no resync(). */
int64_t pfd_format_resync(const char *name, const uint8_t *data, int64_t size, int64_t from);

/* "float32" for PFD_FLOAT32, and the bytes of one element; NULL and 0: there is no such dtype. */
const char *pfd_dtype_name(int32_t dtype);
int64_t pfd_dtype_size(int32_t dtype);

#define PFD_OVERFLOW_RAISE 0    /* stop at the element */
#define PFD_OVERFLOW_WRAP 1     /* the low bits (0 for NaN and infinity); floats: infinity */
#define PFD_OVERFLOW_SATURATE 2 /* the nearest value; 0 for NaN */

/* Copies the elements of n rows back to back. */
void pfd_copy_rows(const pfd_ragged_row *rows, int64_t n, int64_t element_bytes, void *to);

/* Sets splits[0 .. n] to the number of elements of the rows before each row, and of all rows. */
void pfd_split_rows(const pfd_ragged_row *rows, int64_t n, int64_t *splits);

/* Counts equal rows of bytes; row i is bytes [splits[i], splits[i + 1]) of `values`.  firsts[k] is
 * the first row that equals none before it, and counts[k] the number of rows that equal it, in the
 * order of `firsts`.  Both have room for n.  Returns how many rows differ; -1: out of memory. */
int64_t pfd_count_distinct(const uint8_t *values, const int64_t *splits, int64_t n,
                           int64_t *firsts, int64_t *counts);

/* Makes n rows of one dimension of elements that lie back to back at `values`: row i has elements
 * [splits[i], splits[i + 1]).  Nothing is copied. */
void pfd_place_rows(const void *values, int64_t element_bytes, const int64_t *splits, int64_t n,
                    pfd_ragged_row *rows);

/* Converts n elements of dtype `from` to dtype `to`, both aligned, not overlapping. Returns n, or
 * with PFD_OVERFLOW_RAISE the index of the first element that does not fit: the elements after it
 * are not converted.
 *
 * bool is 0 or 1; anything but 0 becomes true, NaN too. Integers become floats rounded to the
 * nearest, ties to even, and so do wider floats. Floats become integers by cutting the fraction
 * off. An overflow is what a dtype cannot hold after that: an integer outside its limits, a NaN or
 * an infinity for an integer dtype, a finite float that would become infinite. */
int64_t pfd_convert(int32_t from, const void *in, int32_t to, void *out, int64_t n,
                    int32_t overflow);

/* ---- Nodes ---------------------------------------------------------------------------------- */
typedef struct pfd_node pfd_node;

#define PFD_VALUE_BOOL 1
#define PFD_VALUE_INT 2
#define PFD_VALUE_FLOAT 3
#define PFD_VALUE_STRING 4
#define PFD_VALUE_LIST_INT 5
#define PFD_VALUE_LIST_FLOAT 6
#define PFD_VALUE_LIST_STRING 7

/* An attr's value as a user gave it.  An INT is accepted for a float attr, an empty list of any
 * kind for any list attr, nothing else is converted. */
typedef struct pfd_attr_value {
    const char *name;
    int32_t kind;     /* PFD_VALUE_* */
    int64_t i;        /* BOOL (0, 1), INT */
    double f;         /* FLOAT */
    const char *s;    /* STRING */
    const void *list; /* LIST_*: int64_t, double or const char * elements */
    int64_t list_size;
} pfd_attr_value;

/* One output of a node. */
typedef struct pfd_blob {
    pfd_node *node;
    int32_t output; /* index into the op's outputs */
} pfd_blob;

/* Checks attrs and inputs and infers the outputs.  All pointers are borrowed during the call.
 * `name` is the node's name, "" for none. */
pfd_status pfd_node_create(const char *op, const char *name, const pfd_attr_value *values,
                           int64_t num_values, const pfd_blob *inputs, int64_t num_inputs,
                           pfd_node **out, pfd_error *err);
void pfd_node_release(pfd_node *node);

/* The node's op, with the inputs and outputs that the node has; lives as long as the node. */
const pfd_op *pfd_node_op(const pfd_node *node);

/* The *n attrs that were left out, with the values that were inferred from the files, or their
 * defaults: a node with these values given is the same node. The values live as long as the
 * node. */
const pfd_attr_value *pfd_node_found(const pfd_node *node, int64_t *n);

/* *n texts, about parts of the records that the inferred attrs leave out; they live as long as the
 * node. */
const char *const *pfd_node_left_out(const pfd_node *node, int64_t *n);

/* The type of one row of a blob (a dimension of -1 varies), and the logical (global) batch size of
 * its reader. */
pfd_status pfd_blob_type(const pfd_blob *blob, pfd_row_type *type, int64_t *batch_size,
                         pfd_error *err);

/* The paths of the files of a reader, as found now, with a NUL after each: *size bytes for *n
 * paths; `out` gets the first `room` bytes. A reader that reads no files has none. Headers that
 * name further files are read. PFD_IO: files are missing. */
pfd_status pfd_node_files(const pfd_node *node, char *out, int64_t room, int64_t *size, int64_t *n,
                          pfd_error *err);

/* An op that a loader of some blobs runs. */
typedef struct pfd_planned_op {
    const pfd_node *node;
    const pfd_node *fused; /* the op before, whose work this op does as well; NULL: none */
    int32_t stage;         /* even: over ranges of rows; odd: once, over the whole batch */
    int32_t reserved;
} pfd_planned_op;

/* The ops that a loader of these blobs would run, in their order, without opening anything: *n of
 * them; `out` gets the first `room`. A node of a data set that several branches share is listed for
 * each branch. Nodes live as long as the blobs' nodes. Fails as pfd_loader_open() does with blobs
 * that do not go together. */
pfd_status pfd_planned_ops(const pfd_blob *blobs, int64_t num_blobs, pfd_planned_op *out,
                           int64_t room, int64_t *n, pfd_error *err);

/* A hash of the attrs of a node's own op, whether they were given or are defaults.  The names of
 * a view's fields do not count. */
uint64_t pfd_node_attrs_hash(const pfd_node *node);

/* ---- Ops on rows of the program ("eager") ---------------------------------------------------- */
typedef struct pfd_eager pfd_eager;

/* As pfd_node_create(), for an op that is not a reader; `inputs` are the types of the rows of each
 * input in later calls. */
pfd_status pfd_eager_create(const char *op, const char *name, const pfd_attr_value *values,
                            int64_t num_values, const pfd_row_type *inputs, int64_t num_inputs,
                            pfd_eager **out, pfd_error *err);
void pfd_eager_release(pfd_eager *eager); /* after all its calls are closed */

/* The op with its inputs and outputs, and the types of the outputs' rows; they live as long as
 * *eager. */
const pfd_op *pfd_eager_op(const pfd_eager *eager);
const pfd_row_type *pfd_eager_outputs(const pfd_eager *eager);

/* One call of the op, for one thread at a time; any number of them may be open. */
typedef struct pfd_eager_call pfd_eager_call;

/* A call with `rows` rows of each input; rows of a dense type need no shape, and are as large as
 * the type says. outputs[i]: memory for the rows of output i, back to back and aligned for its
 * dtype; not looked at where the output is ragged. All pointers are borrowed until the close.
 * Random numbers are those of a loader with this seed (-1: the call draws one) in this epoch, for
 * records from `ordinal` on. */
pfd_status pfd_eager_open(const pfd_eager *eager, const pfd_ragged_row *const *inputs,
                          int64_t rows, void *const *outputs, int64_t seed, int64_t epoch,
                          int64_t ordinal, pfd_eager_call **out, pfd_error *err);

/* Makes the outputs.  PFD_PENDING: timeout_ns passed first; call again, after a look for signals.
 * After a failure the call can only be closed; err->row is the row that failed, and
 * err->byte a place in that row of the first input. */
pfd_status pfd_eager_run(pfd_eager_call *call, int64_t timeout_ns, pfd_error *err);

/* For a ragged output, after pfd_eager_run() has returned PFD_OK: the first function writes the
 * shapes of the rows, ndim numbers each, and returns the number of elements of all rows; the second
 * copies these elements, row after row. */
int64_t pfd_eager_shapes(const pfd_eager_call *call, int32_t output, int64_t *shapes);
void pfd_eager_copy(const pfd_eager_call *call, int32_t output, void *values);

void pfd_eager_close(pfd_eager_call *call); /* accepts NULL */

/* ---- Loaders -------------------------------------------------------------------------------- */
typedef struct pfd_loader pfd_loader;

#define PFD_ZIP_STRICT 0   /* readers of different length are an error */
#define PFD_ZIP_SHORTEST 1 /* the shortest reader ends the epoch */

#define PFD_AUTO 2147483647 /* as num_threads or prefetch: adjusted while the loader runs */

typedef struct pfd_loader_options {
    uint32_t struct_size;
    int32_t num_threads;   /* >= 1; 0: as many as this process may use (affinity, cgroup) */
    int32_t prefetch;      /* batches in flight or ready, >= 1; 0: chosen from their size and the
                              number of threads; beyond what keeps these busy, at most as many
                              as an epoch has */
    int32_t zip;           /* PFD_ZIP_* */
    int64_t memory_budget; /* bytes of slots held by user and ring; 0: half of what the process
                              may use */
    int32_t share;         /* which one of every `num_shares` steps of an epoch this loader
                              delivers; from 0 */
    int32_t num_shares;    /* 0: it delivers all steps */
    int32_t has_peers;     /* 1: other processes may read the same rows, so a seed that is left
                              open is 0 and not drawn, also with a world_size of 1 */
    /* Called with NULL, again and again, while the main thread of the process pauses before it
     * tries a call of the system again.  1: a signal ends the pause, and the call fails. */
    int32_t (*is_interrupted)(void *unused);
} pfd_loader_options;

/* What was chosen at open.  With PFD_AUTO num_threads and prefetch are the current numbers, and so
 * is a prefetch of 0 for a stream, whose length is known at its end; all other fields are constant
 * while the loader lives. */
typedef struct pfd_loader_info {
    uint32_t struct_size;
    int32_t num_threads;
    int32_t prefetch;
    int32_t num_readers;
    int64_t memory_budget;
    int64_t slot_bytes;  /* memory of one batch, without the values of ragged blobs */
    int64_t num_batches; /* steps in an epoch, the same on every rank; -1: known only at its end */
    int64_t num_blobs;
    const int64_t *offsets; /* place of each blob, or of its pfd_ragged_batch, in a batch's memory;
                               lives as long as the loader */
} pfd_loader_info;

#define PFD_SEED_GIVEN 0   /* by the user, or by pfd_loader_set_seed() */
#define PFD_SEED_DRAWN 1   /* at open, for this loader */
#define PFD_SEED_DEFAULT 2 /* 0, because processes that draw their own seeds have other orders */

/* One reader of a loader. */
typedef struct pfd_reader_info {
    uint32_t struct_size;
    int32_t num_files;
    const char *name; /* node name, or the op's name and the reader's index in the loader */
    const char *op;
    const char *order_key; /* the key of its order besides seed and epoch */
    int64_t seed;          /* the seed in use, also where it was left open */
    int32_t seed_origin;   /* PFD_SEED_* */
    int64_t num_records;   /* -1: known only at the end of an epoch */
    int64_t num_bytes;     /* bytes of all files */
    int64_t batch_size;    /* logical */
    int64_t rank;
    int64_t world_size;
    uint64_t data_fingerprint; /* a hash of the files' names, sizes and sampled content */
    const char *spec; /* the attrs that decide the order, "name=value" one a line, '\n' between;
                         without the seed */
    const char *index_path; /* the file of its index; "": in memory, or there is none */
    int64_t index_bytes;    /* size of its indexes, in memory or mapped */
    int64_t index_ns;       /* time in which they were built or found */
    int64_t indexes_built;  /* indexes that were not in the cache */
    int64_t left_out;       /* records of an epoch that last_batch leaves out, of all ranks; -1: not
                               known, or not before the end of an epoch */
    const char *notice;     /* what users should be warned of, a sentence without its period a line;
                               "": nothing */
} pfd_reader_info;

/* One delivered batch. Blob i lies at memory + offsets[i] (pfd_loader_info): rows * row bytes,
 * C-contiguous, 64-byte aligned, writable; where it is ragged, a pfd_ragged_batch. */
typedef struct pfd_batch {
    void *memory; /* slot_bytes; for pfd_batch_release() */
    int64_t epoch;
    int64_t step; /* number in the epoch; -1: the batch is from pfd_loader_read() */
    int64_t rows; /* rows of this rank; may be 0 */
    int64_t first;  /* position in the epoch's order of this rank's first row; -1: from a stream */
    int64_t made;   /* positions that the rows were made of: `rows`, and those that on_error="skip"
                       left out */
    int64_t failed; /* records that on_error="skip" or "pad" left out or padded, without those that
                       only fill the batch */
} pfd_batch;

/* A ragged blob in a delivered batch: its elements, row after row. All its memory is writable, and
 * valid until the batch is released. Where only the first dimension of a row varies, row_splits
 * count in that dimension; else they count elements, and `shapes` is there. */
typedef struct pfd_ragged_batch {
    void *values;         /* C-contiguous, 64-byte aligned, nothing between rows */
    int64_t values_bytes; /* bytes of all rows */
    int64_t *row_splits;  /* rows + 1: row i is [row_splits[i], row_splits[i + 1]) */
    int64_t *shapes;      /* rows * ndim, or NULL */
} pfd_ragged_batch;

/* Counters since open, free to read at any time. */
typedef struct pfd_stats {
    uint32_t struct_size;
    int32_t slots;       /* allocated */
    int32_t slots_held;  /* slots in the user's hands */
    int32_t slots_ready; /* slots with a complete batch, not yet delivered */
    int64_t batches;     /* delivered */
    int64_t records;     /* delivered rows */
    int64_t bytes;       /* record data parsed */
    int64_t skipped;     /* records left out or padded after an error */
    int64_t left_out;    /* records that had no batch, as last_batch says, when epochs ended */
    int64_t wait_ns;     /* next() waited for other threads */
    int64_t help_ns;     /* next() worked itself */
    int64_t thread_ns;   /* lifetime of the pool's threads, summed over threads */
    int64_t idle_ns;     /* part of thread_ns without work */
    int64_t slot_bytes;  /* memory of all slots, ragged values included */
    int64_t read_bytes;  /* bytes read from files that are not mapped, also to index them */
    int64_t retries;     /* calls of the system that were tried again, as on a network */

    /* Threads of the pool, summed up; 0 where the system does not say. */
    int64_t cpu_ns;       /* time in which they computed */
    int64_t runnable_ns;  /* time in which they waited for a processor */
    int64_t major_faults; /* how often they waited for a page of a mapped file */

    /* Steps: what lies between two batches that a program takes. The first batch of an epoch, and
     * the first one after open or a seek, is a start and counts apart. */
    int64_t now_ns;        /* when these numbers were taken, or the loader was closed; as all
                              moments, on the monotonic clock */
    int64_t opened_ns;     /* when the loader was opened */
    int64_t asked_ns;      /* when the program asked for the latest batch; 0: never */
    int64_t delivered_ns;  /* when the program got a batch, or asked for it if it was complete then;
                              before asked_ns: the program waits */
    int64_t batches_made;  /* complete, also those not delivered */
    int64_t starts;        /* batches that were starts */
    int64_t start_ns;      /* time that next() took for them, and to end the epochs before */
    int64_t steps;         /* the other batches */
    int64_t waited_steps;  /* steps whose batch was not complete when it was asked for */
    int64_t step_wait_ns;  /* time from the question for those that waited to their batch */
    int64_t step_train_ns; /* time from the batch before each step to the question for its batch */
    int64_t no_memory_ns;  /* time in which memory_budget let no further batch start */

    int64_t processors;     /* processors that this process may use: CPU affinity, cut by the
                               cgroup's quota */
    int64_t process_cpu_ns; /* time in which threads of this process computed, since the open */
    int64_t throttled_ns;   /* time in which the cgroup's quota was used up, since the open; 0:
                               there is no quota */

    /* The wall clock of the thread that calls next(), from the first question for a batch to the
     * latest batch, is the sum of wait_ns, help_ns and these. */
    int64_t lock_ns;     /* waited for the interpreter's lock, after the library had returned */
    int64_t check_ns;    /* looked at the files of batches */
    int64_t turn_ns;     /* ended epochs, and made their first batches arrays */
    int64_t hand_out_ns; /* the rest of next(): took batches out of the ring, made them arrays */
    int64_t convert_ns;  /* iterators around that of the loader made something else of batches */
    int64_t outside_ns;  /* the program, from a batch to the question for the next one */
    int64_t between_ns;  /* the program, from the end of an epoch to the next question */

    int64_t step_next_ns; /* time of next() for steps, all of it */
    int64_t file_checks;  /* looks at all files by a thread of the pool, once an epoch or so */

    /* Of all programs, since the open; 0 where the system does not say. */
    int64_t machine_cpu_ns; /* time in which the processors that this process may use computed */
    int64_t pressure_ns;    /* time in which any thread of the machine waited for a processor */
} pfd_stats;

/* When the caller of pfd_loader_next() did what, on the monotonic clock: the loader counts its time
 * by these.  0: as if it took no time.  Written by the thread that calls pfd_loader_next(), between
 * its calls. */
typedef struct pfd_caller {
    int64_t asked_ns;     /* it was asked for a batch; pfd_loader_next() sets it to 0 */
    int64_t took_ns;      /* it had the interpreter's lock again, after pfd_loader_next() */
    int64_t made_ns;      /* it gave the batch to the program */
    int64_t converted_ns; /* an iterator around it did */
} pfd_caller;

#define PFD_WORK_OP 0      /* compute() of an op, or of two that are fused */
#define PFD_WORK_RECORDS 1 /* finding the records of rows: order, views, index */
#define PFD_WORK_READ 2    /* reading the records of a stream, in sequence */
#define PFD_WORK_JOIN 3    /* joining ragged rows */

/* A row range that took long, and its record with the most bytes. */
#define PFD_MOST_SLOWEST 5
typedef struct pfd_slow_range {
    int64_t ns;     /* of the range, through all ops of its stage */
    int64_t rows;   /* of the range */
    int64_t reader; /* the record's, and its file and number there */
    int64_t file;
    int64_t ordinal;
    int64_t bytes;  /* of the record */
} pfd_slow_range;

/* What threads did for one op, or for one stage of the loader itself, since open, estimated from
 * the row ranges that were measured.  Work that waits, for the interpreter's lock or for a file,
 * has more wall_ns than cpu_ns; so has all work where threads wait for processors. */
typedef struct pfd_work_stats {
    uint32_t struct_size;
    int32_t kind;          /* PFD_WORK_* */
    int32_t reader;        /* index of the first reader upstream; -1: PFD_WORK_JOIN */
    int32_t is_whole;      /* 1: an op over the whole batch, which one thread does */
    const char *op;        /* name of the op; a reader's, unless PFD_WORK_OP; "": PFD_WORK_JOIN */
    const char *name;      /* name of the node; "": it has none */
    const char *fused_op;  /* name of the op whose work this op does as well; "": none */
    int64_t rows;
    int64_t ranges;          /* row ranges */
    int64_t measured_ranges; /* row ranges that were measured */
    int64_t wall_ns;         /* summed over threads */
    int64_t cpu_ns;
    int64_t help_ns; /* the part of wall_ns in next() */
    int64_t lock_ns; /* the part in which calls waited to take the interpreter's lock */
    int32_t num_slowest, reserved;
    pfd_slow_range slowest[PFD_MOST_SLOWEST]; /* those in which this op took the longest, the
                                                 slowest first */
    pfd_slow_range largest; /* of records of this reader; 0 bytes: none */
    int64_t elements, padded; /* elements of the rows that an op padded, and how many of them are
                               * padding */
} pfd_work_stats;

/* What a thread of a loader does at this moment.  The thread goes on meanwhile: some numbers may
 * belong to a range and others to the next one. */
typedef struct pfd_thread_now {
    uint32_t struct_size;
    int32_t system_id;     /* the thread's number, as in /proc/self/task; 0: the program's thread */
    int32_t work;          /* index for pfd_loader_get_work(); -1: nothing */
    int32_t reader;        /* index of the reader of its records */
    int64_t count;         /* row ranges that it began: while the count stays, so does the range */
    int64_t epoch, step;   /* the batch's */
    int64_t num_rows;      /* rows of the range */
    int64_t file;          /* file of the range's first record; -1: not known yet */
    int64_t first_ordinal; /* number of the range's first record */
    int64_t last_ordinal;  /* number of the range's last record */
} pfd_thread_now;

/* What a loader did between two moments. */
typedef struct pfd_period {
    int64_t batches; /* delivered batches */
    int64_t rows;    /* rows of these batches */
    int64_t wait_ns; /* time that next() took for these batches */
    int64_t ready;   /* complete batches in front of each delivered one, summed up */
} pfd_period;

#define PFD_MOST_PERIODS 256
#define PFD_DURATIONS 48

/* The course of a loader since its first batch was asked for, of bounded size. */
typedef struct pfd_history {
    uint32_t struct_size;
    int32_t num_periods;
    int64_t begin_ns;  /* when the first period began, on the monotonic clock */
    int64_t period_ns; /* doubles, and periods are joined in pairs, when they are too many */
    pfd_period periods[PFD_MOST_PERIODS];
    /* Steps by duration: waits[i] and trains[i] count those of at least 2^i ns, below 2^(i+1). */
    int64_t waits[PFD_DURATIONS];  /* durations of next(), for the steps that waited */
    int64_t trains[PFD_DURATIONS]; /* times from one batch to the question for the next */
} pfd_history;

/* The latest batches that next() gave, so that ranks can be compared step by step. */
#define PFD_MOST_MOMENTS 256
typedef struct pfd_moment {
    int64_t asked_ns, delivered_ns; /* on the monotonic clock */
    int64_t is_start; /* 1: what was before is no step: the batch is the first one of an epoch, or
                         after a seek */
} pfd_moment;

typedef struct pfd_moments {
    uint32_t struct_size;
    int32_t reserved;
    int64_t count; /* batches since the open; batch i is at i % PFD_MOST_MOMENTS */
    pfd_moment batches[PFD_MOST_MOMENTS];
} pfd_moments;

/* What a thread did, or the state of a slot.  A thread's events lie one after the other, or one
 * inside the other. */
#define PFD_TRACE_RANGE 0      /* a range of rows through a stage, or the read of a stream */
#define PFD_TRACE_WORK 1       /* in it: an item of work, of num_rows rows */
#define PFD_TRACE_IDLE 2       /* a thread of the pool waited for work */
#define PFD_TRACE_NEXT 3       /* next(), from the question to the batch; `item`: system_id */
#define PFD_TRACE_WAIT 4       /* next() waited for other threads */
#define PFD_TRACE_SLOT_FILLS 5 /* from here on, slot `item` is being filled with a batch; */
#define PFD_TRACE_SLOT_READY 6 /* has it, complete; */
#define PFD_TRACE_SLOT_HELD 7  /* is in the user's hands; */
#define PFD_TRACE_SLOT_FREE 8  /* has no batch, or one that is not wanted any more; */
#define PFD_TRACE_SLOT_GONE 9  /* is freed */

typedef struct pfd_trace_event {
    int64_t begin_ns;    /* on the monotonic clock; it may be before the start of the trace */
    int64_t end_ns;      /* 0: it had not ended when the trace was stopped */
    int64_t epoch, step; /* the batch's; -1: none */
    int64_t first_row;   /* first row of the range, in its batch */
    int64_t num_rows;
    int64_t file;        /* file of the range's first record, as in pfd_thread_now; -1: not known */
    int64_t ordinal;
    int32_t reader;      /* index of the file's reader */
    int32_t kind;        /* PFD_TRACE_* */
    int32_t item;        /* item of work; in a range, the last one; -1: none */
    int32_t track;       /* the track, if the event has not ended */
} pfd_trace_event;

typedef struct pfd_trace_info {
    uint32_t struct_size;
    int32_t num_tracks;     /* the threads of the pool, then the one in next(), then the slots */
    int64_t begin_ns, end_ns;           /* the trace's bounds, on the monotonic clock */
    int64_t begin_unix_ns, end_unix_ns; /* the same moments since 1970 */
    int64_t dropped;        /* events for which there was no room */
} pfd_trace_info;

#define PFD_TUNE_MORE_THREADS 0  /* the program waited, and threads were busy */
#define PFD_TUNE_FEWER_THREADS 1 /* the program waited, and threads may have been too many */
#define PFD_TUNE_MORE_PREFETCH 2 /* the program waited, and threads were idle at other times */
#define PFD_TUNE_IDLE_THREADS 3  /* the program did not wait, and threads were idle */
#define PFD_TUNE_AGAIN 4         /* threads that were given back are used again: it waited */
#define PFD_TUNE_LESS_PREFETCH 5 /* the program waits, and has more batches ahead than usual */
#define PFD_TUNE_KINDS 6

#define PFD_TUNE_TRYING 0
#define PFD_TUNE_KEPT 1
#define PFD_TUNE_TAKEN_BACK 2

/* One change of num_threads or prefetch by a loader itself. */
typedef struct pfd_decision {
    uint32_t struct_size;
    int32_t kind;    /* PFD_TUNE_MORE_THREADS ... */
    int32_t outcome; /* PFD_TUNE_TRYING ... */
    int32_t from_threads, to_threads, from_prefetch, to_prefetch;
    int64_t at_ns; /* when it was tried, on the monotonic clock */
    double batches_per_s_before, batches_per_s_after; /* made; after: 0 while it is tried */
    double wait_before, wait_after; /* shares of the time in which the program waited */
} pfd_decision;

#define PFD_TUNING_MEASURING 0 /* too little is known yet */
#define PFD_TUNING_TRYING 1    /* a change is tried */
#define PFD_TUNING_CALM 2      /* the program does not wait */
#define PFD_TUNING_TRIED 3     /* it waits; what could help gained nothing, and is tried again */
#define PFD_TUNING_COMPUTING 4 /* it waits; threads compute all the time; no processor is free */
#define PFD_TUNING_AT_MOST 5   /* it waits; there are as many threads and batches as there may be */
#define PFD_TUNING_SEQUENTIAL 6 /* it waits although threads are idle: they have no work */

#define PFD_KEPT_DECISIONS 64

/* How a loader with PFD_AUTO adjusts itself. */
typedef struct pfd_tuning_info {
    uint32_t struct_size;
    int32_t state;                        /* PFD_TUNING_* */
    int32_t tunes_threads, tunes_prefetch; /* PFD_AUTO was given */
    int32_t num_threads, prefetch;
    int32_t most_threads, most_prefetch;
    int64_t num_decisions;      /* since open; the last PFD_KEPT_DECISIONS are kept */
    double wait, idle, blocked; /* recent shares, as pfd_decision and of the threads' time */
    double in_line;             /* the share of it in which work waited for a processor */
} pfd_tuning_info;

pfd_status pfd_loader_open(const pfd_loader_options *options, const pfd_blob *blobs,
                           int64_t num_blobs, pfd_loader **out, pfd_error *err);
/* Ends the calls that need the loader open: next(), seek(), read(), set_seed(), file(),
 * first_record() and locate() are PFD_CANCELLED from now on.  Waits for the calls of that kind that
 * other threads are in, stops the threads, within the time of one row range or one next() of a
 * stream, and closes the files.  The other calls may still be made.  Batches in the user's hands
 * stay valid.  No op may call this function. */
void pfd_loader_close(pfd_loader *loader);
/* Closes and gives up the loader; its memory goes with the last batch. Accepts NULL. From inside an
 * op, where a garbage collector may call it, the function returns at once, and a thread does the
 * work: a pool cannot wait for the thread that calls. */
void pfd_loader_release(pfd_loader *loader);

/* PFD_OK, always. */
pfd_status pfd_loader_get_info(const pfd_loader *loader, pfd_loader_info *out);
/* Reader i of the loader; its strings live as long as the loader.  PFD_INVALID_ARGUMENT, *out
 * unchanged: there is no reader i. */
pfd_status pfd_loader_get_reader(const pfd_loader *loader, int32_t i, pfd_reader_info *out);
/* Path of file i of a reader, as its blob "id" numbers them: *size bytes with its NUL; `out` gets
 * the first `room` of them.  PFD_END: there is no such file.  PFD_CANCELLED: the loader is
 * closed. */
pfd_status pfd_loader_file(const pfd_loader *loader, int32_t reader, int64_t i, char *out,
                           int64_t room, int64_t *size, pfd_error *err);
/* Bytes of the readers' remote files that the cache does not have now: in blocks that the rest of
 * the epoch reads, or, as long as those are not planned, in whole files; 0 of a closed loader. */
int64_t pfd_loader_missing_bytes(const pfd_loader *loader);
/* The number, as in "id", of the first record in file i or those after it, of a reader whose
 * records are in the order of its files; the number of records where there is none.
 * PFD_CANCELLED as above. */
pfd_status pfd_loader_first_record(const pfd_loader *loader, int32_t reader, int64_t i,
                                   int64_t *ordinal, pfd_error *err);
/* Sets file, line, byte and ordinal of *place to those of the record with an "id".
 * PFD_CANCELLED as above. */
pfd_status pfd_loader_locate(const pfd_loader *loader, int32_t reader, int64_t file,
                             int64_t ordinal, pfd_error *place);
/* The counters of this moment.  PFD_UNSUPPORTED, *out unchanged: the loader was opened before a
 * fork of this process. */
pfd_status pfd_loader_get_stats(const pfd_loader *loader, pfd_stats *out);
/* The moments of the caller of next(); they live as long as the loader. */
pfd_caller *pfd_loader_caller(pfd_loader *loader);
/* Item i of the work of a loader, also after close(); strings live as long as the loader. PFD_END:
 * there is no item i.  PFD_UNSUPPORTED as above. */
pfd_status pfd_loader_get_work(const pfd_loader *loader, int32_t i, pfd_work_stats *out);
/* Thread i of a loader; after those of the pool comes the one that is in next(), whose system_id is
 * 0.  PFD_END: there are no more, or the loader is closed.  PFD_UNSUPPORTED as above. */
pfd_status pfd_loader_get_thread(const pfd_loader *loader, int32_t i, pfd_thread_now *out);
/* Says in text[room] what thread i did when pfd_loader_get_thread() gave `now`, which is not idle:
 * "thread 0 of 2 has been DOING for DURATION, on 4 rows, records 40 to 43 of data/part-000".  What
 * does not fit is cut; the text ends with a 0.  PFD_END, PFD_UNSUPPORTED as above. */
pfd_status pfd_loader_tell_thread(const pfd_loader *loader, int32_t i, const pfd_thread_now *now,
                                  const char *doing, const char *duration, char *text,
                                  int64_t room);
/* From now on, until close(), a thread of the library looks at the loader.  If next() does not
 * return while no thread can have the interpreter's lock for patience_ns, or a second if that is
 * more, it writes to stderr what the loader's threads do.  doing: for each item of work, in words.
 * PFD_OUT_OF_MEMORY: it has no memory, or the system starts no thread. */
pfd_status pfd_loader_watch(pfd_loader *loader, int64_t patience_ns, const char *const *doing,
                            pfd_error *err);
/* The caller, which has the interpreter's lock, will ask for it again in this number of ns; below
 * 0: it will not. If it is late, the library knows that the lock is not free. */
void pfd_watch_expect(int64_t ns);
/* A signal that the library sends to a thread of its own when it has written such a report, for a
 * handler that writes the stacks of Python's threads; 0: none, or no loader is watched. */
int32_t pfd_watch_signal(void);
/* Handles SIGTERM and SIGHUP where they have no handler, and waits until one of them comes: returns
 * its number.  The process ends by it at pfd_ending_end(), after 5 s, or at a second one.  0: they
 * all have a handler, or are ignored.  One call at a time. */
int32_t pfd_ending_wait(void);
void pfd_ending_end(void);
/* With 1: the batches that follow are not for the program's work, as when a loader is measured.
 * With 0: counters of steps and history are again as they were at the call with 1. Calls may be
 * nested. PFD_OUT_OF_MEMORY: the call with 1 has no effect, and needs no call with 0.
 * PFD_UNSUPPORTED as above. */
pfd_status pfd_loader_pause_counts(pfd_loader *loader, int32_t is_paused, pfd_error *err);
/* PFD_UNSUPPORTED as above. */
pfd_status pfd_loader_get_history(const pfd_loader *loader, pfd_history *out);
/* PFD_UNSUPPORTED as above. */
pfd_status pfd_loader_get_moments(const pfd_loader *loader, pfd_moments *out);

/* Starts a trace of events in up to `bytes` of memory.  PFD_INVALID_ARGUMENT: a trace is on.
 * PFD_CANCELLED: the loader is closed.  Any thread may call the four trace functions. */
pfd_status pfd_loader_trace_start(pfd_loader *loader, int64_t bytes, pfd_error *err);
/* Stops the trace that is on; *out describes the latest trace.  PFD_END: there is none. */
pfd_status pfd_loader_trace_stop(pfd_loader *loader, pfd_trace_info *out);
/* Copies the first events of a track of the stopped trace; *count is how many there are.  Track
 * num_tracks has those that had not ended.  PFD_END: there is no such track. */
pfd_status pfd_loader_trace_read(pfd_loader *loader, int32_t track, pfd_trace_event *out,
                                 int64_t room, int64_t *count);
/* Frees the memory of stopped traces; while a thread still writes or reads a trace, its memory is
 * freed at the next call. */
void pfd_loader_trace_drop(pfd_loader *loader);
/* How the loader adjusts itself, also after close().  PFD_END: without PFD_AUTO.  PFD_UNSUPPORTED
 * as above. */
pfd_status pfd_loader_get_tuning(const pfd_loader *loader, pfd_tuning_info *out);
/* The i-th of the kept decisions, the earliest first.  PFD_END: there is none.  PFD_UNSUPPORTED as
 * above. */
pfd_status pfd_loader_get_decision(const pfd_loader *loader, int64_t i, pfd_decision *out);

/* Makes (epoch, step) the next batch; cheap if it already is the next one. PFD_PENDING: work in
 * flight has not ended yet; call again, after a look for signals. */
pfd_status pfd_loader_seek(pfd_loader *loader, int64_t epoch, int64_t step, pfd_error *err);

/* Uses `seed` for reader i from the next seek on: restores a drawn seed. */
pfd_status pfd_loader_set_seed(pfd_loader *loader, int32_t i, int64_t seed, pfd_error *err);

/* The next batch, in order.  PFD_END at the end of an epoch (the next call begins the following
 * one); PFD_PENDING when timeout_ns passed first.  After PFD_CORRUPT_DATA without a reason the
 * failed batch is skipped, and the next call goes on after it; after other errors the next call
 * tries it again. */
pfd_status pfd_loader_next(pfd_loader *loader, int64_t timeout_ns, pfd_batch *out, pfd_error *err);

/* One batch of the rows at `n` positions of an epoch's order, in any order and with repeats, made
 * on the calling thread. The call changes neither where the loader is nor the batches that it
 * makes. Rows are counted over all ranks. For readers with random access; n is at most the rows of
 * a batch on this rank. out->step is -1. PFD_PENDING: another call, or work in flight, has not
 * ended yet; call again. */
pfd_status pfd_loader_read(pfd_loader *loader, int64_t epoch, const int64_t *positions, int64_t n,
                           pfd_batch *out, pfd_error *err);

/* Gives a batch back. */
void pfd_batch_release(void *memory);

/* A hash of the attrs outside its spec, such as the weights of a mix, that decided the rows of
 * reader i before batch `step` of `epoch`.  0: none did. */
uint64_t pfd_loader_get_past(const pfd_loader *loader, int32_t i, int64_t epoch, int64_t step);

/* The error of the i-th kept record that on_error="skip" or "pad" left out since open, in order of
 * delivery; PFD_END, *out unchanged, past the last one.  The latest 1000 are kept, at most 100 of
 * one batch; the statistics count all.  PFD_UNSUPPORTED as for pfd_loader_get_stats(). */
pfd_status pfd_loader_get_skipped(const pfd_loader *loader, int64_t i, pfd_error *out);

/* ---- Objects of a program as sources --------------------------------------------------------- */

/* One more type of attrs, int64_t: the number by which the language of the program knows one of its
 * objects; required, and no part of a state. The number says nothing to an op: a built-in reader
 * gives it back to the functions below. So plugins cannot use the type. */
#define PFD_ATTR_OBJECT 13

/* An array of the program, such as a column of lengths, that is the object of an attr.  Or an Arrow
 * table: the addresses, as int64, of a pfd_exported_schema and of the pfd_exported_array of each
 * chunk, which are all borrowed. */
typedef struct pfd_table {
    const void *data; /* borrowed until pfd_table_drop() */
    int64_t count;    /* elements */
    int32_t dtype;    /* PFD_INT64 ...; 0 of an Arrow table */
    int32_t is_arrow;
    uint64_t fingerprint; /* a hash of the contents; a state has it; 0 of a new Arrow table */
    int64_t rule; /* version of the rule that computed it; a state has it; 0: it has none */
} pfd_table;

/* Makes a copy of *table known to ops as the object with this number, before a loader opens. */
pfd_status pfd_table_put(int64_t number, const pfd_table *table, pfd_error *err);
void pfd_table_drop(int64_t number); /* a number without a table is left alone */

/* An epoch with this number of records or more counts as one without end (1 << 50): repeat() makes
 * up to 1 << 62, and views of the result, such as windows, have fewer. */
#define PFD_ENDLESS 1125899906842624

/* pfd_op.flags, not for plugins: the op is a view of data sets (csrc/dataset/view.h). */
#define PFD_VIEW 1073741824u

/* pfd_op.flags of readers, not for plugins: if the files exist, propose() is called even if no attr
 * was left out, to see whether the attrs fit the files. It returns PFD_INVALID_ARGUMENT if they do
 * not; other failures are left to open(). */
#define PFD_CHECKS_FILES 536870912u

/* pfd_op.flags, not for plugins: a call of compute() costs as much as some rows do, as one that
 * enters Python: a range has 16 rows or more, unless they are large. */
#define PFD_COSTLY_CALLS 268435456u

/* compute() takes the interpreter's lock first, and then calls pfd_lock_taken(). */
#define PFD_TAKES_LOCK 134217728u
void pfd_lock_taken(void);

/* CPython's functions by which a thread of a pool frees its own thread state before it ends:
 * PyGILState_GetThisThreadState, Py_IsFinalizing, PyGILState_Ensure, PyGILState_Release.  Without
 * the interpreter's lock, another thread would free the state at a later callback, when a new
 * thread may have its memory.  Call it once, before a pool is made. */
void pfd_thread_states(void *(*found)(void), int32_t (*is_ending)(void), int32_t (*ensure)(void),
                       void (*release)(int32_t));

/* In pfd_attr.flags, of views and of readers of files, not for plugins: the attr is not part of a
 * state's spec, so it may differ in a program that loads the state.  If a view decides rows by the
 * attr, its past() tells what was decided; a reader reads the same records with any value. */
#define PFD_NOT_IN_SPEC 1099511627776u /* 1 << 40 */

/* The functions of the program's language for readers whose source is one of its objects.  open()
 * is given the wanted fields of a sample: keys, and types of rows.  A record is then
 *
 *     int64 0, and for each field: where its type has a dimension of -1, all dimensions as int64;
 *     its elements; bytes up to a multiple of 8
 *     int64 1, a uint64 and a text, in place of a sample that is damaged: err->cause and what is
 *     wrong with it
 *
 * at an address that is a multiple of 8.  `session` is what open() made of the object.  The other
 * functions are those of pfd_source_methods; at() is called by several threads at once. */
typedef struct pfd_object_fields {
    uint32_t struct_size;
    int32_t reserved;
    int64_t size;
    const char *const *keys;
    const pfd_row_type *types;
} pfd_object_fields;

typedef struct pfd_object_source {
    uint32_t struct_size;
    int32_t reserved;
    pfd_status (*check)(int64_t object, pfd_error *err); /* whether it can be a source */
    pfd_status (*open)(int64_t object, const pfd_object_fields *fields, int32_t is_concurrent,
                       const pfd_host *host, int64_t *session, int64_t *num_records,
                       pfd_error *err); /* *num_records -1: a stream */
    pfd_status (*at)(int64_t session, const int64_t *ordinals, int64_t n, const pfd_host *host,
                     pfd_scratch *scratch, pfd_record *out, pfd_error *err);
    pfd_status (*next)(int64_t session, int64_t max, const pfd_host *host, pfd_scratch *scratch,
                       pfd_record *out, int64_t *n, pfd_error *err);
    pfd_status (*seek)(int64_t session, int64_t epoch, int64_t position, const pfd_host *host,
                       pfd_scratch *scratch, pfd_error *err);
    void (*close)(int64_t session);
} pfd_object_source;

/* Sets these functions before any such reader is made. The struct must live as long as the
 * process. A reader that another thread makes at the same time sees the former struct or this one
 * as a whole. */
void pfd_object_source_set(const pfd_object_source *source);

/* ---- Trust ------------------------------------------------------------------------------------
 * What lets a user other than this one and root change a file, or what lies in a folder, with these
 * values of stat(): "it belongs to another user" or the like, a static text; NULL: nothing does. */
const char *pfd_stat_risk(uint32_t uid, uint32_t gid, uint32_t mode);

/* ---- The folder of indexes ---------------------------------------------------------------------
 * Indexes are there, and what the program computes of all records.  The environment decides, see
 * docs/concepts/indexes.md; any thread may ask, unless another one changes the environment.
 *
 * Writes the path for a value of the attr index_dir, with a NUL; "": files are kept nowhere, or the
 * path is longer than `room` bytes. */
void pfd_index_folder(const char *index_dir, char *out, int64_t room);

/* Whether the users of the folder trust each other, so that each uses the files of all. */
int32_t pfd_index_is_shared(void);

/* 1: another user could replace files in such a folder; writes a clause that says so and what to
 * do, of at most `room` bytes with the NUL.  0: there is no such user, or no folder. */
int32_t pfd_index_folder_risk(const char *folder, char *out, int64_t room);

/* ---- Checksums --------------------------------------------------------------------------------
 * CRC-32C (Castagnoli) of data[0, size), as it is: 0xe3069283 of "123456789".  `data` may be
 * NULL where size is 0. */
uint32_t pfd_crc32c(const void *data, int64_t size);

/* XXH64 of data[0, size), with the seed 0: 0xef46db3751d8e999 of no bytes, where `data` may be
 * NULL. */
uint64_t pfd_xxh64(const void *data, int64_t size);

/* XXH3-128 of data[0, size), with the seed 0, as 16 bytes, the most significant one first:
 * 99aa06d3014798d86001c324468d497f of no bytes, where `data` may be NULL. */
void pfd_xxh128(const void *data, int64_t size, uint8_t *digest);

/* The records at positions [begin, begin + count) of an epoch of n records, 0 <= n <= 2^62, in the
 * order of a reader with random_shuffle and this seed and order_key; in O(1) memory.  The positions
 * are in [0, n), and records[] has room for count numbers. */
void pfd_shuffled(int64_t seed, int64_t epoch, const char *order_key, int64_t n, int64_t begin,
                  int64_t count, int64_t *records);

/* ---- Seals ------------------------------------------------------------------------------------
 * A seal has a checksum of each block of a file, or of each file of a folder; files/seal.h has its
 * layout.  It lies beside the file or folder, and its name is that with pfd_seal_suffix() added. */
typedef struct pfd_seal pfd_seal;

/* Facts of a seal. */
typedef struct pfd_seal_facts {
    int64_t files, bytes; /* bytes of all files together */
    int64_t records;      /* -1: they were not counted */
    int64_t block_bytes;  /* the unit of the checksums */
    uint8_t root[16];     /* a digest of everything in the seal */
} pfd_seal_facts;

const char *pfd_seal_suffix(void); /* ".pfdseal" */

/* Reads all bytes of the file `path` (n 0), or of n files below the folder `path`, whose names are
 * sorted by their bytes.  PFD_IO: one of them cannot be read, or changes meanwhile. */
pfd_status pfd_seal_make(const char *path, const char *const *names, int64_t n, int64_t records,
                         pfd_seal **out, pfd_error *err);

/* Reads the seal of a file or folder.  PFD_IO: there is none.  PFD_CORRUPT_DATA: it is damaged. */
pfd_status pfd_seal_open(const char *path, pfd_seal **out, pfd_error *err);
void pfd_seal_release(pfd_seal *seal);

/* The bytes of the file to write; they live as long as the seal. */
const void *pfd_seal_image(const pfd_seal *seal, int64_t *size);
void pfd_seal_facts_of(const pfd_seal *seal, pfd_seal_facts *out);

/* The name of a file below the folder, "" of the file itself; NULL past the last. */
const char *pfd_seal_file_name(const pfd_seal *seal, int64_t i);

/* Compares file i of the seal of `path`, from the byte `from` on.  PFD_OK: the bytes [*begin, *end)
 * differ, are missing, or are too many.  PFD_END: no further bytes do.  PFD_IO: the file cannot be
 * read. */
pfd_status pfd_seal_find_damage(const pfd_seal *seal, const char *path, int64_t i, int64_t from,
                                int64_t *begin, int64_t *end, pfd_error *err);

/* ---- Arrow ------------------------------------------------------------------------------------
 * The structs of the Arrow C data and stream interfaces, whose fields these are:
 * https://arrow.apache.org/docs/format/CDataInterface.html.  Python fills them in; what releases
 * them is in C, because a consumer may call it in any thread and while an exception is raised.
 *
 * OWNERSHIP  private_data is a Python object, of which the struct has one reference. */
typedef struct pfd_exported_schema {
    const char *format, *name, *metadata;
    int64_t flags, n_children;
    struct pfd_exported_schema **children, *dictionary;
    void (*release)(struct pfd_exported_schema *schema);
    void *private_data;
} pfd_exported_schema;

typedef struct pfd_exported_array {
    int64_t length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    struct pfd_exported_array **children, *dictionary;
    void (*release)(struct pfd_exported_array *array);
    void *private_data;
} pfd_exported_array;

typedef struct pfd_exported_stream {
    int (*get_schema)(struct pfd_exported_stream *stream, pfd_exported_schema *out);
    int (*get_next)(struct pfd_exported_stream *stream, pfd_exported_array *out);
    const char *(*get_last_error)(struct pfd_exported_stream *stream);
    void (*release)(struct pfd_exported_stream *stream);
    void *private_data;
} pfd_exported_stream;

/* A row group of a file: its rows, and about where its bytes begin. */
typedef struct pfd_row_group {
    int64_t rows, offset;
} pfd_row_group;

/* How a file stores the bounds of a leaf; numbers are little-endian. */
#define PFD_BOUND_NONE 0 /* bounds are not read */
#define PFD_BOUND_BOOL 1 /* a byte */
#define PFD_BOUND_INT32 2
#define PFD_BOUND_UINT32 3
#define PFD_BOUND_INT64 4
#define PFD_BOUND_UINT64 5
#define PFD_BOUND_FLOAT16 6
#define PFD_BOUND_FLOAT32 7
#define PFD_BOUND_FLOAT64 8
#define PFD_BOUND_BYTES 9
#define PFD_BOUND_BIG_ENDIAN 10 /* a signed integer of any size, its highest byte first */

/* A leaf: a field of the file's schema without children. */
typedef struct pfd_row_group_leaf {
    const char *name;  /* its own, without those above it; not terminated */
    int64_t name_size;
    int64_t bytes;     /* in all row groups, about as many as when it is decoded */
    int32_t type;      /* by the file's own number */
    int32_t scale;     /* of decimals: digits after the point, 0 to 76 */
    uint8_t form;      /* of bounds: PFD_BOUND_NONE ... */
    uint8_t has_nulls; /* statistics count nulls */
    uint8_t is_ordered;
} pfd_row_group_leaf;

/* The least and the greatest value of a leaf in a row group, or what is below or above all of them;
 * NULL: they are not known. */
typedef struct pfd_row_group_bounds {
    const uint8_t *least, *most;
    int64_t least_size, most_size;
} pfd_row_group_bounds;

/* What the footer of a file states. */
typedef struct pfd_row_groups {
    const pfd_row_group *groups;
    int64_t num_groups;
    const pfd_row_group_leaf *leaves;
    int64_t num_leaves;
    const pfd_row_group_bounds *bounds; /* of each leaf of group 0, of group 1, ...; or NULL */
} pfd_row_groups;

/* A file during a call, whose bytes host->read() gives: it compares them with the file's seal, and
 * finds that the file has changed. */
typedef struct pfd_readable_file {
    const pfd_host *host;
    const pfd_file *file;
    pfd_scratch *scratch;
} pfd_readable_file;

/* The functions of the program's language that decode files of row groups.  open() gets what the
 * footer states, with bounds unless `where` is "", and gives the schema of the file; it sets
 * skipped[i] to 1 where group i has no rows of `where`.
 *
 * decode() takes numbers of leaves, in ascending order, and gives their columns in one row group as
 * a stream of structs of piece_rows rows each, the last one of fewer; the caller releases it.
 * Several threads call decode() at once. */
typedef struct pfd_row_group_source {
    uint32_t struct_size;
    int32_t reserved;
    pfd_status (*open)(const pfd_readable_file *file, const char *where,
                       const pfd_row_groups *groups, uint8_t *skipped, int64_t *session,
                       pfd_exported_schema *schema, pfd_error *err);
    pfd_status (*decode)(const pfd_readable_file *file, int64_t session, int64_t group,
                         const int32_t *leaves, int64_t n, int64_t piece_rows,
                         pfd_exported_stream *pieces, pfd_error *err);
    void (*close)(int64_t session);
} pfd_row_group_source;

/* Sets these functions, as pfd_object_source_set() does. */
void pfd_row_group_source_set(const pfd_row_group_source *source);

/* Functions of the interpreter, by the names that its C interface gives them. */
typedef struct pfd_python_calls {
    int (*Py_IsInitialized)(void);
    int (*PyGILState_Ensure)(void);
    void (*PyGILState_Release)(int state);
    void (*Py_DecRef)(void *object);
    void *(*PyCapsule_GetPointer)(void *capsule, const char *name);
    void *(*PyCapsule_GetContext)(void *capsule);
} pfd_python_calls;

/* Sets these functions, once, before a struct is filled in.  They are copied. */
void pfd_exported_python_set(const pfd_python_calls *calls);

/* The `release` of the structs.  They also release the children that were not moved away. */
void pfd_exported_schema_release(pfd_exported_schema *schema);
void pfd_exported_array_release(pfd_exported_array *array);
void pfd_exported_stream_release(pfd_exported_stream *stream);

/* The destructors of capsules with the names "arrow_schema", "arrow_array" and
 * "arrow_array_stream".  They release the struct if nobody has taken it, and then the capsule's
 * context: a Python object that owns the memory of the struct, of which it has one reference. */
void pfd_exported_schema_capsule_end(void *capsule);
void pfd_exported_array_capsule_end(void *capsule);
void pfd_exported_stream_capsule_end(void *capsule);

/* ---- Files ------------------------------------------------------------------------------------
 * The first bytes of a file, up to `room` of them, decompressed where it is compressed: *size of
 * them are in `data` then, fewer than `room` where the file ends or is damaged there: *damage says
 * so, or has the status PFD_OK.  *file_size: bytes of the file as it is stored; *compression:
 * "none", "gzip", "zlib" or "zstd".  PFD_IO: it cannot be read.  PFD_UNSUPPORTED: the library for
 * its compression is not in this build. */
pfd_status pfd_file_head(const char *path, uint8_t *data, int64_t room, int64_t *size,
                         int64_t *file_size, const char **compression, pfd_error *damage,
                         pfd_error *err);

/* The bytes of a whole file in sequence, decompressed where it is compressed.  For one thread. */
typedef struct pfd_file_bytes pfd_file_bytes;

/* ERRORS as those of pfd_file_head(). */
pfd_status pfd_file_bytes_open(const char *path, pfd_file_bytes **out, pfd_error *err);
void pfd_file_bytes_close(pfd_file_bytes *self); /* accepts NULL */

/* The next bytes: *size of them, fewer than `room` only at the end.  PFD_CORRUPT_DATA: the
 * compressed data are damaged; *size bytes before the damage are in `data`. */
pfd_status pfd_file_bytes_read(pfd_file_bytes *self, uint8_t *data, int64_t room, int64_t *size,
                               pfd_error *err);

/* Whether bytes are JSON values, one after the other, or blanks.  Where they are not, *at is the
 * byte of *problem, which is "expected ...".  is_cut: the text goes on after the bytes, so that the
 * last value may be incomplete.  What nests deeper than 64 levels, and all that follows it, counts
 * as JSON. */
int32_t pfd_json_values(const uint8_t *data, int64_t size, int32_t is_cut, int64_t *at,
                        const char **problem);

/* A compression of files, and the suffixes of file names that show it. */
typedef struct pfd_compression {
    const char *name;     /* "zstd", as the attr `compression` has it */
    const char *suffixes; /* ".zst|.zstd"; the first one is the usual one */
    int32_t least_level, most_level;
} pfd_compression;

/* The compressions in the order of the attr's choices, without "auto" and "none"; NULL past the
 * end. */
const pfd_compression *pfd_compression_at(int64_t i);

/* The name of another program's file format, by a file's first bytes, and how to convert its data,
 * as "Parquet (convert it ...)"; NULL: the format is not known. */
const char *pfd_foreign_container(const uint8_t *data, int64_t size);

/* What a path leads to. PFD_IO: it cannot be told, for a reason in `err` (PFD_REASON_*): rights, or
 * a network that fails after several tries, or a symbolic link that leads nowhere. */
#define PFD_PATH_MISSING 0 /* the path leads to nothing */
#define PFD_PATH_FILE 1    /* a regular file */
#define PFD_PATH_FOLDER 2
#define PFD_PATH_OTHER 3
pfd_status pfd_path_kind(const char *path, int32_t *kind, pfd_error *err);

/* ---- Remote files ----------------------------------------------------------------------------
 *
 * A remote file is read through a cache of blocks in a folder, which all processes of the machine
 * share.  The host language looks at objects, lists them, and fetches ranges of them.  THREADS
 * The calls come from any thread; they return PFD_OK, or what pfd_remote_fail() returned. */

/* An object as it is now. */
typedef struct pfd_remote_facts {
    int64_t size;        /* bytes */
    int64_t modified_ns; /* since 1970; 0: not known */
    char tag[512];       /* of the version: another text, another content */
} pfd_remote_facts;

/* Bytes before the host of a name: "q-", 12 digits and "@", a digest of what the query of the
 * address says beside a signature. */
#define PFD_REMOTE_MARK 15

/* Which facts are right: those of now; those that an object had when it was first looked at since
 * the last opening; the same, where they are known without a request: else their size is -1. */
#define PFD_LOOK_NOW 0
#define PFD_LOOK_KEPT 1
#define PFD_LOOK_KNOWN 2

typedef struct pfd_remote_calls {
    /* The facts of those of n paths that are addresses; `how` is a PFD_LOOK_*. */
    int32_t (*look)(const char *const *paths, int64_t n, int32_t how, pfd_remote_facts *facts,
                    pfd_error *err);
    int32_t (*kind)(const char *url, int32_t *kind, pfd_error *err); /* PFD_PATH_* */
    /* Writes over each of n addresses the name of its object, which has no query and no
     * user:password@: at most PFD_REMOTE_MARK bytes longer.  Requests have both. */
    int32_t (*name_objects)(char *const *urls, int64_t n, pfd_error *err);
    /* Calls pfd_remote_listed() for each object that the pattern stands for. */
    int32_t (*list)(const char *pattern, void *list, pfd_error *err);
    /* Copies the index that lies beside n files to a local path; *found 0: there is none. */
    int32_t (*bring)(const char *const *files, int64_t n, const char *path, int32_t *found);
    int32_t (*is_interrupted)(void *unused); /* as in pfd_loader_options, for waits of no loader */
} pfd_remote_calls;

void pfd_remote_install(const pfd_remote_calls *calls);

/* The folder of the cache, for files that are opened from now on, and its budget in bytes, of which
 * a part is fetched ahead. */
pfd_status pfd_remote_set_folder(const char *path, int64_t budget, pfd_error *err);

int32_t pfd_path_is_remote(const char *path); /* it is an address: SCHEME://, but not file:// */
pfd_status pfd_remote_listed(void *list, const char *url, pfd_error *err);

/* Waits until the blocks of a range, which is within the object, are in the cache.  PFD_CANCELLED:
 * another thread made *ends 1, which ends the wait. */
pfd_status pfd_remote_warm(const char *url, int64_t offset, int64_t size, const int32_t *ends,
                           pfd_error *err);

/* Writes a failure; url may be "". */
pfd_status pfd_remote_fail(pfd_error *err, int32_t status, int32_t reason, const char *url,
                           const char *message);

/* A range of an object to fetch, or an object to look at. */
typedef struct pfd_fetch pfd_fetch;
typedef struct pfd_fetch_range {
    const char *url, *tag; /* live as long as the request; tag NULL: the facts are wanted, and at
                              best `size` bytes, or as many as there are, in the same answer */
    int64_t object_bytes, offset, size;
    int64_t failed_attempts, since_ns; /* when the first attempt began, of the monotonic clock */
} pfd_fetch_range;

/* Sets how many requests an object has at a time, before the first one is taken.  Returns how many
 * threads are to take them: a few more, so that no object, and no store, has all threads. */
int64_t pfd_fetch_set_requests(int64_t requests);

/* Waits for a request; NULL: fetching has stopped.  Each one is ended by put(), found(), fail() or
 * retry(), in any thread.  Until then no other process of the machine fetches its blocks. */
pfd_fetch *pfd_fetch_take(pfd_fetch_range *range);
pfd_status pfd_fetch_put(pfd_fetch *fetch, const uint8_t *data, int64_t size, pfd_error *err);
/* The facts, as of PFD_LOOK_KEPT.  `bytes`: how many of the first bytes came with them, 0 or the
 * smaller one of the range's size and the object's.  1: they are now put or failed; 0: the request
 * is ended. */
int32_t pfd_fetch_found(pfd_fetch *fetch, const pfd_remote_facts *facts, int64_t bytes);
void pfd_fetch_fail(pfd_fetch *fetch, int32_t status, int32_t reason, const char *message);
/* An attempt failed: the request is taken again after a pause, during which no thread has it. */
void pfd_fetch_retry(pfd_fetch *fetch, int64_t pause_ns);
void pfd_fetch_stop(void); /* wakes all who take or wait; set_folder() begins again */

typedef struct pfd_fetch_counts {
    int64_t requests, bytes; /* that were put */
    int64_t failures;        /* requests that failed */
    int64_t waits;           /* reads that waited for a block */
    int64_t again_bytes;     /* of `bytes`: of blocks that an open file had before */
    int64_t fetch_ns;        /* time of requests that were put, added up */
    int64_t answer_ns;       /* of it, until the first byte of the answer */
} pfd_fetch_counts;
void pfd_fetch_answered(pfd_fetch *request, int64_t answer_ns); /* before it is put */
void pfd_fetch_counted(pfd_fetch_counts *out); /* of this process */

/* The files of the cache. */
const char *pfd_cache_suffix(void); /* of their names */
#define PFD_CACHE_BLOCK_BYTES 1048576
#define PFD_CACHE_PASSED_BYTES 786432 /* of a block were read: an epoch has passed it; the rest may
                                         be frames around records, which nobody reads */
typedef struct pfd_cached_block {
    uint32_t state;    /* odd: the block is there */
    uint32_t used;     /* bytes read of it since it came, or was asked for ahead */
    int64_t used_ms;   /* when it was last read or asked for, since 1970 */
    int64_t next_ms;   /* when it will be read next, as a loader told; in the past: not known */
    uint64_t checksum; /* XXH64 */
} pfd_cached_block;

/* The blocks of a file, and its address.  Returns how many there are, also beyond `room`; -1: the
 * file is not one of the cache, or not this user's. */
int64_t pfd_cached_blocks_read(const char *path, pfd_cached_block *out, int64_t room, char *url,
                               int64_t url_room);

/* Writes next_ms of the blocks that the loaders of this process will read, as far as their orders
 * are known. */
void pfd_remote_note_next_uses(void);

/* How many processes share the budget: each asks ahead for its part of it. */
void pfd_remote_set_sharers(int64_t processes);

/* Takes blocks out of the cache, but those that are being written; returns how many bytes that
 * frees. */
int64_t pfd_cached_blocks_drop(const char *path, const int64_t *blocks, int64_t n);

/* The PFD_REASON_* of a failed call with this errno; PFD_REASON_NONE: the path leads to nothing. */
int32_t pfd_reason_of_errno(int32_t reason);

/* Writes why a path, or a pattern of glob(3), stands for no file, and what is there instead: at
 * most `room` bytes with the NUL. */
void pfd_missing_file(const char *pattern, char *out, int64_t room);

/* cdef-end */

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
