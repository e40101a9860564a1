/* pyflowdata/op.h -- all that the author of an op includes, in tree or out of it.
 *
 * An op is one C file that ends in one `const pfd_op`.  The op says what a record is and what its
 * bytes mean; the host does the rest: files, index, threads, shuffling, batching, sharding,
 * resuming, places of errors and statistics.
 *
 *   reader op   open()    -> a pfd_source: where the records are
 *               compute() -> the reader's parser: records to rows of the output tensors
 *   any other   compute() -> rows of the inputs to rows of the outputs
 *   every op    infer()   -> dtype and shape of one output row, checked before anything is opened
 *   optional    propose() -> attrs that the user left out, inferred from the files
 *
 * A file format is data as well: a pfd_format names its reader, and says what its files begin with.
 *
 * Out of tree, a shared library with one or more ops is a plugin: it links to nothing, and
 * PFD_PLUGIN(...) at the end of one of its files exports the entry that the host looks for;
 * PFD_PLUGIN_WITH_FORMATS(...) does so with formats.
 *
 * OWNERSHIP    Descriptors are static and const.  What an argument struct points to is borrowed
 *              until the call returns, except where a field says otherwise.  A record's bytes live
 *              as long as the scratch given to the call that made it, or as long as the source.
 * THREADS      infer(), propose() and open() run on the caller's thread.  compute(), frame() and a
 *              source's at() run on many threads at once, compute() never twice on the same row:
 *              keep no state between calls.  A source's next(), seek() and close() run on one at a
 *              time.
 * ERRORS       A function returns PFD_OK or the status that host->fail() returned; next() also
 *              PFD_END.  The message says what was found and what was expected; the host adds op,
 *              file, line and byte.
 * DETERMINISM  Outputs depend on the record, the attrs and the random key given, on nothing else.
 * GROWTH       Within a major version nothing changes but that structs which begin with struct_size
 *              grow at their end; the writer sets struct_size, the reader treats fields beyond it
 *              as zero.  So do pfd_attr and pfd_port, whose sizes stand in their pfd_op.  A NULL
 *              function means "cannot"; more arguments for a function mean a new function.  Structs
 *              without a size (pfd_row_type, pfd_record, pfd_place, pfd_ragged_row, the lists)
 *              never change.  Machines have 64-bit pointers and longs.
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

/* ---- Version: a plugin loads where major is the same, and minor not smaller ------------------ */
#define PFD_ABI_MAJOR 1
#define PFD_ABI_MINOR 1

/* ---- Status: what a caller may do about it ------------------------------------------------ */
typedef int32_t pfd_status;
#define PFD_OK 0
#define PFD_END 1               /* no more: the end of an epoch, not a failure */
#define PFD_PENDING 2           /* from a loader: not ready, call again; no op returns it */
#define PFD_INVALID_ARGUMENT -1 /* an attr, shape or call is wrong: change the program */
#define PFD_CORRUPT_DATA -2     /* a record is damaged: on_error may skip it */
#define PFD_IO -3               /* the file system failed, or a file changed while open */
#define PFD_UNSUPPORTED -4      /* known, but not possible in this process */
#define PFD_OUT_OF_MEMORY -5
#define PFD_CANCELLED -6 /* the loader is closing */
#define PFD_INTERNAL -7  /* a fault in this library or in an op */

/* The reason of a failure, for programs; the message is for people only.  An op sets it after
 * host->fail(). */
#define PFD_REASON_NONE 0
#define PFD_REASON_NO_RECORDS 1      /* PFD_CORRUPT_DATA: the files are complete, but hold no
                                      * record */
#define PFD_REASON_REST_UNREADABLE 2 /* PFD_CORRUPT_DATA: the rest of a stream after the damage is
                                      * lost */
#define PFD_REASON_WORLD_SIZE 3      /* PFD_INVALID_ARGUMENT: attrs and number of ranks disagree */
#define PFD_REASON_TRANSIENT 4       /* tried again in vain, as on a network; may work later */
#define PFD_REASON_ENVIRONMENT 5     /* the machine: rights, descriptors, memory, a disk */

/* The caller owns a pfd_error; the function that finds the failure writes it once, with
 * host->fail() or host->fail_row(), and the host fills in the rest. An op that makes a pfd_error of
 * its own sets struct_size before any use. */
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

    /* Since 1.1; host->fail() and the others empty them. */
    int32_t reason; /* PFD_REASON_* */
    int32_t reserved;
    int64_t records; /* whole records of the file before the damage; -1: not known */
    uint64_t cause;  /* number of an exception that the language of the program kept; 0: none */
    char attr[64];   /* the attr of the op that is wrong; "": none */
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
#define PFD_BFLOAT16 13 /* the upper half of a float32; since 1.1 */

#define PFD_MAX_DIMS 8

/* One row of a blob: the batch dimension is not in `shape`.  A dimension of -1 varies from row to
 * row, and makes the blob ragged. */
typedef struct pfd_row_type {
    int32_t dtype; /* PFD_BOOL ... PFD_BFLOAT16 */
    int32_t ndim;  /* dimensions of one row; 0: a scalar */
    int64_t shape[PFD_MAX_DIMS];
} pfd_row_type;

/* One row of a ragged blob. */
typedef struct pfd_ragged_row {
    const void *data; /* elements, C-contiguous, dtype-aligned */
    int64_t num_elements; /* all elements of the row: the product of its dimensions */
    const int64_t *shape; /* all ndim dimensions; NULL: the row is empty, or only one dimension
                             varies, which the host computes from num_elements */
} pfd_ragged_row;

/* Rows of one blob. */
typedef struct pfd_tensor {
    uint32_t struct_size;
    int32_t is_ragged;
    pfd_row_type type;

    /* Dense: C-contiguous, row i starts at data + i * row_bytes, with nothing between. */
    uint8_t *data; /* 64-byte aligned at the start of a batch, dtype-aligned at a range */
    int64_t row_bytes;

    /* Ragged: one element per row, and `data` above is NULL: an op whose infer() accepts a
     * dimension of -1 looks at is_ragged. The rows of an output are zeroed, for compute() to fill
     * in; an empty row may stay zeroed. A row may point into the scratch, into the record's bytes
     * and into the inputs: no copy is needed, since the host copies rows where it delivers a batch.
     * The host checks the rows; sizes that do not fit the type, or data that is not aligned, are
     * PFD_INTERNAL.
     *
     * Since 1.1, also of some dense outputs of readers; NULL of others. Then compute() may set
     * rows[i].data of each row, in place of the row at `data`: row_bytes bytes, of any alignment,
     * in memory that a ragged row may point into. */
    pfd_ragged_row *rows;
} pfd_tensor;

/* ---- Attrs: declared once, here, and nowhere else -------------------------------------------- */
#define PFD_ATTR_BOOL 1         /* stored as int32_t, 0 or 1 */
#define PFD_ATTR_INT32 2        /* int32_t */
#define PFD_ATTR_INT64 3        /* int64_t */
#define PFD_ATTR_FLOAT32 4      /* float */
#define PFD_ATTR_FLOAT64 5      /* double */
#define PFD_ATTR_STRING 6       /* const char *, UTF-8, never NULL */
#define PFD_ATTR_DTYPE 7        /* int32_t, PFD_BOOL ... */
#define PFD_ATTR_SHAPE 8        /* pfd_list_int64, dimensions >= 0; with min < 0 also -1, a
                                   dimension that varies */
#define PFD_ATTR_LIST_INT64 9   /* pfd_list_int64 */
#define PFD_ATTR_LIST_FLOAT64 10 /* pfd_list_float64 */
#define PFD_ATTR_LIST_STRING 11 /* pfd_list_string */
#define PFD_ATTR_CHOICE 12      /* int32_t: which one of `choices` it is, from 0 */
                                /* 13: for the language of the program alone, see pyflowdata.h */

/* pfd_attr.flags: propose() infers the value from the files where the user leaves it out. If
 * propose() sets no value, default_value holds; it is an error if that is NULL. */
#define PFD_ATTR_FOUND 1u

typedef struct pfd_list_int64 {
    const int64_t *data;
    int64_t size;
} pfd_list_int64;

typedef struct pfd_list_float64 {
    const double *data;
    int64_t size;
} pfd_list_float64;

typedef struct pfd_list_string {
    const char *const *data;
    int64_t size;
} pfd_list_string;

typedef struct pfd_attr {
    const char *name;
    int32_t type;              /* PFD_ATTR_* */
    uint32_t offset, size;     /* place of the value in the op's attr struct, in bytes */
    const char *default_value; /* as a user would write it ("1024", "part-", "true", "float32",
                                  "1,2"; "" is an empty list or string, or since 1.1 a dtype 0,
                                  which the op infers); NULL: required */
    double min, max;           /* inclusive, of numbers and list elements; min == max: no limit.
                                  As doubles they hold integers up to 2^53 exactly. */
    const char *choices;       /* the strings, dtypes, choices: "short|drop|pad|wrap"; NULL: any */
    const char *doc;           /* one sentence, ends with a period */
    uint64_t flags;            /* PFD_ATTR_FOUND */
} pfd_attr;

/* ---- Records -------------------------------------------------------------------------------- */
typedef struct pfd_host pfd_host;
typedef struct pfd_scratch pfd_scratch; /* memory of one call or row range, freed as a whole */

/* One file of a reader, opened by the host; host->read() gives its bytes. Only the host makes these
 * structs. With PFD_READS_FOLDERS the file is a folder, which has no bytes. */
typedef struct pfd_file {
    uint32_t struct_size;
    int32_t index; /* in open_args.files, and for pfd_record.file */
    const char *path;
    int64_t size; /* bytes. In open(), a compressed file has its size on disk; in frame(), that of
                     the decompressed bytes: INT64_MAX until their end has been seen. */
} pfd_file;

/* A borrowed view of the bytes of one sample. */
typedef struct pfd_record {
    const uint8_t *data;
    int64_t size;
    int64_t offset;  /* place of `data` in its file, in bytes */
    int64_t ordinal; /* 0-based number in the source, in file order */
    int32_t file;    /* index into the reader's files */
    int32_t filler;  /* 1: repeated only to fill a batch (last_batch="pad" or "wrap") */
} pfd_record;

/* pfd_record.size, for ops over views that are not readers: the record is one draw of a record that
 * an epoch may have more than once.  `ordinal` is for random_bits(), and differs for each draw;
 * `offset` is the number of the record in its reader; `file` counts over all readers; `data` is
 * NULL. */
#define PFD_DRAWN -1

/* A place in the files of a reader. */
typedef struct pfd_place {
    int64_t offset; /* bytes */
    int32_t file;   /* index into the reader's files */
    int32_t reserved;
} pfd_place;

/* ---- Sources: where a reader's records are -----------------------------------------------------
 *
 * A source is random-access (size and at) or a stream (next and seek).  The host makes a stream of
 * a random-access source by itself.  Most formats write no source: host->open_lines(),
 * open_frames() and open_fixed() make sources. */
typedef struct pfd_source_methods {
    uint32_t struct_size;
    int32_t reserved; /* 0 */

    /* Frees self; the last call. */
    void (*close)(void *self);

    /* Random access. at() describes the records with n ordinals, in any order and with repeats;
     * out[i] is ordinals[i]. at() is a pure function of the ordinals, and any number of threads may
     * call it at once. err->row is the index into ordinals that failed. */
    int64_t (*size)(void *self);
    pfd_status (*at)(void *self, const int64_t *ordinals, int64_t n, pfd_scratch *scratch,
                     pfd_record *out, pfd_error *err);

    /* Stream. next() yields 1 to `max` following records and sets *n; PFD_END with *n == 0 at the
     * end of the epoch, and again on every call until a seek(). A call that fails yields nothing:
     * where a record fails after others, next() may return PFD_OK with the others, report nothing
     * in *err, and report the failure at the next call. seek() goes to the record with number
     * `position` of an epoch, also backwards; a position past the end is the end. After
     * PFD_CORRUPT_DATA the host seeks to the record after the damaged one, after any other failure
     * to the record that it asked for. */
    pfd_status (*next)(void *self, int64_t max, pfd_scratch *scratch, pfd_record *out, int64_t *n,
                       pfd_error *err);
    pfd_status (*seek)(void *self, int64_t epoch, int64_t position, pfd_scratch *scratch,
                       pfd_error *err);

    /* Optional: fills err->line from file, offset and err->byte of a record that failed; and
     * err->file, where the record lies in another file than that of record->file: err->byte then
     * becomes -1, unless it is a byte of that file. */
    void (*describe)(void *self, const pfd_record *record, pfd_error *err);

    /* Optional, random access: offset hints, about where the records with n ordinals begin, without
     * reading the files. The host uses them to read ahead. */
    void (*places)(void *self, const int64_t *ordinals, int64_t n, pfd_place *out);

    /* Since 1.1, optional: a hash of what decides which record is which, besides the files that the
     * host has opened: the names of the files in a folder. The hash is the same on every machine.
     * The host refuses a saved state with another hash. */
    uint64_t (*fingerprint)(void *self);

    /* Since 1.1, optional: about how many bytes compute() reads for a record from files that the
     * host has not opened, such as an image that the record names. The host plans the sizes of row
     * ranges by this number. */
    int64_t (*record_bytes)(void *self);

    /* Since 1.1, optional, random access: the blocks that the records come in and that cost most to
     * reach, such as row groups: the number of the first record of each, from 0 and rising, and
     * then the number of all records.  shuffle='window' permutes these blocks in place of runs of
     * records, and cuts lanes from them. */
    const int64_t *(*blocks)(void *self, int64_t *num_blocks);

    /* Since 1.1, optional, random access: compute() will soon be called for the records with n
     * ordinals.  A source whose records name objects in a store begins to fetch these, and does not
     * wait for them; what fails is an error of compute(), and only there.  Any number of threads
     * may call need() at once.  When the source is open, the host calls need() with n 0 and scratch
     * NULL to ask whether any record names an object; if the result is 0, it never calls it again.
     * With n -1 and scratch NULL, the records that were named and not read do not come soon. */
    int32_t (*need)(void *self, const int64_t *ordinals, int64_t n, pfd_scratch *scratch);
} pfd_source_methods;

/* The result of open(): the host owns self from then on, until close().  The host makes the struct,
 * and the op fills in the two fields. */
typedef struct pfd_source {
    uint32_t struct_size;
    int32_t reserved;                  /* 0 */
    const pfd_source_methods *methods; /* static */
    void *self;
} pfd_source;

/* Where a record lies in a file of framed records. */
typedef struct pfd_frame {
    uint32_t struct_size;
    int32_t is_record; /* 0: a file header or padding; data and size are unused */
    int64_t data;      /* offset in the file of the record's first byte */
    int64_t size;      /* bytes of the record */
    int64_t next;      /* offset after the frame, where the next one begins; the file's size ends
                          the file, and beyond it the file is truncated: PFD_CORRUPT_DATA */
} pfd_frame;

typedef struct pfd_frame_args {
    uint32_t struct_size;
    int32_t reserved;
    const pfd_host *host;
    const void *attrs; /* the op's attr struct */
    const pfd_file *file;
    int64_t offset; /* place of the frame: 0, or a former frame's `next` below the file's size */
    pfd_scratch *scratch;
} pfd_frame_args;

/* How the records of a file follow each other. */
typedef struct pfd_framing {
    uint32_t struct_size;
    int32_t has_header; /* since 1.1: 1: a file without the frame at 0 is damaged, also a file of no
                           bytes; 0: such a file has no records, and frame() is not called for it */
    /* Reads the frame's header and says where its record is. The first frame of a file is asked for
     * at 0. A pure function. A damaged header is PFD_CORRUPT_DATA, err->byte counted from
     * args->offset (from the file's beginning where host->fail_file() or host->read() failed): the
     * damage ends the open, since the frames after it cannot be found. compute() finds damage
     * inside the record, which costs one record. */
    pfd_status (*frame)(const pfd_frame_args *args, pfd_frame *out, pfd_error *err);
} pfd_framing;

/* Records of one size: header, records, footer in each file. */
typedef struct pfd_fixed_layout {
    uint32_t struct_size;
    int32_t reserved;
    int64_t header_bytes, record_bytes, footer_bytes; /* record_bytes > 0 */
} pfd_fixed_layout;

/* ---- What an op's functions are given -------------------------------------------------------- */
typedef struct pfd_infer_args {
    uint32_t struct_size;
    int32_t reserved;
    const pfd_host *host;
    const void *attrs;          /* the op's attr struct, checked and defaulted */
    const pfd_row_type *inputs; /* one per input */
    pfd_row_type *outputs;      /* to be filled in, one per output */
    int64_t num_inputs, num_outputs; /* as declared, or as the node has them */
} pfd_infer_args;

/* The arguments of companions(), which adds the sidecar files of the files that the user named. */
typedef struct pfd_companion_args {
    uint32_t struct_size;
    int32_t reserved;
    const pfd_host *host;
    const void *attrs;
    const char *const *paths; /* as the user named them, patterns resolved; a file may be missing */
    int64_t num_paths;
    void *list; /* for add() and replace(), which copy the path */
    pfd_status (*add)(void *list, const char *path, pfd_error *err);
    /* Reads another file in place of paths[i], such as the file whose name paths[i] abbreviates. */
    pfd_status (*replace)(void *list, int64_t i, const char *path, pfd_error *err);
} pfd_companion_args;

/* Infers attrs that the user left out from the files. */
typedef struct pfd_propose_args {
    uint32_t struct_size;
    int32_t reserved;
    const pfd_host *host;
    const void *attrs; /* an attr that was left out has its default, else it is 0 or empty */
    const char *const *paths; /* all files, sidecar files last */
    int64_t num_paths;
    pfd_scratch *scratch; /* valid until propose() returns */

    void *found; /* the first argument of the functions below */
    /* Opens paths[i] for host->read(), until propose() returns.  A compressed file has its
     * decompressed bytes, and a size of INT64_MAX where these are more than 64 KB. */
    pfd_status (*open)(void *found, int64_t i, const pfd_file **file, pfd_error *err);

    /* Give an attr of the op with PFD_ATTR_FOUND a value, which is copied, and checked as a user's
     * value is. A value that the user gave is kept. set_int() also sets bools, dtypes and choices
     * (by index); set_ints() also shapes. */
    pfd_status (*set_int)(void *found, const char *attr, int64_t value, pfd_error *err);
    pfd_status (*set_string)(void *found, const char *attr, const char *value, pfd_error *err);
    pfd_status (*set_ints)(void *found, const char *attr, const int64_t *values, int64_t n,
                           pfd_error *err);
    pfd_status (*set_strings)(void *found, const char *attr, const char *const *values, int64_t n,
                              pfd_error *err);

    /* Since 1.1. Notes a part of the records that the values above leave out, as "tags, which is a
     * map".  The text is copied; those who show the fields of a file show it. */
    pfd_status (*leave_out)(void *found, const char *said, pfd_error *err);
} pfd_propose_args;

/* The usual order in which the host will ask for records. */
#define PFD_ACCESS_RANDOM 0
#define PFD_ACCESS_SEQUENTIAL 1 /* in file order, perhaps with gaps */

typedef struct pfd_index_request pfd_index_request;

typedef struct pfd_open_args {
    uint32_t struct_size;
    int32_t access; /* PFD_ACCESS_*: a hint, both must work */
    const pfd_host *host;
    const void *attrs;            /* valid until the source is closed */
    const pfd_file *const *files; /* the files, with PFD_READS_FILES: in order, sidecar files last;
                                     valid until close */
    int64_t num_files;
    pfd_scratch *scratch;     /* valid until open() returns */
    pfd_index_request *index; /* the host's own, for open_lines(), open_frames(), open_fixed() */
} pfd_open_args;

typedef struct pfd_compute_args {
    uint32_t struct_size;
    int32_t reserved;
    const pfd_host *host;
    const void *attrs;
    int64_t num_rows;          /* rows of this range, at least 1; every output row is written */
    const pfd_record *records; /* the record of each row (of the first reader upstream) */
    const pfd_tensor *const *inputs; /* one per input; row 0 is the range's first */
    pfd_tensor *const *outputs;      /* one per output */
    pfd_scratch *scratch;            /* valid until the ops after this one have run as well */
    uint64_t random_key; /* for random_bits(): made of seed, epoch and name of the node */
    int64_t num_inputs, num_outputs; /* as in pfd_infer_args */
    const void *source; /* a reader's: `self` of the source that its open() made, to be read only;
                           else NULL */
} pfd_compute_args;

typedef struct pfd_group_args {
    uint32_t struct_size;
    int32_t reserved;
    const pfd_host *host;
    const void *attrs;
    const pfd_record *record;
    pfd_scratch *scratch; /* valid until group() returns */
} pfd_group_args;

/* ---- Host: what an op may call ----------------------------------------------------------------
 * Any thread may call every function; a scratch belongs to the thread that was given it. */
struct pfd_host {
    uint32_t struct_size;
    int32_t abi_major, abi_minor, reserved;

    /* Writes status and a printf-formatted message into *err, row and byte as -1; returns status.
     */
    pfd_status (*fail)(pfd_error *err, pfd_status status, const char *format, ...);

    /* As fail(), for a row of the call's range, and an offset in its record (-1: no place in the
     * record). The error then tells file, line and byte, and on_error can leave out just this
     * record. */
    pfd_status (*fail_row)(pfd_error *err, int64_t row, int64_t byte, pfd_status status,
                           const char *format, ...);

    /* As fail(), for a place in a file. */
    pfd_status (*fail_file)(pfd_error *err, const pfd_file *file, int64_t byte, pfd_status status,
                            const char *format, ...);

    /* `bytes` of memory, 64-byte aligned, uninitialised, valid as long as the scratch.  NULL: out
     * of memory (fail with PFD_OUT_OF_MEMORY). */
    void *(*alloc)(pfd_scratch *scratch, int64_t bytes);

    /* 1 once the loader is closing: a long call checks it now and then, and fails with
     * PFD_CANCELLED. */
    int32_t (*is_cancelled)(const pfd_scratch *scratch);

    /* The bytes [offset, offset + size) of a file, valid as long as the scratch. PFD_CORRUPT_DATA
     * where the file ends earlier (the error names the bytes that are missing), PFD_IO where the
     * file system failed. */
    pfd_status (*read)(const pfd_file *file, int64_t offset, int64_t size, pfd_scratch *scratch,
                       const uint8_t **data, pfd_error *err);

    /* Random access to text files in which a record is a line: LF or CRLF, a last line with or
     * without newline, blank lines (spaces and tabs only) are skipped.  record.data is the line
     * without its newline.  If any file is gzip, zlib or zstd, the source is a stream. */
    pfd_status (*open_lines)(const pfd_open_args *args, pfd_source *out, pfd_error *err);

    /* Random access to files of framed records: the host indexes the frames. `framing` is static.
     * If any file is gzip, zlib or zstd, the source is a stream: frame() gets the decompressed
     * bytes, read() goes forward only, and the file's size is INT64_MAX until its end is seen. */
    pfd_status (*open_frames)(const pfd_open_args *args, const pfd_framing *framing,
                              pfd_source *out, pfd_error *err);

    /* Random access to files of records of one size.  A file whose records do not fill it is
     * PFD_CORRUPT_DATA.  `layout` is copied. */
    pfd_status (*open_fixed)(const pfd_open_args *args, const pfd_fixed_layout *layout,
                             pfd_source *out, pfd_error *err);

    /* Parses the longest decimal literal at `text` exactly as Python's float() would: the nearest
     * double, "inf", "infinity" and "nan" in any case, one sign; no blanks or underscores.
     * Returns the number of bytes used, 0 if it is not a number. */
    int64_t (*parse_double)(const char *text, int64_t size, double *value);

    /* Random number `draw` (0, 1, ...) of a record: 64 bits, a pure function of the three, the same
     * on every machine. With args->random_key and records[row].ordinal the numbers do not change
     * with threads, batch size, rank or restart. */
    uint64_t (*random_bits)(uint64_t random_key, int64_t ordinal, int64_t draw);

    /* Since 1.1. The format that the first bytes of a file look like, for the message of a reader
     * that cannot read the file: "tar (TarReader reads it)", "Parquet". NULL: the format is not
     * known, or its name is `own` (NULL: no format is left out). 512 bytes are enough; the text
     * lives as long as the process. */
    const char *(*looks_like)(const uint8_t *data, int64_t size, const char *own);

    /* Since 1.1. As fail(), about an attr of the op: the message begins with "attr 'NAME'", and
     * err->attr is the name. `file` is the file that does not agree with the attr; NULL: none. */
    pfd_status (*fail_attr)(pfd_error *err, const char *attr, const pfd_file *file,
                            pfd_status status, const char *format, ...);
};

/* ---- The descriptor ------------------------------------------------------------------------- */
typedef struct pfd_port {
    const char *name;
    const char *doc; /* one sentence, ends with a period */
} pfd_port;

#define PFD_READS_FILES 1u  /* a reader of files: gets the file attrs and open_args.files */
#define PFD_WHOLE_BATCH 2u  /* other ops: compute() is called with all rows of a batch at once */
#define PFD_TAKES_RAGGED 4u /* other ops: inputs may be ragged; else the host refuses them */
#define PFD_MANY_INPUTS 8u  /* other ops: one or more blobs for its only input */
#define PFD_OPTIONAL_INPUT 16u /* since 1.1; other ops: the last input may be left out; num_inputs
                                  is then one less */

/* Since 1.1, with PFD_READS_FILES: what data_dir or `files` name are folders, each of which is a
 * data set. The host opens a folder as a file without bytes, and open() looks into it. While a
 * folder is open, the host only notices that the folder is gone, and no change in it. */
#define PFD_READS_FOLDERS 32u

/* Since 1.1, other ops: within each batch the rows of a ragged output have one shape: always, or if
 * the rows of every ragged input have one shape. */
#define PFD_EQUAL_ROWS 64u
#define PFD_KEEPS_EQUAL_ROWS 128u

typedef struct pfd_op {
    uint32_t struct_size; /* sizeof(pfd_op) */
    uint32_t attr_size;   /* sizeof(pfd_attr) */
    uint32_t port_size;   /* sizeof(pfd_port) */
    uint32_t flags;       /* PFD_READS_FILES ... */
    const char *name;     /* "MiniReader"; "mini_reader" is accepted as well */
    const char *aliases;  /* other accepted names, "ofrecord_reader|OFRecordFiles"; NULL: none */
    const char *doc;      /* a paragraph; its first sentence is the summary */

    const pfd_attr *attrs;
    uint32_t num_attrs;
    uint32_t attrs_struct_size; /* bytes of the struct that pfd_attr.offset points into */
    const pfd_port *inputs;
    uint32_t num_inputs;
    const pfd_port *outputs;
    uint32_t num_outputs;

    pfd_status (*infer)(const pfd_infer_args *args, pfd_error *err);
    pfd_status (*open)(const pfd_open_args *args, pfd_source *out, pfd_error *err); /* readers */

    /* With PFD_WHOLE_BATCH the rows are those of the batch on this rank on which no op before has
     * failed; without such rows compute() is not called. After PFD_CORRUPT_DATA for a row that
     * on_error leaves out, the host calls compute() again without that row. */
    pfd_status (*compute)(const pfd_compute_args *args, pfd_error *err);

    /* Readers, optional: the group of a record.  Batches are then made of one group each. */
    pfd_status (*group)(const pfd_group_args *args, int64_t *group, pfd_error *err);

    /* Optional: the name of an own attr that is a list of strings.  A node then has one output for
     * each element, in place of the only declared one, whose doc describes them all; an output's
     * name is the element up to its first '=', cut before its last ':' if it has one ("a" of "a",
     * "a=b:int64" and "a:int64=1"; "a:b" of "a:b:int64").  The attr does not decide where records
     * are: nodes that differ in it share an index. */
    const char *outputs_attr;

    /* With PFD_READS_FILES, optional: adds sidecar files of those that the user named, such as an
     * index; the host then opens and watches all files. companions() need not report missing paths;
     * the host does. */
    pfd_status (*companions)(const pfd_companion_args *args, pfd_error *err);

    /* With PFD_READS_FILES, needed where an attr has PFD_ATTR_FOUND: infers such attrs. Called when
     * a node is made and one of them was left out, after companions() and before infer(). The
     * header of one file is enough: open() checks that the others agree with it. */
    pfd_status (*propose)(const pfd_propose_args *args, pfd_error *err);

    /* Since 1.1, with group(), optional: the name of an own attr of type bool. If the attr is
     * false, batches are made as without group(). */
    const char *group_attr;

    /* Since 1.1, needed with PFD_OPTIONAL_INPUT where the input is the only one: the name of an own
     * attr of type int64. In a node without the input the attr is at least 1: the rows are those of
     * the first reader of the loader, which must have this batch_size. With the input the attr may
     * be 0. */
    const char *batch_size_attr;

    /* Since 1.1, with outputs_attr, optional: whether records and rows are the same, except for the
     * missing outputs, with the attrs `fewer`, in which that attr lacks some elements. If so, the
     * host opens and calls the op without the elements whose outputs a loader does not use. NULL:
     * the host never does this. */
    int32_t (*same_without)(const pfd_host *host, const void *attrs, const void *fewer);
} pfd_op;

/* ---- File formats (since 1.1) -----------------------------------------------------------------
 * What commands such as `pyflowdata head` and messages know of a format.  A file's format is the
 * one whose probe gives the highest score, of equal ones the first with a suffix of the name, else
 * the first in the list.  A name with a suffix of the format adds PFD_PROBE_SUFFIX to a score above
 * PFD_PROBE_NO and below PFD_PROBE_CERTAIN, and decides where no probe gives a score. */
#define PFD_PROBE_NO 0        /* the bytes are of something else */
#define PFD_PROBE_POSSIBLE 20 /* possible, as any text is */
#define PFD_PROBE_LIKELY 50   /* lengths or offsets that fit */
#define PFD_PROBE_CERTAIN 100 /* a magic number or a checksum */
#define PFD_PROBE_SUFFIX 30
#define PFD_PROBE_FAILED -1000 /* files beside it cannot be examined: errno says why */
#define PFD_PROBE_BYTES 65536 /* the most bytes that a probe is given */

typedef struct pfd_probe_args {
    uint32_t struct_size;
    int32_t reserved;
    const uint8_t *data; /* what the file begins with, decompressed; an empty file has no bytes */
    int64_t size;        /* bytes: PFD_PROBE_BYTES if the file has them; 512 for a message */
    int64_t file_size;   /* bytes of the whole file; -1: not known, as of a compressed file */
    const char *path;    /* for what lies beside the file; NULL: not known */
} pfd_probe_args;

typedef struct pfd_probe_folder_args { /* since 1.1 */
    uint32_t struct_size;
    int32_t reserved;
    const char *path;
} pfd_probe_folder_args;

#define PFD_FORMAT_TEXT 1u            /* its files are text: the host tells UTF-16 from it */
#define PFD_FORMAT_SHARED_SUFFIXES 2u /* other files have its suffixes too: they decide nothing */

typedef struct pfd_format {
    uint32_t struct_size; /* sizeof(pfd_format) */
    uint32_t flags;       /* PFD_FORMAT_TEXT ... */
    const char *name;     /* as commands spell it, in lower_snake_case: "tfrecord" */
    const char *title;    /* as its users spell it: "TFRecord" */
    const char *doc;      /* one sentence, ends with a period */
    const char *suffixes; /* ends of file names, in lower case: ".tfrecord|-tfr"; NULL: none */
    const char *reader;   /* name of the op with PFD_READS_FILES that reads it */
    const char *decoders; /* names of the ops that take the reader's records apart, the usual one
                             first: "ExampleDecoder|SequenceExampleDecoder"; NULL: none */
    const char *checks;   /* what the reader checks to find damage: "header and size"; NULL:
                             nothing */
    const char *folder_file; /* name of the file that makes a folder a data set of this format:
                                "index.json"; NULL: none */
    /* The score of a file, 0 to 100, or PFD_PROBE_FAILED: then detection fails, unless another
     * format is certain; any other number counts as PFD_PROBE_NO. A pure function of the bytes and
     * of what lies beside the file; called by any thread, in the process of the host, which a crash
     * ends. NULL: the name alone tells. */
    int32_t (*probe)(const pfd_probe_args *args);
    /* Since 1.1: where reading can go on after damage, the first offset in [from, size) of `data`
     * at which a record's header stands; `size` where there is none.  A pure function of the bytes;
     * called by any thread, 0 <= from <= size.  NULL: records cannot be told by their bytes. */
    int64_t (*resync)(const uint8_t *data, int64_t size, int64_t from);
    /* Since 1.1, needed where the reader has PFD_READS_FOLDERS: the score of a folder as a data set
     * of this format, as that of a file; then `probe` and `suffixes` may be left out. */
    int32_t (*probe_folder)(const pfd_probe_folder_args *args);
} pfd_format;

/* ---- Plugins -------------------------------------------------------------------------------- */
typedef struct pfd_plugin {
    uint32_t struct_size;
    int32_t abi_major, abi_minor; /* needed: those of the header it was made with, or less */
    uint32_t num_ops;
    const pfd_op *const *ops;
    const char *name;    /* the plugin's name, for messages */
    const char *version; /* the plugin's version, as its author counts */
    uint32_t num_formats; /* since 1.1 */
    int32_t reserved;     /* 0 */
    const pfd_format *const *formats; /* their readers may be ops of the plugin */
} pfd_plugin;

/* cdef-end */

/* ---- Tables of attrs ------------------------------------------------------------------------ */

/* One row, by the type of the struct's member, which gives name and offset.  The default is text as
 * a user would write it, NULL where the attr is required; min and max are 0 where any will do. */
#define PFD_BOOL_ATTR(owner, field, default_value, doc)                                            \
    PFD_ATTR_ROW(owner, field, PFD_ATTR_BOOL, default_value, 0, 0, NULL, doc)

/* int32_t or int64_t. */
#define PFD_INT_ATTR(owner, field, default_value, min, max, doc)                                   \
    PFD_ATTR_ROW(owner, field,                                                                     \
                 sizeof(((owner *)0)->field) == 4 ? PFD_ATTR_INT32 : PFD_ATTR_INT64,               \
                 default_value, min, max, NULL, doc)

/* float or double. */
#define PFD_FLOAT_ATTR(owner, field, default_value, min, max, doc)                                 \
    PFD_ATTR_ROW(owner, field,                                                                     \
                 sizeof(((owner *)0)->field) == 4 ? PFD_ATTR_FLOAT32 : PFD_ATTR_FLOAT64,           \
                 default_value, min, max, NULL, doc)

#define PFD_STRING_ATTR(owner, field, default_value, doc)                                          \
    PFD_ATTR_ROW(owner, field, PFD_ATTR_STRING, default_value, 0, 0, NULL, doc)

/* int32_t: the index of the value in `choices`, "short|drop|pad|wrap". */
#define PFD_CHOICE_ATTR(owner, field, default_value, choices, doc)                                 \
    PFD_ATTR_ROW(owner, field, PFD_ATTR_CHOICE, default_value, 0, 0, choices, doc)

/* `choices` are the dtypes that are allowed, "float32|float64"; NULL: any. */
#define PFD_DTYPE_ATTR(owner, field, default_value, choices, doc)                                  \
    PFD_ATTR_ROW(owner, field, PFD_ATTR_DTYPE, default_value, 0, 0, choices, doc)

/* Dimensions from 0; with PFD_RAGGED_SHAPE_ATTR one can also be -1, which varies. */
#define PFD_SHAPE_ATTR(owner, field, default_value, doc)                                           \
    PFD_ATTR_ROW(owner, field, PFD_ATTR_SHAPE, default_value, 0, 0, NULL, doc)
#define PFD_RAGGED_SHAPE_ATTR(owner, field, default_value, doc)                                    \
    PFD_ATTR_ROW(owner, field, PFD_ATTR_SHAPE, default_value, -1, 9007199254740992.0, NULL, doc)

/* Lists; min and max are those of an element. */
#define PFD_INTS_ATTR(owner, field, default_value, min, max, doc)                                  \
    PFD_ATTR_ROW(owner, field, PFD_ATTR_LIST_INT64, default_value, min, max, NULL, doc)
#define PFD_FLOATS_ATTR(owner, field, default_value, min, max, doc)                                \
    PFD_ATTR_ROW(owner, field, PFD_ATTR_LIST_FLOAT64, default_value, min, max, NULL, doc)
#define PFD_STRINGS_ATTR(owner, field, default_value, doc)                                         \
    PFD_ATTR_ROW(owner, field, PFD_ATTR_LIST_STRING, default_value, 0, 0, NULL, doc)

/* Any row: type is PFD_ATTR_*. */
#define PFD_ATTR_ROW(owner, field, type, default_value, min, max, choices, doc)                    \
    PFD_ATTR_ROW_WITH(owner, field, type, default_value, min, max, choices, doc, 0)

/* As PFD_ATTR_ROW(), for an attr that propose() infers where the user leaves it out. */
#define PFD_FOUND_ATTR_ROW(owner, field, type, default_value, min, max, choices, doc)              \
    PFD_ATTR_ROW_WITH(owner, field, type, default_value, min, max, choices, doc, PFD_ATTR_FOUND)

/* Used by the two macros above. */
#define PFD_ATTR_ROW_WITH(owner, field, type, default_value, min, max, choices, doc, flags)        \
    {#field,                                                                                       \
     type,                                                                                         \
     (uint32_t)offsetof(owner, field),                                                             \
     (uint32_t)sizeof(((owner *)0)->field),                                                        \
     default_value,                                                                                \
     min,                                                                                          \
     max,                                                                                          \
     choices,                                                                                      \
     doc,                                                                                          \
     flags}

/* Returns the status of a call that has failed from the function around the macro. */
#define PFD_TRY(call)                                                                              \
    do {                                                                                           \
        pfd_status try_status_ = (call);                                                           \
        if (try_status_ != PFD_OK) return try_status_;                                             \
    } while (0)

/* Members of a descriptor, for C: PFD_OP_ATTRS(cast_attrs, attr_table), PFD_OP_OUTPUTS(outputs). */
#define PFD_OP_ATTRS(owner, table)                                                                 \
    .attrs = table, .num_attrs = PFD_COUNT(table), .attrs_struct_size = (uint32_t)sizeof(owner)
#define PFD_OP_INPUTS(ports) .inputs = ports, .num_inputs = PFD_COUNT(ports)
#define PFD_OP_OUTPUTS(ports) .outputs = ports, .num_outputs = PFD_COUNT(ports)

/* The first members of every descriptor, and of the structs that have a struct_size. */
#define PFD_OP_SIZES sizeof(pfd_op), sizeof(pfd_attr), sizeof(pfd_port)
#define PFD_SIZE(type) (uint32_t)sizeof(type), 0

#define PFD_COUNT(array) ((uint32_t)(sizeof(array) / sizeof((array)[0])))

/* The oldest minor version that a plugin can do with: define it before the include to load also
 * into hosts that are older than this header, if no younger function or field is used. */
#ifndef PFD_ABI_MINOR_NEEDED
#define PFD_ABI_MINOR_NEEDED PFD_ABI_MINOR
#endif

#ifdef __cplusplus
#define PFD_EXPORT extern "C" __attribute__((visibility("default")))
#else
#define PFD_EXPORT __attribute__((visibility("default")))
#endif

/* PFD_PLUGIN("name", "1.0", &pfd_op_a, &pfd_op_b) -- the entry of a plugin, once in its library,
 * outside any function.  The symbol has the ABI's major version in its name. */
#define PFD_PLUGIN(plugin_name, plugin_version, ...)                                               \
    static const pfd_op *const pfd_plugin_ops[] = {__VA_ARGS__};                                   \
    PFD_PLUGIN_ENTRY(plugin_name, plugin_version, pfd_plugin_ops, 0, 0)

/* As PFD_PLUGIN(), for a plugin that exports formats too.  `ops` and `formats` are arrays of
 * pointers:
 *     static const pfd_op *const ops[] = {&op};
 *     static const pfd_format *const formats[] = {&format};
 *     PFD_PLUGIN_WITH_FORMATS("name", "1.0", ops, formats) */
#define PFD_PLUGIN_WITH_FORMATS(plugin_name, plugin_version, ops, formats)                         \
    PFD_PLUGIN_ENTRY(plugin_name, plugin_version, ops, PFD_COUNT(formats), formats)

/* Used by the two macros above. */
#define PFD_PLUGIN_ENTRY(plugin_name, plugin_version, op_list, format_count, format_list)          \
    PFD_EXPORT const pfd_plugin *pfd_plugin_v1(void);                                              \
    PFD_EXPORT const pfd_plugin *pfd_plugin_v1(void)                                               \
    {                                                                                              \
        static const pfd_plugin plugin = {(uint32_t)sizeof(pfd_plugin),                            \
                                          PFD_ABI_MAJOR,                                           \
                                          PFD_ABI_MINOR_NEEDED,                                    \
                                          PFD_COUNT(op_list),                                      \
                                          op_list,                                                 \
                                          plugin_name,                                             \
                                          plugin_version,                                          \
                                          format_count,                                            \
                                          0,                                                       \
                                          format_list};                                            \
        return &plugin;                                                                            \
    }

#ifdef __cplusplus
}
#endif
#endif
