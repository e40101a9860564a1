/* sources/arrow_rows.h -- the rows of Arrow record batches: the buffers that a column has in a
 * batch, and its rows written to outputs.
 *
 * Buffers are checked against the body when the words of a column are made; offsets and numbers of
 * values in the buffers are checked for each row.  Where an offset is lower than the one before it,
 * the rows that either of them bounds are refused.  A damaged offset that still fits between its
 * neighbours breaks no rule: the two rows beside it have other items.
 *
 * OWNERSHIP  Ragged rows point into the mapped file if their numbers are aligned, else into the
 *            scratch.
 * THREADS    Any.
 */
#ifndef PFD_SOURCES_ARROW_ROWS_H
#define PFD_SOURCES_ARROW_ROWS_H
#include "sources/arrow_columns.h"

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

/* Whether a batch states nulls in the column: null rows (1), null items in lists (2). */
int32_t pfd_arrow_column_nulls(const pfd_arrow_column *column, const pfd_arrow_batch *batch);

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

/* A row that is written, and its neighbours: they follow it in the range and in the batch. */
typedef struct pfd_arrow_row {
    const pfd_compute_args *args;
    int64_t row;   /* of the range */
    int64_t index; /* in the batch */
    int64_t n;     /* rows, 1 or more */
    pfd_arrow_space space;
    pfd_arrow_dictionary *const *dictionaries;
} pfd_arrow_row;

/* How many rows of a range follow each other from `row` on; `end` is the ordinal where its batch
 * ends. */
int64_t pfd_arrow_neighbours(const pfd_compute_args *args, int64_t row, int64_t end);

/* Writes row->n rows of all outputs; row->row moves on by as many.  Of several rows that are wrong
 * the first one is in *err. */
pfd_status pfd_arrow_rows_write(const pfd_arrow_column *columns, const pfd_arrow_output *outputs,
                                int64_t num_outputs, pfd_arrow_row *row, pfd_error *err);

/* Where a row of a range is. */
typedef struct pfd_arrow_spot {
    pfd_arrow_space space;
    int64_t index; /* in its batch */
} pfd_arrow_spot;

/* How many rows from `row` on have no neighbour after them in the range. */
int64_t pfd_arrow_rows_alone(const pfd_compute_args *args, int64_t row);

/* As pfd_arrow_rows_write(), for rows that lie anywhere: at `spots`, of batches with these columns.
 * Their values are prefetched. */
pfd_status pfd_arrow_rows_gather(const pfd_arrow_column *columns, const pfd_arrow_output *outputs,
                                 int64_t num_outputs, pfd_arrow_row *row,
                                 const pfd_arrow_spot *spots, pfd_error *err);

/* Estimates where the numbers or bytes of row `index` are: never fails, and stays inside their
 * buffer. Needs a space with bytes. */
pfd_arrow_extent pfd_arrow_column_place(const pfd_arrow_column *column,
                                        const pfd_arrow_space *space, int64_t index);

/* Prefetches what a row needs first: offsets and bits of validity. */
void pfd_arrow_column_prefetch(const pfd_arrow_column *column, const pfd_arrow_space *space,
                               int64_t index);
#endif
