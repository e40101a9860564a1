/* ParquetReader: the columns of Parquet files, whose row groups Python decodes to Arrow arrays.
 *
 * A row group is decoded as a whole, in the thread that needs one of its rows first, and stays in a
 * cache.  So an order that stays within a few row groups decodes each once.  Its arrays are pieces
 * of about PIECE_BYTES: buffers that grow while they are decoded are copied, and within a piece
 * they are copied in the processor's cache. */
#include "core/bytes.h"
#include "core/error.h"
#include "core/op_shorthand.h"
#include "core/scratch.h"
#include "files/codecs.h"
#include "files/file_hint.h"
#include "formats/parquet/parquet_footer.h"
#include "index/index_image.h"
#include "index/record_index.h"
#include "pyflowdata/pyflowdata.h"
#include "sources/arrow_cache.h"
#include "sources/arrow_interface.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* ---- Python's functions ---------------------------------------------------------------------- */

/* Python sets them once; NULL: a program without Python. */
static const pfd_row_group_source *_Atomic row_groups;

void pfd_row_group_source_set(const pfd_row_group_source *source)
{
    atomic_store_explicit(&row_groups, source, memory_order_release);
}

static pfd_status fail_memory(const pfd_host *host, pfd_error *err)
{
    return host->fail(err, PFD_OUT_OF_MEMORY, "no memory for the row groups of Parquet files");
}

/* A file that Python has opened. */
typedef struct session {
    const pfd_row_group_source *python;
    int64_t number; /* 0: it is not open */
    pfd_parquet_footer footer; /* until forget_footer(), as its lists point into a scratch */
    uint8_t *skipped;          /* as long; one for each row group */
    pfd_exported_schema exported; /* which the names of the schema point into */
    pfd_arrow_schema schema;
} session;

/* Once the file is open. */
static void forget_footer(session *s)
{
    pfd_parquet_footer_free(&s->footer);
    free(s->skipped);
    s->skipped = NULL;
}

static void close_session(session *s)
{
    pfd_arrow_schema_free(&s->schema);
    if (s->exported.release) s->exported.release(&s->exported);
    if (s->number) s->python->close(s->number);
    forget_footer(s);
    *s = (session){0};
}

/* The first and last bytes of a file. */
static pfd_status check_magic(const pfd_host *host, const pfd_file *file, pfd_scratch *scratch,
                              pfd_error *err)
{
    static const char magic[] = "PAR1";
    enum { MAGIC = 4, LEAST = 12 };
    const uint8_t *data = NULL;
    char seems[100];
    PFD_TRY(pfd_compression_refuse(file, err));
    if (file->size >= MAGIC) PFD_TRY(host->read(file, 0, MAGIC, scratch, &data, err));
    if (!data || memcmp(data, magic, MAGIC) != 0) {
        const char *other = pfd_file_looks_like(host, file, scratch, "parquet");
        return host->fail_file(err, file, 0, PFD_CORRUPT_DATA,
                               "this is not a Parquet file, which begins with %s%s", magic,
                               pfd_looks_like_hint(other, "", seems, sizeof seems));
    }
    if (file->size >= LEAST)
        PFD_TRY(host->read(file, file->size - MAGIC, MAGIC, scratch, &data, err));
    if (file->size >= LEAST && !memcmp(data, magic, MAGIC)) return PFD_OK;
    return host->fail_file(err, file, file->size < MAGIC ? 0 : file->size - MAGIC, PFD_CORRUPT_DATA,
                           "the file does not end with %s; is it truncated?", magic);
}

/* The caller closes *out in any case. */
static pfd_status open_session(const pfd_host *host, const pfd_file *file, pfd_scratch *scratch,
                               const char *where, session *out, pfd_error *err)
{
    *out = (session){.python = atomic_load_explicit(&row_groups, memory_order_acquire)};
    if (!out->python)
        return host->fail(err, PFD_UNSUPPORTED,
                          "ParquetReader decodes with a package of Python, and this program has no "
                          "Python");
    PFD_TRY(check_magic(host, file, scratch, err));
    PFD_TRY(pfd_parquet_footer_read(host, file, scratch, where[0] != 0, &out->footer, err));
    out->skipped = calloc((size_t)out->footer.found.num_groups + 1, 1);
    if (!out->skipped) return fail_memory(host, err);
    pfd_readable_file readable = {host, file, scratch};
    pfd_status status = out->python->open(&readable, where, &out->footer.found, out->skipped,
                                          &out->number, &out->exported, err);
    if (status == PFD_OK)
        status = pfd_arrow_schema_import(host, &out->exported, &out->schema, err);
    if (status != PFD_OK) pfd_error_set_file(err, file->path);
    return status;
}

/* ---- Leaves ---------------------------------------------------------------------------------- */

/* Parquet stores the leaves of a schema, fields without children, and counts them in depth-first
 * order. */

static int32_t leaves_before(const pfd_arrow_schema *schema, int32_t field)
{
    int32_t n = 0;
    for (int32_t i = 0; i < field; i++) n += schema->fields[i].num_children == 0;
    return n;
}

/* The leaf that a column has its values in; of JSON, the first of *count. */
static int32_t leaf_of(const pfd_arrow_schema *schema, const pfd_arrow_column *column,
                       int32_t *count)
{
    int32_t i = column->field;
    while (!column->json && i < schema->num_fields && schema->fields[i].node != column->values.node)
        i++;
    *count = column->json ? leaves_before(schema, schema->fields[i].end) - leaves_before(schema, i)
                          : 1;
    return leaves_before(schema, i);
}

/* ---- Columns, where the user left them out --------------------------------------------------- */

static pfd_status propose_columns(const pfd_propose_args *args, const pfd_file *file,
                                  const session *from, pfd_error *err)
{
    pfd_arrow_proposal proposal;
    PFD_TRY(pfd_arrow_proposal_begin(args, &from->schema, &proposal, err));
    for (int64_t i = 0; i < proposal.size; i++) {
        int32_t count, leaf = leaf_of(&from->schema, &proposal.columns[i], &count);
        const pfd_row_groups *found = &from->footer.found;
        proposal.columns[i].has_nulls = leaf < found->num_leaves && found->leaves[leaf].has_nulls;
    }
    return pfd_arrow_proposal_end(&proposal, file, err);
}

static pfd_status propose(const pfd_propose_args *args, pfd_error *err)
{
    const pfd_file *file;
    session from;
    PFD_TRY(args->open(args->found, 0, &file, err));
    pfd_status status = open_session(args->host, file, args->scratch, "", &from, err);
    if (status == PFD_OK) status = propose_columns(args, file, &from, err);
    close_session(&from);
    return status;
}

/* ---- The source ------------------------------------------------------------------------------ */

typedef struct parquet_attrs {
    pfd_list_string columns;
    const char *row_groups_where;
} parquet_attrs;

typedef struct group {
    int64_t number, offset; /* in its file */
    int32_t file, shift;    /* 1 << shift rows are a piece */
} group;

typedef struct parquet {
    const pfd_host *host;
    const pfd_file *const *files;
    int64_t num_files, num_outputs;
    pfd_arrow_output *outputs;
    session *sessions; /* num_files */
    int32_t **leaves;  /* of each file, those of the outputs, which rise; num_leaves of them */
    int64_t *num_leaves;
    pfd_shard_table table;
    group *groups; /* table.size */
    double bytes;  /* of all leaves of the outputs, about as many as when they are decoded */
    int64_t capacity;
    pfd_arrow_cache *cache;
    int32_t in_sequence;
} parquet;

static void close_parquet(void *source)
{
    parquet *self = source;
    pfd_arrow_cache_free(self->cache);
    for (int64_t i = 0; self->sessions && i < self->num_files; i++)
        if (self->sessions[i].python) close_session(&self->sessions[i]);
    for (int64_t i = 0; self->leaves && i < self->num_files; i++) free(self->leaves[i]);
    free(self->sessions);
    free(self->leaves);
    free(self->num_leaves);
    free(self->outputs);
    free(self->groups);
    pfd_shard_table_free(&self->table);
    free(self);
}

PFD_SOURCE_NUMBER(num_records, parquet, table.num_records)

static pfd_status at(void *source, const int64_t *ordinals, int64_t n, pfd_scratch *scratch,
                     pfd_record *out, pfd_error *err)
{
    (void)scratch, (void)err;
    const parquet *self = source;
    for (int64_t i = 0; i < n; i++) {
        const group *from = &self->groups[pfd_shard_of(&self->table, ordinals[i])];
        out[i] =
            (pfd_record){.ordinal = ordinals[i], .file = from->file, .offset = from->offset};
    }
    return PFD_OK;
}

static void places(void *source, const int64_t *ordinals, int64_t n, pfd_place *out)
{
    const parquet *self = source;
    for (int64_t i = 0; i < n; i++) {
        const group *from = &self->groups[pfd_shard_of(&self->table, ordinals[i])];
        out[i] = (pfd_place){.offset = from->offset, .file = from->file};
    }
}

static const int64_t *blocks(void *source, int64_t *num_blocks)
{
    const parquet *self = source;
    *num_blocks = self->table.size;
    return self->table.first;
}

static const pfd_source_methods random_access = {
    .struct_size = sizeof(pfd_source_methods),
    .close = close_parquet,
    .size = num_records,
    .at = at,
    .places = places,
    .blocks = blocks,
};

/* ---- Opening --------------------------------------------------------------------------------- */

/* Notes which leaves of file i the outputs need. */
static pfd_status find_leaves(parquet *self, int64_t i, pfd_error *err)
{
    const pfd_arrow_schema *schema = &self->sessions[i].schema;
    int32_t words = 0, most = leaves_before(schema, schema->num_fields);
    int32_t *found = calloc((size_t)most + 1, sizeof *found);
    if (!found) return fail_memory(self->host, err);
    self->leaves[i] = found; /* of each leaf, whether it is needed; then their numbers */
    for (int64_t k = 0; k < self->num_outputs; k++) {
        pfd_arrow_column column;
        PFD_TRY(pfd_arrow_column_find(self->host, self->files[i], schema, &self->outputs[k],
                                      &words, &column, err));
        int32_t count, first = leaf_of(schema, &column, &count);
        for (int32_t leaf = first; leaf < first + count && leaf < most; leaf++) found[leaf] = 1;
    }
    for (int32_t leaf = 0; leaf < most; leaf++)
        if (found[leaf]) found[self->num_leaves[i]++] = leaf;
    return PFD_OK;
}

static pfd_status add_group(parquet *self, const group *added, int64_t rows, pfd_error *err)
{
    if (self->table.size == self->capacity) {
        int64_t capacity = 2 * self->capacity + 64;
        group *grown = realloc(self->groups, (size_t)capacity * sizeof *grown);
        if (!grown) return fail_memory(self->host, err);
        self->groups = grown;
        self->capacity = capacity;
    }
    self->groups[self->table.size] = *added;
    return pfd_shard_table_add(&self->table, rows, err);
}

/* The rows of a piece, as a power of two, where all rows of a file take `bytes`. */
static int32_t piece_shift(const pfd_row_groups *found, double bytes)
{
    enum { PIECE_BYTES = 1 << 20, LEAST_SHIFT = 4, MOST_SHIFT = 20 };
    double rows = 1;
    int32_t shift = LEAST_SHIFT;
    for (int64_t i = 0; i < found->num_groups; i++) rows += (double)found->groups[i].rows;
    while (shift < MOST_SHIFT && (2 << shift) * bytes <= PIECE_BYTES * rows) shift++;
    return shift;
}

static pfd_status open_file(parquet *self, pfd_scratch *scratch, const char *where, int64_t i,
                            pfd_error *err)
{
    session *s = &self->sessions[i];
    PFD_TRY(open_session(self->host, self->files[i], scratch, where, s, err));
    PFD_TRY(find_leaves(self, i, err));
    const pfd_row_groups *found = &s->footer.found;
    double bytes = 0;
    for (int64_t k = 0; k < self->num_leaves[i]; k++)
        if (self->leaves[i][k] < found->num_leaves)
            bytes += (double)found->leaves[self->leaves[i][k]].bytes;
    self->bytes += bytes;
    group added = {.file = (int32_t)i, .shift = piece_shift(found, bytes)};
    for (int64_t k = 0; k < found->num_groups; k++) {
        added.number = k;
        added.offset = found->groups[k].offset;
        if (found->groups[k].rows > 0 && !s->skipped[k])
            PFD_TRY(add_group(self, &added, found->groups[k].rows, err));
    }
    forget_footer(s);
    return PFD_OK;
}

/* Warns of an order that needs another group for almost every record. */
static void advise(const parquet *self, const pfd_open_args *args)
{
    const double mb = 1e6;
    int64_t most = pfd_arrow_account_share(args->scratch);
    if (self->table.size < 2 || self->bytes <= (double)most || !pfd_index_order_is_global(args))
        return;
    pfd_index_notice(args, "the global shuffle decodes a whole row group for almost every record: "
                           "the %" PRId64 " row groups have about %.1f MB when they are decoded, "
                           "and half of memory_budget, %.1f MB, is for them; "
                           "shuffle(kind='window', window=8), or the reader's shuffle='window', "
                           "decodes each once; or convert the file once: pyflowdata convert "
                           "x.parquet x.arrow",
                     self->table.size, self->bytes / mb, (double)most / mb);
}

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const parquet_attrs *attrs = args->attrs;
    for (int64_t i = 0; i < attrs->columns.size; i++) {
        pfd_arrow_output output;
        PFD_TRY(pfd_arrow_output_parse(args->host, attrs->columns.data[i], &output, err));
        args->outputs[i] = output.type;
    }
    return PFD_OK;
}

static pfd_status open_parts(parquet *self, const pfd_open_args *args, pfd_error *err)
{
    const parquet_attrs *attrs = args->attrs;
    size_t files = (size_t)self->num_files + 1;
    self->outputs = calloc((size_t)self->num_outputs + 1, sizeof *self->outputs);
    self->sessions = calloc(files, sizeof *self->sessions);
    self->leaves = calloc(files, sizeof *self->leaves);
    self->num_leaves = calloc(files, sizeof *self->num_leaves);
    self->cache = pfd_arrow_cache_create(args->scratch, INT64_MAX);
    if (!self->outputs || !self->sessions || !self->leaves || !self->num_leaves || !self->cache)
        return fail_memory(self->host, err);
    for (int64_t i = 0; i < self->num_outputs; i++)
        PFD_TRY(pfd_arrow_output_parse(self->host, attrs->columns.data[i], &self->outputs[i], err));
    for (int64_t i = 0; i < self->num_files; i++)
        PFD_TRY(open_file(self, args->scratch, attrs->row_groups_where, i, err));
    advise(self, args);
    return PFD_OK;
}

static pfd_status open_source(const pfd_open_args *args, pfd_source *out, pfd_error *err)
{
    const parquet_attrs *attrs = args->attrs;
    parquet *self = calloc(1, sizeof *self);
    if (!self) return fail_memory(args->host, err);
    *self = (parquet){.host = args->host, .files = args->files, .num_files = args->num_files,
                      .num_outputs = attrs->columns.size,
                      .in_sequence = args->access == PFD_ACCESS_SEQUENTIAL};
    return pfd_source_opened(open_parts(self, args, err), &random_access, self, out);
}

/* ---- Row groups ------------------------------------------------------------------------------ */

/* Rows of a decoded group, and what their words lead to. */
typedef struct piece {
    pfd_exported_array array;
    pfd_arrow_imported imported;
    pfd_arrow_extras extras;
    int64_t *words;
    pfd_arrow_space space;
} piece;

typedef struct decoded_group {
    pfd_exported_stream stream;
    pfd_exported_schema exported; /* which the names of the schema point into */
    pfd_arrow_schema schema;
    pfd_arrow_column *columns; /* one for each output */
    piece *pieces;             /* of 1 << shift rows each; the last one may have fewer */
    int64_t num_pieces;
    int32_t shift, num_words; /* num_words: of a piece */
    uint64_t digest;          /* of the schema: groups with the same one have the same columns */
} decoded_group;

static void release_group(void *data)
{
    decoded_group *self = data;
    for (int64_t i = 0; i < self->num_pieces; i++) {
        piece *one = &self->pieces[i];
        if (one->array.release) one->array.release(&one->array);
        pfd_arrow_imported_free(&one->imported);
        free(one->extras.list);
        free(one->words);
    }
    pfd_arrow_schema_free(&self->schema);
    if (self->exported.release) self->exported.release(&self->exported);
    if (self->stream.release) self->stream.release(&self->stream);
    free(self->columns);
    free(self->pieces);
    free(self);
}

/* Finds the columns of the outputs. */
static pfd_status find_columns(const parquet *self, const pfd_file *file, decoded_group *to,
                               pfd_error *err)
{
    if (to->stream.get_schema(&to->stream, &to->exported) != 0)
        return self->host->fail(err, PFD_INTERNAL, "a row group has no schema");
    PFD_TRY(pfd_arrow_schema_import(self->host, &to->exported, &to->schema, err));
    to->digest = pfd_arrow_schema_digest(&to->schema);
    to->columns = calloc((size_t)self->num_outputs + 1, sizeof *to->columns);
    if (!to->columns) return fail_memory(self->host, err);
    for (int64_t i = 0; i < self->num_outputs; i++) {
        PFD_TRY(pfd_arrow_column_find(self->host, file, &to->schema, &self->outputs[i],
                                      &to->num_words, &to->columns[i], err));
        if (to->columns[i].has_dictionary)
            return self->host->fail_file(err, file, -1, PFD_UNSUPPORTED,
                                         "column '%.200s' is encoded by a dictionary in memory",
                                         self->outputs[i].element);
    }
    return PFD_OK;
}

/* Finds the buffers of a piece, and writes its words. */
static pfd_status import_piece(const parquet *self, const pfd_file *file, const decoded_group *from,
                               piece *to, pfd_error *err)
{
    pfd_arrow_body body = {.batch = &to->imported.batch};
    PFD_TRY(pfd_arrow_array_import(self->host, &from->schema, &to->array, &to->imported, err));
    body.decoded = to->imported.extents;
    to->words = calloc((size_t)from->num_words + 1, sizeof *to->words);
    if (!to->words) return fail_memory(self->host, err);
    for (int64_t i = 0; i < self->num_outputs; i++) {
        pfd_status status = pfd_arrow_column_words(self->host, &from->columns[i], &body, -1,
                                                   to->words, &to->extras, err);
        if (status == PFD_CORRUPT_DATA)
            return self->host->fail_file(err, file, -1, PFD_CORRUPT_DATA, "column '%.200s': %s",
                                         self->outputs[i].element, body.problem);
        PFD_TRY(status);
    }
    to->space = (pfd_arrow_space){.base = to->imported.base, .file = file, .words = to->words,
                                  .extras = to->extras.list, .is_passing = 1, .is_decoded = 1};
    return PFD_OK;
}

/* A new piece at the end of a group, with the next array of its stream, whose batches are all
 * decoded; NULL: out of memory. */
static piece *next_piece(decoded_group *to)
{
    int64_t n = to->num_pieces;
    if ((n & (n - 1)) == 0) { /* 0, 1, 2, 4, ... */
        piece *grown = realloc(to->pieces, (size_t)(n ? 2 * n : 1) * sizeof *grown);
        if (!grown) return NULL;
        to->pieces = grown;
    }
    to->pieces[n] = (piece){0};
    to->num_pieces++;
    return to->stream.get_next(&to->stream, &to->pieces[n].array) == 0 ? &to->pieces[n] : NULL;
}

/* Imports what the stream has; the caller frees the group in any case. */
static pfd_status import_group(const parquet *self, const pfd_file *file, int64_t rows,
                               decoded_group *to, pfd_arrow_decoded *out, pfd_error *err)
{
    int32_t is_even = 1; /* as piece_of() needs it */
    int64_t found = 0, piece_rows = (int64_t)1 << to->shift;
    PFD_TRY(find_columns(self, file, to, err));
    while (1) {
        piece *one = next_piece(to);
        if (!one) return fail_memory(self->host, err);
        if (!one->array.release) break; /* the end of the stream */
        int64_t left = rows - found;
        is_even &= one->array.length == (left < piece_rows ? left : piece_rows);
        found += one->array.length;
        PFD_TRY(import_piece(self, file, to, one, err));
        out->bytes += one->imported.bytes + (int64_t)sizeof *one;
    }
    out->bytes += (int64_t)sizeof *out;
    out->rows = rows;
    to->stream.release(&to->stream); /* now, as it takes the lock of Python */
    if (found != rows)
        return self->host->fail(err, PFD_CORRUPT_DATA,
                                "a row group has %" PRId64 " rows, but the footer states "
                                "%" PRId64,
                                found, rows);
    if (!is_even)
        return self->host->fail(err, PFD_INTERNAL,
                                "the pieces of a row group have not all %" PRId64 " rows",
                                piece_rows);
    return PFD_OK;
}

static pfd_status decode(const void *ctx, pfd_scratch *scratch, pfd_arrow_decoded *out,
                         pfd_error *err)
{
    const parquet *self = ctx;
    const group *from = &self->groups[out->batch];
    const session *s = &self->sessions[from->file];
    const pfd_file *file = self->files[from->file];
    pfd_readable_file readable = {self->host, file, scratch};
    decoded_group *made = calloc(1, sizeof *made);
    if (!made) return fail_memory(self->host, err);
    out->data = made;
    out->release = release_group;
    made->shift = from->shift;
    int64_t rows = self->table.first[out->batch + 1] - self->table.first[out->batch];
    pfd_status status = s->python->decode(&readable, s->number, from->number,
                                          self->leaves[from->file], self->num_leaves[from->file],
                                          (int64_t)1 << from->shift, &made->stream, err);
    if (status == PFD_OK) status = import_group(self, file, rows, made, out, err);
    /* its byte is one of the file, not of a record */
    if (status != PFD_OK) pfd_error_set_file(err, file->path);
    return status;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* The groups that a call holds: neighbours in a shuffled order are in any of a window. */
enum { MOST_HELD = 16 };

/* The first group that no thread has decoded or decodes now: of those that the rows of a call need
 * from `row` on, or, in sequence, of those that come next; -1: none. */
static int64_t absent_group(const pfd_compute_args *args, int64_t row)
{
    enum { MOST_AHEAD = 4 };
    const parquet *self = args->source;
    int64_t number = pfd_shard_of(&self->table, args->records[row].ordinal);
    for (int64_t i = 1; self->in_sequence && i <= MOST_AHEAD && number + i < self->table.size; i++)
        if (pfd_arrow_cache_state(self->cache, number + i) == PFD_ARROW_ABSENT) return number + i;
    for (int64_t i = row; !self->in_sequence && i < args->num_rows; i++) {
        number = pfd_shard_of(&self->table, args->records[i].ordinal);
        if (pfd_arrow_cache_state(self->cache, number) == PFD_ARROW_ABSENT) return number;
    }
    return -1;
}

/* While another thread decodes the group of a row, this one decodes others, in place of waiting:
 * not more than a call holds, as two threads might else decode again and again what the cache has
 * dropped. */
static void decode_others(const pfd_compute_args *args, int64_t row, int64_t number)
{
    const parquet *self = args->source;
    pfd_error later; /* another group's error is reported when it is needed */
    pfd_error_init(&later);
    for (int64_t i = 0; i < MOST_HELD; i++) {
        pfd_arrow_decoded *made;
        if (pfd_arrow_cache_state(self->cache, number) != PFD_ARROW_DECODING) return;
        int64_t other = absent_group(args, row);
        if (other < 0 || pfd_arrow_cache_hold(self->cache, self->host, other, decode, self,
                                              args->scratch, &made, &later) != PFD_OK)
            return;
        pfd_arrow_cache_release(self->cache, made, 0);
    }
}

typedef struct holding {
    int64_t numbers[MOST_HELD]; /* -1: none */
    pfd_arrow_decoded *groups[MOST_HELD];
    int32_t is_passing[MOST_HELD]; /* rows of the group are copied */
    int64_t read[MOST_HELD];       /* rows that were read */
    int64_t next;                  /* counts up; the place that the next group takes */
    uint32_t in_use; /* bits of places: their groups stay */
} holding;

/* The place of a group in `all`; -1: it is not held.  Without branches, as the order is random. */
static int64_t place_of(const holding *all, int64_t number)
{
    int64_t place = -1;
    for (int64_t i = 0; i < MOST_HELD; i++) place = all->numbers[i] == number ? i : place;
    return place;
}

/* Holds the group of a row in the place of the one that has been held for the longest time. */
static pfd_status hold(const pfd_compute_args *args, holding *all, int64_t row, int64_t number,
                       int64_t *place, pfd_error *err)
{
    const parquet *self = args->source;
    int64_t i = *place = all->next++ % MOST_HELD;
    pfd_arrow_cache_release(self->cache, all->groups[i], all->read[i]);
    all->groups[i] = NULL;
    all->read[i] = 0;
    all->numbers[i] = -1;
    decode_others(args, row, number);
    PFD_TRY(pfd_arrow_cache_hold(self->cache, self->host, number, decode, self, args->scratch,
                                 &all->groups[i], err));
    all->is_passing[i] =
        pfd_arrow_cache_lend(self->cache, all->groups[i], args->scratch).is_passing;
    all->numbers[i] = number;
    return PFD_OK;
}

/* Where a row is: the group, which is held, and the piece of it. */
typedef struct row_place {
    const decoded_group *from; /* NULL: it would take a place in use */
    const piece *piece;
    pfd_arrow_spot spot;
    int64_t *read; /* rows of the group, to be counted */
} row_place;

static pfd_status find_row(const pfd_compute_args *args, holding *all, int64_t row, row_place *out,
                           pfd_error *err)
{
    const parquet *self = args->source;
    int64_t ordinal = args->records[row].ordinal;
    int64_t number = pfd_shard_of(&self->table, ordinal), i = place_of(all, number);
    out->from = NULL;
    if (i < 0 && all->in_use >> (all->next % MOST_HELD) & 1) return PFD_OK;
    pfd_status status = i >= 0 ? PFD_OK : hold(args, all, row, number, &i, err);
    if (status != PFD_OK) {
        err->row = row;
        return status;
    }
    int64_t index = ordinal - self->table.first[number];
    all->in_use |= (uint32_t)1 << i;
    out->read = &all->read[i];
    out->from = all->groups[i]->data;
    out->piece = &out->from->pieces[index >> out->from->shift];
    out->spot = (pfd_arrow_spot){out->piece->space,
                                 index & (((int64_t)1 << out->from->shift) - 1)};
    out->spot.space.is_passing = all->is_passing[i];
    return PFD_OK;
}

/* In shuffled order nothing of a row is in the processor's cache, so that AT_ONCE rows go through
 * stages, which prefetch what the next one reads: their offsets, then their values.  These are rows
 * of groups with the same columns, which stay held.  Writes some of n rows without neighbours. */
static pfd_status gather_rows(const pfd_compute_args *args, holding *all, pfd_arrow_row *row,
                              int64_t n, pfd_error *err)
{
    enum { AT_ONCE = 64 };
    const parquet *self = args->source;
    const decoded_group *like = NULL;
    pfd_arrow_spot spots[AT_ONCE];
    for (row->n = 0; row->n < n && row->n < AT_ONCE; row->n++) {
        row_place at;
        pfd_status status = find_row(args, all, row->row + row->n, &at, err);
        if (status != PFD_OK && !like) return status; /* else again, when it is the first row */
        if (!at.from || (like && at.from->digest != like->digest)) break;
        like = at.from;
        ++*at.read;
        spots[row->n] = at.spot;
        for (int64_t i = 0; at.spot.space.base && i < self->num_outputs; i++)
            pfd_arrow_column_prefetch(&like->columns[i], &at.spot.space, at.spot.index);
    }
    return pfd_arrow_rows_gather(like->columns, self->outputs, self->num_outputs, row, spots, err);
}

static pfd_status write_rows(const pfd_compute_args *args, holding *all, pfd_error *err)
{
    const parquet *self = args->source;
    pfd_arrow_row row = {.args = args};
    while (row.row < args->num_rows) {
        all->in_use = 0;
        int64_t alone = pfd_arrow_rows_alone(args, row.row);
        if (alone > 1) {
            PFD_TRY(gather_rows(args, all, &row, alone, err));
            continue;
        }
        row_place at;
        PFD_TRY(find_row(args, all, row.row, &at, err));
        row.space = at.spot.space;
        row.index = at.spot.index;
        row.n = pfd_arrow_neighbours(args, row.row, args->records[row.row].ordinal - row.index +
                                                        at.piece->array.length);
        *at.read += row.n;
        PFD_TRY(pfd_arrow_rows_write(at.from->columns, self->outputs, self->num_outputs, &row,
                                     err));
    }
    return PFD_OK;
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    const parquet *self = args->source;
    holding all;
    memset(&all, 0, sizeof all);
    for (int64_t i = 0; i < MOST_HELD; i++) all.numbers[i] = -1;
    pfd_status status = write_rows(args, &all, err);
    pfd_scratch_rows_last(args->scratch); /* they are in lent groups, or were copied */
    for (int64_t i = 0; i < MOST_HELD; i++)
        pfd_arrow_cache_release(self->cache, all.groups[i], all.read[i]);
    return status;
}

/* ---- The op ---------------------------------------------------------------------------------- */

static const pfd_attr attrs[] = {
    PFD_FOUND_ATTR_ROW(parquet_attrs, columns, PFD_ATTR_LIST_STRING, NULL, 0, 0, NULL,
                       "Columns to read, each [NAME=]PATH[:TYPE][=DEFAULT]: 'label:int64', 'text' "
                       "(bytes), 'x:float32[?]', 'lang=meta.lang:bytes=', 'tags:json' (the text of "
                       "the value in JSON); a default replaces nulls. If left out, all columns of "
                       "the first file whose types rows can have. Only these columns are decoded."),
    PFD_ATTR_ROW(parquet_attrs, row_groups_where, PFD_ATTR_STRING, "", 0, 0, NULL,
                 "A condition for row groups: comparisons of columns with numbers or texts, joined "
                 "by 'and', as in \"year >= 2020 and lang == 'de'\". Row groups are left out if "
                 "their statistics (the least and the greatest value of each column) show that no "
                 "row fits. The other groups keep rows that do not fit; where() leaves those out."),
};

static const pfd_port outputs[] = {
    {"out", "A column: numbers and fixed-size lists as dense rows, lists as ragged rows, texts and "
            "binary as ragged uint8."},
};

const pfd_op pfd_op_parquet_reader = {
    PFD_READER(PFD_READS_FILES, outputs),
    .name = "ParquetReader",
    .doc = "Reads Parquet files in any order; the package pyarrow decodes their row groups in the "
           "threads of the loader. The types are those of ArrowReader. As many row groups as fit "
           "into half of memory_budget, which all readers of a loader share, stay decoded for the "
           "next epoch. shuffle='window' mixes the rows of shuffle_window row groups at a time, so "
           "that each is decoded once in an epoch; a global shuffle decodes row groups again and "
           "again unless all of them fit into memory: pyflowdata convert x.parquet x.arrow makes a "
           "file with fast access to each row.",
    PFD_OP_ATTRS(parquet_attrs, attrs),
    .outputs_attr = "columns",
    .same_without = pfd_always_same,
    .propose = propose,
};
