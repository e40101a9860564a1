/* sources/arrow_columns.h -- the columns of Arrow record batches: found by their paths, their
 * buffers in a batch, their rows written to outputs.
 *
 * A path is the names of structs and of their members with dots between them, as in meta.lang; a
 * name in single quotes may have dots, as in 'a.b'.c, and '' is a quote. A path also goes through
 * lists of structs.
 *
 * A field of the type json is the text of the values at the end of its path, whatever they are: in
 * compact JSON with null, true, NaN and Infinity as Python's json module reads them, structs as
 * objects, maps as arrays of pairs.
 *
 * A column in a batch is described by a few int64, its words: where buffers begin, and how many
 * items they have. Buffers are checked against the body when the words are made; offsets and
 * numbers of values in the buffers are checked for each row.
 *
 * OWNERSHIP  Columns own nothing; those of JSON borrow the schema's fields. Ragged rows point into the mapped file if their numbers are
 *            aligned, else into the scratch.
 * THREADS    Any.
 */
#ifndef PFD_SOURCES_ARROW_COLUMNS_H
#define PFD_SOURCES_ARROW_COLUMNS_H
#include "sources/arrow_metadata.h"
#include "sources/fields.h"

/* ---- Outputs, as the user writes them -------------------------------------------------------- */

typedef struct pfd_arrow_output {
    const char *element; /* of the attr */
    pfd_field_spec spec;
    pfd_row_type type;
    int32_t is_ragged;
    int32_t has_default; /* of a row that is null */
    int32_t is_json;
    int32_t has_item;    /* `item` is for numbers that are null, in rows and in lists */
    _Alignas(8) uint8_t item[8];
} pfd_arrow_output;

/* Parses an element of the attr `columns`; without a type it is bytes. */
pfd_status pfd_arrow_output_parse(const pfd_host *host, const char *element, pfd_arrow_output *out,
                                  pfd_error *err);

/* ---- Columns of a schema --------------------------------------------------------------------- */

enum { PFD_ARROW_MOST_LEVELS = 16 };

/* Steps from a row to its numbers. */
enum {
    PFD_ARROW_MEMBERS, /* words: validity */
    PFD_ARROW_LISTS,   /* words: validity, offsets, items */
    PFD_ARROW_LARGE_LISTS,
    PFD_ARROW_FIXED, /* words: validity */
};

/* What is at the end of the steps. */
enum {
    PFD_ARROW_NUMBERS, /* words: validity, numbers */
    PFD_ARROW_BITS,
    PFD_ARROW_BYTES, /* words: validity, offsets, bytes, size */
    PFD_ARROW_LARGE_BYTES,
    PFD_ARROW_VIEWS, /* words: validity, views, first extra buffer, number of these */
};

typedef struct pfd_arrow_level {
    int32_t kind; /* one of the two lists above */
    int32_t node, buffer, views;
    int32_t word; /* its first word in the words of a batch */
    int32_t bytes; /* of a number, or of a fixed value */
    int64_t size; /* items of PFD_ARROW_FIXED */
} pfd_arrow_level;

typedef struct pfd_arrow_column {
    pfd_arrow_level levels[PFD_ARROW_MOST_LEVELS];
    int32_t num_levels, num_outer; /* the outer ones are structs before the first list */
    pfd_arrow_level values;        /* with a dictionary: in the dictionary, from word 0 on */
    int32_t has_validity;          /* of the values; fixed binary has its level's */
    int32_t has_dictionary;
    int64_t dictionary;
    int32_t index;        /* dtype of the numbers of values */
    pfd_arrow_level keys; /* with a dictionary, words: validity, numbers, the dictionary */
    const pfd_arrow_field *json; /* of JSON: the fields of the schema; NULL: another type */
    int32_t root;  /* of JSON: the field that its path begins with */
    int32_t field; /* that its path ends with */
    int32_t word;  /* of JSON: PFD_ARROW_VALUE_WORDS for each field from `root` on */
    int32_t has_nulls;    /* for callers: what pfd_arrow_column_nulls() returned */
    pfd_row_type type;    /* as stored */
} pfd_arrow_column;

/* Finds the column of an output, and compares their types; *words grows by the column's words.
 * ERRORS  PFD_INVALID_ARGUMENT, PFD_UNSUPPORTED: there is no such column in `file`, or the output
 *         cannot be made of it. */
pfd_status pfd_arrow_column_find(const pfd_host *host, const pfd_file *file,
                                 const pfd_arrow_schema *schema, const pfd_arrow_output *output,
                                 int32_t *words, pfd_arrow_column *out, pfd_error *err);

/* The columns of a schema that have a type of rows.  `visit` gets the path, which lives during the
 * call; the reason is NULL where the column has a type. */
typedef pfd_status (*pfd_arrow_visit_fn)(void *ctx, const char *path,
                                         const pfd_arrow_column *column, const char *reason,
                                         pfd_error *err);
pfd_status pfd_arrow_columns_visit(const pfd_host *host, const pfd_arrow_schema *schema,
                                   pfd_arrow_visit_fn visit, void *ctx, pfd_error *err);

/* Whether a batch states nulls in the column: null rows (1), null items in lists (2). */
int32_t pfd_arrow_column_nulls(const pfd_arrow_column *column, const pfd_arrow_batch *batch);

/* ---- Columns, where the user left them out --------------------------------------------------- */

/* All columns that rows can have; the columns and fields are in the scratch of `args`. */
typedef struct pfd_arrow_proposal {
    const pfd_propose_args *args;
    pfd_arrow_column *columns; /* the caller sets their has_nulls */
    pfd_inferred_field *fields;
    int64_t size, capacity;
    char left_out[600];
    size_t left_out_bytes;
} pfd_arrow_proposal;

pfd_status pfd_arrow_proposal_begin(const pfd_propose_args *args, const pfd_arrow_schema *schema,
                                    pfd_arrow_proposal *out, pfd_error *err);

/* Sets the attr `columns`: those with nulls get a default that says that there is no value, or are
 * left out where no default does.  PFD_UNSUPPORTED: no column can be read as it is. */
pfd_status pfd_arrow_proposal_end(pfd_arrow_proposal *p, const pfd_file *file, pfd_error *err);

/* ---- Buffers of a batch ---------------------------------------------------------------------- */

typedef struct pfd_arrow_extent {
    int64_t offset, size;
} pfd_arrow_extent;

/* A growing list of the extra buffers of views; zeroed: empty. */
typedef struct pfd_arrow_extras {
    pfd_arrow_extent *list; /* owned; free() */
    int64_t size, capacity;
} pfd_arrow_extras;

/* The places of buffers: in the body that begins at `base` of a file, or in `decoded`. */
typedef struct pfd_arrow_body {
    const pfd_arrow_batch *batch;
    int64_t base, size;
    const pfd_arrow_extent *decoded; /* by the number of the buffer; NULL: in the body */
    const char *problem;             /* set after PFD_CORRUPT_DATA, a text without a place */
} pfd_arrow_body;

/* Whether a batch has the nodes and buffers of a schema; else a text that says what is wrong. */
const char *pfd_arrow_batch_fault(const pfd_arrow_schema *schema, const pfd_arrow_batch *batch);

/* Writes the words of a column in a batch.  `dictionary` is the number for the words of a column
 * with a dictionary.  PFD_CORRUPT_DATA: body->problem. */
pfd_status pfd_arrow_column_words(const pfd_host *host, const pfd_arrow_column *column,
                                  pfd_arrow_body *body, int64_t dictionary, int64_t *words,
                                  pfd_arrow_extras *extras, pfd_error *err);

/* Writes the words of the values of a dictionary, which are batch->rows. */
pfd_status pfd_arrow_values_words(const pfd_host *host, const pfd_arrow_level *values,
                                  pfd_arrow_body *body, int64_t *words, pfd_arrow_extras *extras,
                                  pfd_error *err);

/* Calls back for each buffer of a column that has to be decoded, by its number in the batch. */
void pfd_arrow_column_buffers(const pfd_arrow_column *column, const pfd_arrow_batch *batch,
                              void (*need)(void *ctx, int64_t buffer), void *ctx);
void pfd_arrow_values_buffers(const pfd_arrow_level *values, const pfd_arrow_batch *batch,
                              void (*need)(void *ctx, int64_t buffer), void *ctx);

/* ---- Rows ------------------------------------------------------------------------------------ */

enum { PFD_ARROW_VALUE_WORDS = 4 };

/* The bytes that words refer to. */
typedef struct pfd_arrow_space {
    const uint8_t *base;  /* all bytes; NULL: host->read() gives them */
    const pfd_file *file; /* of the bytes, for host->read() */
    const int64_t *words;
    const pfd_arrow_extent *extras;
    int32_t is_passing; /* the bytes live shorter than the loader: ragged rows are copied */
    int32_t is_decoded; /* places in it are no places in the file */
} pfd_arrow_space;

/* The values of a dictionary. */
typedef struct pfd_arrow_dictionary {
    pfd_arrow_space space; /* its words are those below */
    int64_t words[PFD_ARROW_VALUE_WORDS];
    int64_t rows;
    uint8_t *decoded; /* owned; NULL: the values are in the file */
} pfd_arrow_dictionary;

/* A row that is written. */
typedef struct pfd_arrow_row {
    const pfd_compute_args *args;
    int64_t row;   /* of the range */
    int64_t index; /* in the batch */
    pfd_arrow_space space;
    pfd_arrow_dictionary *const *dictionaries;
} pfd_arrow_row;

/* Writes one row of output number `number`. */
pfd_status pfd_arrow_column_write(const pfd_arrow_column *column, const pfd_arrow_output *output,
                                  const pfd_arrow_row *row, int64_t number, pfd_error *err);

/* Estimates where the numbers or bytes of row `index` are: never fails, and stays inside their
 * buffer. Needs a space with bytes. */
pfd_arrow_extent pfd_arrow_column_place(const pfd_arrow_column *column,
                                        const pfd_arrow_space *space, int64_t index);

/* Prefetches what a row needs first: offsets and bits of validity. */
void pfd_arrow_column_prefetch(const pfd_arrow_column *column, const pfd_arrow_space *space,
                               int64_t index);
#endif
