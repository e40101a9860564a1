/* ArrowTableReader: the rows of a table in the program's memory, whose buffers are not copied.
 *
 * The object is a pfd_table of the addresses of the table's schema, then of its chunks. */
#include "core/hash.h"
#include "core/op_shorthand.h"
#include "core/scratch.h"
#include "core/tables.h"
#include "index/record_index.h"
#include "sources/arrow_interface.h"

#include <stdlib.h>

typedef struct arrow_table_attrs {
    int64_t table;
    pfd_list_string columns;
} arrow_table_attrs;

static const pfd_file no_file = {.path = ""}; /* for messages */

static pfd_status fail_memory(const pfd_host *host, pfd_error *err)
{
    return host->fail(err, PFD_OUT_OF_MEMORY, "no memory for the columns of a table");
}

/* ---- The structs of the program -------------------------------------------------------------- */

static pfd_status find_table(const pfd_host *host, int64_t number, pfd_table *out, pfd_error *err)
{
    if (pfd_table_find(number, out, err) == PFD_OK && out->is_arrow) return PFD_OK;
    return host->fail_attr(err, "table", NULL, PFD_INVALID_ARGUMENT,
                           " is not made by flow.from_arrow(); call flow.from_arrow(table)");
}

static const pfd_exported_schema *schema_of(const pfd_table *table)
{
    return (const void *)(intptr_t)((const int64_t *)table->data)[0];
}

static int64_t num_chunks(const pfd_table *table)
{
    return table->count - 1;
}

static const pfd_exported_array *chunk_of(const pfd_table *table, int64_t i)
{
    return (const void *)(intptr_t)((const int64_t *)table->data)[i + 1];
}

/* ---- Columns, where the user left them out --------------------------------------------------- */

static pfd_status propose_columns(const pfd_propose_args *args, const pfd_table *table,
                                  const pfd_arrow_schema *schema, pfd_error *err)
{
    pfd_arrow_proposal proposal;
    PFD_TRY(pfd_arrow_proposal_begin(args, schema, &proposal, err));
    for (int64_t i = 0; i < num_chunks(table); i++) {
        pfd_arrow_imported chunk;
        pfd_status status =
            pfd_arrow_array_import(args->host, schema, chunk_of(table, i), &chunk, err);
        for (int64_t k = 0; status == PFD_OK && k < proposal.size; k++)
            proposal.columns[k].has_nulls |=
                pfd_arrow_column_nulls(&proposal.columns[k], &chunk.batch);
        pfd_arrow_imported_free(&chunk);
        PFD_TRY(status);
    }
    return pfd_arrow_proposal_end(&proposal, &no_file, err);
}

static pfd_status propose(const pfd_propose_args *args, pfd_error *err)
{
    const arrow_table_attrs *attrs = args->attrs;
    pfd_table table;
    pfd_arrow_schema schema;
    PFD_TRY(find_table(args->host, attrs->table, &table, err));
    pfd_status status = pfd_arrow_schema_import(args->host, schema_of(&table), &schema, err);
    if (status == PFD_OK) status = propose_columns(args, &table, &schema, err);
    pfd_arrow_schema_free(&schema);
    return status;
}

static pfd_status infer_columns(const pfd_infer_args *args, const pfd_arrow_schema *schema,
                                pfd_error *err)
{
    const arrow_table_attrs *attrs = args->attrs;
    for (int64_t i = 0; i < attrs->columns.size; i++) {
        pfd_arrow_output output;
        pfd_arrow_column column;
        int32_t words = 0;
        PFD_TRY(pfd_arrow_output_parse(args->host, attrs->columns.data[i], &output, err));
        PFD_TRY(pfd_arrow_column_find(args->host, NULL, schema, &output, &words, &column, err));
        args->outputs[i] = output.type;
    }
    return PFD_OK;
}

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const arrow_table_attrs *attrs = args->attrs;
    pfd_table table;
    pfd_arrow_schema schema;
    PFD_TRY(find_table(args->host, attrs->table, &table, err));
    pfd_status status = pfd_arrow_schema_import(args->host, schema_of(&table), &schema, err);
    if (status == PFD_OK) status = infer_columns(args, &schema, err);
    pfd_arrow_schema_free(&schema);
    return status;
}

/* ---- The source ------------------------------------------------------------------------------ */

typedef struct chunk {
    pfd_arrow_imported imported;
    int64_t *words;
    pfd_arrow_extras extras;
    pfd_arrow_space space;
    pfd_arrow_dictionary *values; /* for each output, of which those with a dictionary are set */
    pfd_arrow_dictionary **dictionaries;
} chunk;

typedef struct arrow_table {
    const pfd_host *host;
    int64_t num_outputs;
    pfd_arrow_output *outputs;
    pfd_arrow_column *columns; /* num_outputs */
    pfd_arrow_schema schema;
    pfd_shard_table rows;
    chunk *chunks; /* num_begun, of which the last may be incomplete until all are there */
    int64_t num_begun;
    uint64_t fingerprint;
} arrow_table;

static void close_table(void *source)
{
    arrow_table *self = source;
    for (int64_t i = 0; i < self->num_begun; i++) {
        pfd_arrow_imported_free(&self->chunks[i].imported);
        free(self->chunks[i].words);
        free(self->chunks[i].extras.list);
        free(self->chunks[i].values);
        free(self->chunks[i].dictionaries);
    }
    free(self->chunks);
    free(self->columns);
    free(self->outputs);
    pfd_arrow_schema_free(&self->schema);
    pfd_shard_table_free(&self->rows);
    free(self);
}

PFD_SOURCE_NUMBER(num_records, arrow_table, rows.num_records)

static pfd_status at(void *source, const int64_t *ordinals, int64_t n, pfd_scratch *scratch,
                     pfd_record *out, pfd_error *err)
{
    (void)source, (void)scratch, (void)err;
    for (int64_t i = 0; i < n; i++) out[i] = (pfd_record){.ordinal = ordinals[i]};
    return PFD_OK;
}

static uint64_t fingerprint_of(void *source)
{
    return ((const arrow_table *)source)->fingerprint;
}

static const pfd_source_methods methods = {PFD_SIZE(pfd_source_methods), .close = close_table,
                                           .size = num_records, .at = at,
                                           .fingerprint = fingerprint_of};

static pfd_status find_columns(arrow_table *self, const pfd_list_string *given,
                               const pfd_arrow_schema *schema, int32_t *words, pfd_error *err)
{
    self->num_outputs = given->size;
    self->outputs = calloc((size_t)given->size + 1, sizeof *self->outputs);
    self->columns = calloc((size_t)given->size + 1, sizeof *self->columns);
    if (!self->outputs || !self->columns) return fail_memory(self->host, err);
    for (int64_t i = 0; i < given->size; i++) {
        PFD_TRY(pfd_arrow_output_parse(self->host, given->data[i], &self->outputs[i], err));
        PFD_TRY(pfd_arrow_column_find(self->host, NULL, schema, &self->outputs[i], words,
                                      &self->columns[i], err));
    }
    return PFD_OK;
}

/* Describes where the numbers and bytes of output i are in a chunk. */
static pfd_status write_words(const arrow_table *self, chunk *to, int64_t i, const char **problem,
                              pfd_error *err)
{
    const pfd_arrow_column *column = &self->columns[i];
    pfd_arrow_body body = {.batch = &to->imported.batch, .decoded = to->imported.extents};
    pfd_status status = pfd_arrow_column_words(self->host, column, &body, i, to->words, &to->extras,
                                               err);
    if (status == PFD_OK && column->has_dictionary) {
        const pfd_arrow_imported *from = &to->imported.dictionaries[column->dictionary];
        pfd_arrow_dictionary *values = &to->values[i];
        to->dictionaries[i] = values;
        values->rows = from->batch.rows;
        values->space = (pfd_arrow_space){.base = from->base, .file = &no_file,
                                          .words = values->words, .is_decoded = 1};
        body = (pfd_arrow_body){.batch = &from->batch, .decoded = from->extents};
        status = pfd_arrow_values_words(self->host, &column->values, &body, values->words,
                                        &to->extras, err);
    }
    *problem = body.problem;
    return status;
}

static pfd_status open_chunk(const arrow_table *self, chunk *to, int32_t words, pfd_error *err)
{
    size_t n = (size_t)self->num_outputs + 1;
    to->words = calloc((size_t)words + 1, sizeof *to->words);
    to->values = calloc(n, sizeof *to->values);
    to->dictionaries = calloc(n, sizeof *to->dictionaries);
    if (!to->words || !to->values || !to->dictionaries) return fail_memory(self->host, err);
    for (int64_t i = 0; i < self->num_outputs; i++) {
        const char *problem;
        pfd_status status = write_words(self, to, i, &problem, err);
        if (status == PFD_CORRUPT_DATA)
            return self->host->fail(err, PFD_CORRUPT_DATA, "column '%.200s': %s",
                                    self->outputs[i].element, problem);
        PFD_TRY(status);
    }
    for (int64_t i = 0; i < self->num_outputs; i++) to->values[i].space.extras = to->extras.list;
    to->space = (pfd_arrow_space){.base = to->imported.base, .file = &no_file, .words = to->words,
                                  .extras = to->extras.list, .is_decoded = 1};
    return PFD_OK;
}

static pfd_status open_chunks(arrow_table *self, const pfd_table *table,
                              const pfd_arrow_schema *schema, int32_t words, pfd_error *err)
{
    uint64_t digest = pfd_arrow_schema_digest(schema);
    self->chunks = calloc((size_t)num_chunks(table) + 1, sizeof *self->chunks);
    if (!self->chunks) return fail_memory(self->host, err);
    for (int64_t i = 0; i < num_chunks(table); i++) {
        chunk *one = &self->chunks[self->num_begun++];
        PFD_TRY(pfd_arrow_array_import(self->host, schema, chunk_of(table, i), &one->imported,
                                       err));
        PFD_TRY(open_chunk(self, one, words, err));
        PFD_TRY(pfd_shard_table_add(&self->rows, one->imported.batch.rows, err));
        if (!table->fingerprint)
            digest = pfd_hash_word(digest, pfd_arrow_imported_digest(schema, &one->imported));
    }
    self->fingerprint = table->fingerprint ? table->fingerprint : digest;
    return PFD_OK;
}

static pfd_status open_parts(arrow_table *self, const pfd_open_args *args, pfd_error *err)
{
    const arrow_table_attrs *attrs = args->attrs;
    pfd_table table;
    pfd_arrow_schema *schema = &self->schema;
    int32_t words = 0;
    PFD_TRY(find_table(args->host, attrs->table, &table, err));
    PFD_TRY(pfd_arrow_schema_import(args->host, schema_of(&table), schema, err));
    PFD_TRY(find_columns(self, &attrs->columns, schema, &words, err));
    PFD_TRY(open_chunks(self, &table, schema, words, err));
    if (table.fingerprint) return PFD_OK;
    table.fingerprint = self->fingerprint; /* the next loader need not read all bytes again */
    return pfd_table_put(attrs->table, &table, err);
}

static pfd_status open_source(const pfd_open_args *args, pfd_source *out, pfd_error *err)
{
    arrow_table *self = calloc(1, sizeof *self);
    if (!self) return fail_memory(args->host, err);
    self->host = args->host;
    return pfd_source_opened(open_parts(self, args, err), &methods, self, out);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    const arrow_table *self = args->source;
    pfd_arrow_row row = {.args = args};
    pfd_scratch_rows_last(args->scratch); /* they are in the table, or in the scratch */
    while (row.row < args->num_rows) {
        int64_t ordinal = args->records[row.row].ordinal;
        int64_t number = pfd_shard_of(&self->rows, ordinal);
        row.space = self->chunks[number].space;
        row.dictionaries = self->chunks[number].dictionaries;
        row.index = ordinal - self->rows.first[number];
        row.n = pfd_arrow_neighbours(args, row.row, self->rows.first[number + 1]);
        PFD_TRY(pfd_arrow_rows_write(self->columns, self->outputs, self->num_outputs, &row, err));
    }
    return PFD_OK;
}

static const pfd_attr attr_table[] = {
    PFD_ATTR_ROW(arrow_table_attrs, table, PFD_ATTR_OBJECT, NULL, 0, 0, NULL,
                 "What flow.from_arrow() makes of a table."),
    PFD_FOUND_ATTR_ROW(arrow_table_attrs, columns, PFD_ATTR_LIST_STRING, NULL, 0, 0, NULL,
                       "Columns to read, each [NAME=]PATH[:TYPE][=DEFAULT]: 'label:int64', 'text' "
                       "(bytes), 'x:float32[?]', 'lang=meta.lang:bytes=', 'tags:json' (the text of "
                       "the value in JSON); a default replaces nulls. If left out, all columns "
                       "whose types rows can have."),
};

static const pfd_port outputs[] = {
    {"out", "A column: numbers and fixed-size lists as dense rows, lists as ragged rows, texts and "
            "binary as ragged uint8."},
};

const pfd_op pfd_op_arrow_table_reader = {
    PFD_READER(0, outputs),
    .name = "ArrowTableReader",
    .doc = "Reads the rows of a table in memory, of pyarrow, polars, pandas, DuckDB or another "
           "program that gives Arrow data, in any order. The types are those of ArrowReader. "
           "The table is not copied; it must not change while a loader reads it. "
           "flow.from_arrow() makes a data set of a table.",
    PFD_OP_ATTRS(arrow_table_attrs, attr_table),
    .outputs_attr = "columns",
    .propose = propose,
};
