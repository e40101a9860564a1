/* pyflowdata/op.h -- all that the author of an op includes, in tree or out of it.
 *
 * An op is one C file that ends in one `const pfd_op`.  The op says what a record is and what its
 * bytes mean; the host decides which record stands where and moves it: files, threads, shuffling,
 * batching, sharding, resuming, error places and statistics are not the op's business.
 *
 *   reader op   open()    -> a pfd_dataset: where the records are
 *               compute() -> the reader's parser: records to rows of the output tensors
 *   any other   compute() -> rows of the inputs to rows of the outputs
 *   every op    infer()   -> dtype and shape of one output row, checked before anything is opened
 *
 * OWNERSHIP    Descriptors are static and const.  What an argument struct points to is borrowed
 *              until the call returns, except where a field says otherwise.  A record's bytes live
 *              as long as the scratch given to the call that made it, or as long as the dataset.
 * THREADS      infer() and open() run on the caller's thread.  compute() and pfd_dataset.at() run
 *              on many threads at once, never twice on the same row: keep no state between calls.
 *              next(), seek() and close() run on one thread at a time.
 * ERRORS       A function returns PFD_OK or the status that host->fail() returned.  The message
 * says what was found and what was expected; the host adds op, file, line and byte. DETERMINISM
 * Outputs depend on the record, the attrs and the random key given, on nothing else. GROWTH Structs
 * start with struct_size and grow at their end; a NULL function means "cannot".
 *
 * Everything between the cdef marks is also what Python reads: no macros or inline functions there,
 * except integer constants.
 */
#ifndef PYFLOWDATA_OP_H
#define PYFLOWDATA_OP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* cdef-begin */

/* ---- Status: what a caller may do about it ------------------------------------------------ */
typedef int32_t pfd_status;
#define PFD_OK 0
#define PFD_END 1               /* no more: the end of an epoch, not a failure */
#define PFD_PENDING 2           /* nothing yet: ask again (after looking for signals) */
#define PFD_INVALID_ARGUMENT -1 /* an attr, shape or call is wrong: change the program */
#define PFD_CORRUPT_DATA -2     /* a record is damaged: on_error may skip it */
#define PFD_IO -3               /* the file system failed, or a file changed while open */
#define PFD_UNSUPPORTED -4      /* known and not possible here */
#define PFD_OUT_OF_MEMORY -5
#define PFD_CANCELLED -6 /* the loader is closing */
#define PFD_INTERNAL -7  /* a fault in this library or in an op */

/* Owned by the caller, written once where the facts are, with host->fail() or host->fail_row(); the
 * host fills in the rest. */
typedef struct pfd_error {
    uint32_t struct_size;
    pfd_status status;
    int64_t row;     /* row of the call's range (0 is its first) that failed; -1: not one row */
    int64_t byte;    /* from a kernel: offset in the record; to the user: offset in the file; -1 */
    int64_t line;    /* 1-based line of a text file; -1 */
    int64_t ordinal; /* 0-based number of the record in the dataset; -1 */
    char op[64];     /* name of the op */
    char file[512];  /* path, shortened in its middle if need be */
    char message[1024]; /* what was found, what was expected, what to do */
} pfd_error;

/* ---- Types ---------------------------------------------------------------------------------- */
#define PFD_BOOL 1
#define PFD_INT8 2
#define PFD_UINT8 3
#define PFD_INT16 4
#define PFD_UINT16 5
#define PFD_INT32 6
#define PFD_UINT32 7
#define PFD_INT64 8
#define PFD_UINT64 9
#define PFD_FLOAT16 10
#define PFD_FLOAT32 11
#define PFD_FLOAT64 12

#define PFD_MAX_DIMS 8

/* One row of a blob: the batch dimension is not in `shape`. */
typedef struct pfd_row_type {
    int32_t dtype; /* PFD_BOOL ... PFD_FLOAT64 */
    int32_t ndim;  /* dimensions of one row; 0: a scalar */
    int64_t shape[PFD_MAX_DIMS];
} pfd_row_type;

/* Rows of one blob, C-contiguous; row i starts at data + i * row_bytes. */
typedef struct pfd_tensor {
    uint8_t *data;     /* 64-byte aligned at the start of a batch, dtype-aligned at a range */
    int64_t row_bytes; /* bytes from one row to the next, with nothing between */
    pfd_row_type type;
} pfd_tensor;

/* ---- Attrs: declared once, here, and nowhere else ---------------------------------------------
 */
#define PFD_ATTR_BOOL 1         /* stored as int32_t, 0 or 1 */
#define PFD_ATTR_INT32 2        /* int32_t */
#define PFD_ATTR_INT64 3        /* int64_t */
#define PFD_ATTR_FLOAT32 4      /* float */
#define PFD_ATTR_FLOAT64 5      /* double */
#define PFD_ATTR_STRING 6       /* const char *, UTF-8, never NULL */
#define PFD_ATTR_DTYPE 7        /* int32_t, PFD_BOOL ... */
#define PFD_ATTR_SHAPE 8        /* pfd_list_int64, dimensions >= 0 */
#define PFD_ATTR_LIST_INT64 9   /* pfd_list_int64 */
#define PFD_ATTR_LIST_FLOAT 10  /* pfd_list_float */
#define PFD_ATTR_LIST_STRING 11 /* pfd_list_string */

typedef struct pfd_list_int64 {
    const int64_t *data;
    int64_t size;
} pfd_list_int64;

typedef struct pfd_list_float {
    const double *data;
    int64_t size;
} pfd_list_float;

typedef struct pfd_list_string {
    const char *const *data;
    int64_t size;
} pfd_list_string;

typedef struct pfd_attr {
    const char *name;
    int32_t type;              /* PFD_ATTR_* */
    uint32_t offset, size;     /* of the value in the op's attr struct */
    const char *default_value; /* as a user would write it ("1024", "part-", "true", "float32",
                                  "1,2"; "" is an empty list or string); NULL: required */
    double min, max;           /* inclusive, of numbers and list elements; min == max: no limit */
    const char *choices;       /* of strings and dtypes: "short|drop|pad|wrap"; NULL: any */
    const char *doc;           /* one sentence, ends with a period */
} pfd_attr;

/* ---- Host ----------------------------------------------------------------------------------- */
typedef struct pfd_scratch pfd_scratch; /* memory of one row range, freed as a whole by the host */
typedef struct pfd_dataset pfd_dataset;

/* One file of a reader, opened by the host: the bytes stay readable until the dataset is closed,
 * also when another process truncates the file (the host then fails the batch). */
typedef struct pfd_file {
    const char *path;
    const uint8_t *data;
    int64_t size;
} pfd_file;

typedef struct pfd_host {
    uint32_t struct_size;
    uint32_t abi_version;

    /* Writes status and a printf-formatted message into *err, row and byte as -1; returns status.
     */
    pfd_status (*fail)(pfd_error *err, pfd_status status, const char *format, ...);

    /* The same for a row of the call's range, and an offset in its record (-1: no place in it).
     * With them the error tells file, line and byte, and on_error can leave out just this record.
     */
    pfd_status (*fail_row)(pfd_error *err, int64_t row, int64_t byte, pfd_status status,
                           const char *format, ...);

    /* `bytes` of memory, 64-byte aligned, uninitialised, valid until the scratch's owner resets it:
     * for compute() when the call returns.  NULL: out of memory. */
    void *(*alloc)(pfd_scratch *scratch, int64_t bytes);

    /* A random-access dataset over text files in which a record is a line: LF or CRLF, a last line
     * with or without newline, blank lines (spaces and tabs only) are no records.  record.data is
     * the line without its newline.  The files are borrowed until close. */
    pfd_status (*open_lines)(const pfd_file *files, int64_t num_files, pfd_dataset **out,
                             pfd_error *err);

    /* Parses the longest decimal literal at `text` exactly as Python's float() would: the nearest
     * double, "inf", "infinity" and "nan" in any case, one sign; no blanks or underscores.
     * Returns the number of bytes used, 0 when there is no number. */
    int64_t (*parse_double)(const char *text, int64_t size, double *value);
} pfd_host;

/* ---- Records and datasets -------------------------------------------------------------------- */

/* A borrowed view of the bytes of one sample. */
typedef struct pfd_record {
    const uint8_t *data;
    int64_t size;
    int64_t offset;  /* of data in its file */
    int64_t ordinal; /* 0-based number in the dataset, in file order */
    int32_t file;    /* index into the reader's files */
    int32_t filler;  /* 1: repeated only to fill a batch (last_batch="pad" or "wrap") */
} pfd_record;

/* `struct_size` is sizeof(pfd_dataset_methods) as the dataset's author compiled it.
 *
 * A dataset is random-access (size and at) or a stream (next and seek).  The host turns the first
 * into the second by itself.  Decorators are datasets that own an `inner` one. */
typedef struct pfd_dataset_methods {
    uint32_t struct_size;
    const char *name;

    /* Frees self and inner; accepts a half-open dataset. */
    void (*close)(pfd_dataset *self);

    /* Random access.  at() describes the records at n positions of an epoch, in any order and with
     * repeats; out[i] is the one at positions[i].  It is a pure function of (epoch, position), and
     * any number of threads may be in it.  err->row is the index into positions that failed. */
    int64_t (*size)(const pfd_dataset *self);
    pfd_status (*at)(const pfd_dataset *self, int64_t epoch, const int64_t *positions, int64_t n,
                     pfd_scratch *scratch, pfd_record *out, pfd_error *err);

    /* Stream.  next() yields up to `max` following records and sets *n; PFD_END with *n == 0 at the
     * end of the epoch, and again on every call until a seek().  seek() goes to a position of an
     * epoch, also backwards; a position past the end is the end.  A dataset that forms batches
     * yields exactly one batch per next() (possibly with 0 rows for this rank), and its positions
     * count batches.  After PFD_CORRUPT_DATA the host seeks behind the damaged record, after any
     * other failure it seeks what it asked for again. */
    pfd_status (*next)(pfd_dataset *self, int64_t max, pfd_scratch *scratch, pfd_record *out,
                       int64_t *n, pfd_error *err);
    pfd_status (*seek)(pfd_dataset *self, int64_t epoch, int64_t position, pfd_error *err);

    /* Optional: fills err->line from file, offset and byte of a record that failed. */
    void (*describe)(const pfd_dataset *self, const pfd_record *record, pfd_error *err);

    /* Random-access datasets that form batches: how many an epoch has, and the positions
     * [*begin, *end) of at() that batch `step` consists of. */
    int64_t (*num_batches)(const pfd_dataset *self);
    void (*batch)(const pfd_dataset *self, int64_t step, int64_t *begin, int64_t *end);
} pfd_dataset_methods;

/* First member of every dataset's own struct. */
struct pfd_dataset {
    const pfd_dataset_methods *methods;
    pfd_dataset *inner; /* owned; NULL for a source */
    int64_t epoch;      /* the host's cursor over random-access datasets */
    int64_t position;
};

/* ---- What an op's functions are given ----------------------------------------------------------
 */
typedef struct pfd_infer_args {
    uint32_t struct_size;
    const pfd_host *host;
    const void *attrs;          /* the op's attr struct, checked and defaulted */
    const pfd_row_type *inputs; /* one per declared input */
    pfd_row_type *outputs;      /* to be filled in, one per declared output */
} pfd_infer_args;

typedef struct pfd_open_args {
    uint32_t struct_size;
    const pfd_host *host;
    const void *attrs;     /* valid until the dataset is closed */
    const pfd_file *files; /* of ops with PFD_READS_FILES, in order; valid until close */
    int64_t num_files;
} pfd_open_args;

typedef struct pfd_compute_args {
    uint32_t struct_size;
    const pfd_host *host;
    const void *attrs;
    int64_t num_rows;          /* of this range, at least 1: every output row must be written */
    const pfd_record *records; /* the record behind each row (of the first reader upstream) */
    const pfd_tensor *inputs;  /* row 0 is the first row of the range */
    const pfd_tensor *outputs;
    pfd_scratch *scratch;
    uint64_t random_key; /* hash of seed, epoch and op name: mix in records[i].ordinal */
} pfd_compute_args;

/* ---- The descriptor ----------------------------------------------------------------------------
 */
typedef struct pfd_port {
    const char *name;
    const char *doc; /* one sentence, ends with a period */
} pfd_port;

#define PFD_READS_FILES 1u /* a reader of files: gets the file attrs and open_args.files */

typedef struct pfd_op {
    uint32_t struct_size; /* sizeof(pfd_op) */
    uint32_t attr_size;   /* sizeof(pfd_attr) */
    uint32_t port_size;   /* sizeof(pfd_port) */
    uint32_t flags;       /* PFD_READS_FILES */
    const char *name;     /* "MiniReader"; "mini_reader" is accepted as well */
    const char *doc;      /* a paragraph; its first sentence is the summary */

    const pfd_attr *attrs;
    uint32_t num_attrs;
    uint32_t attrs_struct_size; /* of the struct that pfd_attr.offset points into */
    const pfd_port *inputs;
    uint32_t num_inputs;
    const pfd_port *outputs;
    uint32_t num_outputs;

    pfd_status (*infer)(const pfd_infer_args *args, pfd_error *err);
    pfd_status (*open)(const pfd_open_args *args, pfd_dataset **out, pfd_error *err); /* readers */
    pfd_status (*compute)(const pfd_compute_args *args, pfd_error *err);

    /* Readers, optional: the group of a record.  Batches are then made of one group each. */
    pfd_status (*group)(const pfd_host *host, const void *attrs, const pfd_record *record,
                        int64_t *group, pfd_error *err);
} pfd_op;

/* cdef-end */

/* One row of an attr table, name and offset taken from the struct member. */
#define PFD_ATTR_ROW(owner, field, type, default_value, min, max, choices, doc)                    \
    {#field,                                                                                       \
     type,                                                                                         \
     (uint32_t)offsetof(owner, field),                                                             \
     (uint32_t)sizeof(((owner *)0)->field),                                                        \
     default_value,                                                                                \
     min,                                                                                          \
     max,                                                                                          \
     choices,                                                                                      \
     doc}

/* The first members of every descriptor. */
#define PFD_OP_SIZES                                                                               \
    .struct_size = sizeof(pfd_op), .attr_size = sizeof(pfd_attr), .port_size = sizeof(pfd_port)

#define PFD_COUNT(array) ((uint32_t)(sizeof(array) / sizeof((array)[0])))

#ifdef __cplusplus
}
#endif
#endif
