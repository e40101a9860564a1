/* ArrowReader: the columns of Apache Arrow IPC files and streams, read in place.
 *
 * Opening walks over the messages once, and keeps a few words for each record batch: where the
 * buffers of the chosen columns begin.  A row is then found by its number alone.  A data set that
 * Hugging Face's datasets saved is a folder with a state.json, which lists its streams. */
#include "core/bytes.h"
#include "core/error.h"
#include "core/op_shorthand.h"
#include "core/scratch.h"
#include "files/codecs.h"
#include "files/file_hint.h"
#include "files/file_read.h"
#include "formats/arrow/arrow_bodies.h"
#include "index/record_index.h"
#include "parse/json.h"
#include "pyflowdata/pyflowdata.h"
#include "sources/arrow_cache.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Messages in a file ---------------------------------------------------------------------- */

/* A message and its place. */
typedef struct message {
    pfd_flatbuffer fb;
    pfd_arrow_message head;
    int64_t at;       /* of the message */
    int64_t metadata; /* of the flatbuffer */
    int64_t body;
} message;

/* A walk over the messages of a file, and what it calls. */
typedef struct walk {
    const pfd_host *host;
    const pfd_file *file;
    pfd_scratch *scratch;
    void *ctx;
    pfd_status (*schema)(struct walk *w, message *m, pfd_error *err); /* head.header: the table */
    pfd_status (*dictionary)(struct walk *w, message *m, pfd_error *err);
    pfd_status (*batch)(struct walk *w, message *m, pfd_error *err);
} walk;

static pfd_status fail_metadata(const pfd_host *host, const pfd_file *file, const message *m,
                                pfd_error *err)
{
    return host->fail_file(err, file, m->metadata + m->fb.at, PFD_CORRUPT_DATA,
                           "in the Arrow metadata %s", m->fb.problem);
}

/* Reads the message at m->at, which ends at `limit` or before.  PFD_END: the stream ends there, and
 * m->metadata is after its end. */
static pfd_status read_message(const pfd_host *host, const pfd_file *file, int64_t limit,
                               pfd_scratch *scratch, message *m, pfd_error *err)
{
    enum { WORD = 4 };
    const uint8_t *word;
    int64_t at = m->at;
    for (int32_t i = 0; i < 2; i++, at += WORD) {
        if (at > limit - WORD)
            return host->fail_file(err, file, m->at, PFD_CORRUPT_DATA,
                                   "the file ends without the mark that ends a stream; is it "
                                   "truncated?");
        PFD_TRY(host->read(file, at, WORD, scratch, &word, err));
        if (i || pfd_load_le32(word) != UINT32_MAX) break;
    }
    int64_t size = (int32_t)pfd_load_le32(word);
    m->metadata = at + WORD;
    if (size == 0) return PFD_END;
    if (size < 0 || size > limit - m->metadata)
        return host->fail_file(err, file, at, PFD_CORRUPT_DATA,
                               "the metadata of a message has %" PRId64 " bytes, and %" PRId64
                               " follow; is the file truncated?", size, limit - m->metadata);
    m->fb = (pfd_flatbuffer){.size = size};
    PFD_TRY(host->read(file, m->metadata, size, scratch, &m->fb.data, err));
    if (!pfd_arrow_message_read(&m->fb, &m->head)) return fail_metadata(host, file, m, err);
    m->body = m->metadata + size;
    if (m->head.body_bytes <= limit - m->body) return PFD_OK;
    return host->fail_file(err, file, m->at, PFD_CORRUPT_DATA,
                           "the body of a message has %" PRId64 " bytes, and %" PRId64
                           " follow; is the file truncated?", m->head.body_bytes, limit - m->body);
}

static pfd_status fail_kind(const walk *w, const message *m, const char *expected, pfd_error *err)
{
    return w->host->fail_file(err, w->file, m->at, PFD_CORRUPT_DATA,
                              "this message is of kind %d; expected %s", m->head.kind, expected);
}

static pfd_status walk_stream(walk *w, pfd_error *err)
{
    message m = {0};
    int32_t is_begun = 0;
    for (;; m.at = m.body + m.head.body_bytes) {
        pfd_status status = read_message(w->host, w->file, w->file->size, w->scratch, &m, err);
        if (status == PFD_END) break;
        PFD_TRY(status);
        if (w->host->is_cancelled(w->scratch))
            return w->host->fail(err, PFD_CANCELLED, "the loader is closing");
        if (!is_begun && m.head.kind != PFD_ARROW_SCHEMA) return fail_kind(w, &m, "a schema", err);
        if (!is_begun) PFD_TRY(w->schema(w, &m, err));
        else if (m.head.kind == PFD_ARROW_DICTIONARY) PFD_TRY(w->dictionary(w, &m, err));
        else if (m.head.kind == PFD_ARROW_BATCH) PFD_TRY(w->batch(w, &m, err));
        else return fail_kind(w, &m, "a dictionary or a record batch", err);
        is_begun = 1;
    }
    if (m.metadata == w->file->size) return PFD_OK;
    return w->host->fail_file(err, w->file, m.metadata, PFD_CORRUPT_DATA,
                              "%" PRId64 " bytes follow the end of the stream",
                              w->file->size - m.metadata);
}

/* Walks over the messages that a footer lists; `end` is where the footer begins. */
static pfd_status walk_blocks(walk *w, const pfd_arrow_blocks *blocks, int32_t kind, int64_t end,
                              pfd_error *err)
{
    for (int64_t i = 0; i < blocks->size; i++) {
        const uint8_t *block = blocks->data + PFD_ARROW_BLOCK_BYTES * i;
        message m = {.at = (int64_t)pfd_load_le64(block)};
        if (m.at < PFD_ARROW_HEAD_BYTES || m.at > end - 8)
            return w->host->fail_file(err, w->file, end, PFD_CORRUPT_DATA,
                                      "the footer lists a message at byte %" PRId64
                                      ", which is not in the file", m.at);
        pfd_status status = read_message(w->host, w->file, end, w->scratch, &m, err);
        if (status == PFD_END || (status == PFD_OK && m.head.kind != kind))
            return fail_kind(w, &m, kind == PFD_ARROW_BATCH ? "a record batch" : "a dictionary",
                             err);
        PFD_TRY(status);
        if (w->host->is_cancelled(w->scratch))
            return w->host->fail(err, PFD_CANCELLED, "the loader is closing");
        PFD_TRY(kind == PFD_ARROW_BATCH ? w->batch(w, &m, err) : w->dictionary(w, &m, err));
    }
    return PFD_OK;
}

static pfd_status walk_file(walk *w, pfd_error *err)
{
    const uint8_t *tail;
    pfd_arrow_footer footer;
    message m = {0};
    int64_t at = w->file->size - PFD_ARROW_TAIL_BYTES, least = PFD_ARROW_HEAD_BYTES;
    int64_t size = 0;
    if (at >= least) {
        PFD_TRY(w->host->read(w->file, at, PFD_ARROW_TAIL_BYTES, w->scratch, &tail, err));
        size = (int32_t)pfd_load_le32(tail);
    }
    if (at < least || memcmp(tail + 4, PFD_ARROW_MAGIC, PFD_ARROW_MAGIC_BYTES) != 0)
        return w->host->fail_file(err, w->file, at < 0 ? 0 : at, PFD_CORRUPT_DATA,
                                  "the file does not end with the magic number " PFD_ARROW_MAGIC
                                  "; is it truncated?");
    if (size <= 0 || size > at - least)
        return w->host->fail_file(err, w->file, at, PFD_CORRUPT_DATA,
                                  "the footer states a size of %" PRId64 " bytes, but only "
                                  "%" PRId64 " are before it", size, at - least);
    m.at = m.metadata = at - size;
    m.fb = (pfd_flatbuffer){.size = size};
    PFD_TRY(w->host->read(w->file, m.metadata, size, w->scratch, &m.fb.data, err));
    if (!pfd_arrow_footer_read(&m.fb, &footer)) return fail_metadata(w->host, w->file, &m, err);
    m.head = (pfd_arrow_message){PFD_ARROW_SCHEMA, footer.version, footer.schema, 0};
    PFD_TRY(w->schema(w, &m, err));
    PFD_TRY(walk_blocks(w, &footer.dictionaries, PFD_ARROW_DICTIONARY, m.at, err));
    return walk_blocks(w, &footer.batches, PFD_ARROW_BATCH, m.at, err);
}

/* Walks over all messages of a file or a stream. */
static pfd_status walk_messages(walk *w, pfd_error *err)
{
    enum { HEAD = 8 };
    const uint8_t *head;
    char seems[100];
    PFD_TRY(pfd_compression_refuse(w->file, err));
    int64_t size = w->file->size;
    if (size >= HEAD) {
        PFD_TRY(w->host->read(w->file, 0, HEAD, w->scratch, &head, err));
        if (!memcmp(head, PFD_ARROW_MAGIC, PFD_ARROW_MAGIC_BYTES)) return walk_file(w, err);
        uint32_t first = pfd_load_le32(head);
        if (first == UINT32_MAX || (first > 0 && first < size)) return walk_stream(w, err);
    }
    const char *other = pfd_file_looks_like(w->host, w->file, w->scratch, "arrow");
    return w->host->fail_file(err, w->file, 0, PFD_CORRUPT_DATA,
                              "this is neither an Arrow IPC file, which begins with "
                              PFD_ARROW_MAGIC ", nor a stream%s",
                              pfd_looks_like_hint(other, "", seems, sizeof seems));
}

/* Reads the schema of a message.  *out is freed by the caller in any case. */
static pfd_status read_schema(walk *w, message *m, pfd_arrow_schema *out, pfd_error *err)
{
    pfd_status status =
        pfd_arrow_schema_read(w->host, &m->fb, m->head.header, m->head.version, out, err);
    if (status == PFD_CORRUPT_DATA) return fail_metadata(w->host, w->file, m, err);
    if (status == PFD_UNSUPPORTED) pfd_error_set_file(err, w->file->path);
    return status;
}

static pfd_status read_batch(walk *w, message *m, pfd_arrow_batch *out, pfd_error *err)
{
    if (pfd_arrow_batch_read(&m->fb, &m->head, out)) return PFD_OK;
    return fail_metadata(w->host, w->file, m, err);
}

/* ---- Data sets of Hugging Face --------------------------------------------------------------- */

/* state.json has the members _data_files, a list of objects with a filename, and perhaps
 * _indices_data_files or _indices_files, the same for the files of an order of the rows. */

#define STATE_NAME "state.json"
#define SPLITS_NAME "dataset_dict.json" /* beside the folders of several data sets */
enum { MOST_STATE_BYTES = 1 << 26 };

static int32_t has_name(const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');
    return !strcmp(slash ? slash + 1 : path, name);
}

static int32_t is_state(const char *path)
{
    return has_name(path, STATE_NAME);
}

/* Goes to the list of data files, and looks whether there is an order of the rows. */
static pfd_json begin_state(const uint8_t *text, int64_t size, int32_t *has_order)
{
    pfd_json_text key;
    pfd_json json = pfd_json_begin(text, size), files = {0};
    *has_order = 0;
    pfd_json_enter(&json, '{');
    while (pfd_json_member(&json, &key)) {
        int32_t is_order = pfd_json_equals(&key, "_indices_data_files") ||
                           pfd_json_equals(&key, "_indices_files");
        if (pfd_json_equals(&key, "_data_files")) files = json;
        if (is_order && pfd_json_is(&json, '[')) {
            pfd_json list = json;
            pfd_json_enter(&list, '[');
            *has_order |= pfd_json_element(&list);
        }
        pfd_json_skip(&json);
    }
    if (pfd_json_end(&json) && !files.data)
        pfd_json_refuse(&json, "expected the member _data_files before here");
    if (json.problem) return json;
    pfd_json_enter(&files, '[');
    return files;
}

/* The next name of a data file. */
static int32_t next_name(pfd_json *files, pfd_json_text *name)
{
    pfd_json_text key;
    *name = (pfd_json_text){.size = 0};
    if (!pfd_json_element(files)) return 0;
    pfd_json_enter(files, '{');
    while (pfd_json_member(files, &key)) {
        if (pfd_json_equals(&key, "filename")) pfd_json_string(files, name);
        else pfd_json_skip(files);
    }
    if (!files->problem && name->size == 0)
        pfd_json_refuse(files, "expected the member filename of a file before here");
    return !files->problem;
}

/* The path of a data file; NULL: it failed. */
static char *named_path(const pfd_host *host, const char *state, const pfd_json_text *name,
                        pfd_error *err)
{
    char *text = malloc((size_t)name->size + 1), *path = NULL;
    int64_t size = text ? pfd_json_decode(name, text) : 0;
    if (text && !pfd_path_is_below(text, size))
        (void)host->fail(err, PFD_CORRUPT_DATA, "%s lists the file '%.*s', which is not in its "
                                                "folder", state, (int)size, text);
    else if (!text || !(path = pfd_path_beside(state, text, size)))
        (void)host->fail(err, PFD_OUT_OF_MEMORY, "no memory for the path of a file");
    free(text);
    return path;
}

static pfd_status fail_state(const pfd_host *host, const char *path, const pfd_json *json,
                             pfd_error *err)
{
    return host->fail(err, PFD_CORRUPT_DATA, "%s, byte %" PRId64 ": the JSON of the data set: %s",
                      path, json->at, json->problem);
}

/* Adds the data files that a state.json lists. */
static pfd_status add_files_of(const pfd_companion_args *args, const char *path, pfd_error *err)
{
    uint8_t *text;
    int64_t size, file_size;
    int32_t has_order;
    pfd_json_text name;
    PFD_TRY(pfd_file_start_read(path, MOST_STATE_BYTES, &text, &size, &file_size, err));
    pfd_status status = PFD_OK;
    pfd_json files = begin_state(text, size, &has_order);
    if (has_order)
        status = args->host->fail(
            err, PFD_UNSUPPORTED,
            "%s names an indices mapping, so the data set is a selection or an order of the rows "
            "in its files; call flatten_indices() and save_to_disk() again, or read the files "
            "themselves with files=", path);
    while (status == PFD_OK && next_name(&files, &name)) {
        char *file = named_path(args->host, path, &name, err);
        status = file ? args->add(args->list, file, err) : err->status;
        free(file);
    }
    if (status == PFD_OK && files.problem) status = fail_state(args->host, path, &files, err);
    free(text);
    return status;
}

/* The path of a file in a folder, which the caller frees; NULL: the file is not there. */
static pfd_status find_in(const pfd_host *host, const char *folder, const char *name, char **path,
                          pfd_error *err)
{
    int32_t kind;
    if (asprintf(path, "%s/%s", folder, name) < 0) {
        *path = NULL;
        return host->fail(err, PFD_OUT_OF_MEMORY, "no memory for the path of a data set's file");
    }
    pfd_status status = pfd_path_kind(*path, &kind, err);
    if (status == PFD_OK && kind == PFD_PATH_FILE) return PFD_OK;
    free(*path);
    *path = NULL;
    return status;
}

static pfd_status fail_splits(const pfd_host *host, const char *path, pfd_error *err)
{
    return host->fail(err, PFD_INVALID_ARGUMENT,
                      "%s lists several data sets, which are in folders beside it; give the folder "
                      "of one, such as train", path);
}

/* Replaces the folder of a data set by its state.json, and adds its files. */
static pfd_status add_folder(const pfd_companion_args *args, int64_t i, pfd_error *err)
{
    const char *folder = args->paths[i];
    char *state, *splits = NULL;
    pfd_status status = find_in(args->host, folder, STATE_NAME, &state, err);
    if (status == PFD_OK) status = find_in(args->host, folder, SPLITS_NAME, &splits, err);
    if (status == PFD_OK && state) {
        status = args->replace(args->list, i, state, err);
        if (status == PFD_OK) status = add_files_of(args, state, err);
    } else if (status == PFD_OK && splits) {
        status = fail_splits(args->host, splits, err);
    }
    free(state);
    free(splits);
    return status;
}

static pfd_status add_files(const pfd_companion_args *args, pfd_error *err)
{
    for (int64_t i = 0; i < args->num_paths; i++) {
        const char *path = args->paths[i];
        int32_t kind;
        if (has_name(path, SPLITS_NAME)) return fail_splits(args->host, path, err);
        PFD_TRY(pfd_path_kind(path, &kind, err));
        if (kind != PFD_PATH_FILE) PFD_TRY(add_folder(args, i, err));
        else if (is_state(path)) PFD_TRY(add_files_of(args, path, err));
    }
    return PFD_OK;
}

/* ---- Columns of a file, where the user left them out ----------------------------------------- */

typedef struct proposal {
    const pfd_propose_args *args;
    pfd_arrow_schema schema;
    pfd_arrow_proposal of;
} proposal;

static pfd_status propose_schema(walk *w, message *m, pfd_error *err)
{
    proposal *p = w->ctx;
    PFD_TRY(read_schema(w, m, &p->schema, err));
    return pfd_arrow_proposal_begin(p->args, &p->schema, &p->of, err);
}

static pfd_status pass_over(walk *w, message *m, pfd_error *err)
{
    (void)w, (void)m, (void)err;
    return PFD_OK;
}

static pfd_status note_nulls(walk *w, message *m, pfd_error *err)
{
    proposal *p = w->ctx;
    pfd_arrow_batch batch;
    PFD_TRY(read_batch(w, m, &batch, err));
    for (int64_t i = 0; i < p->of.size; i++)
        p->of.columns[i].has_nulls |= pfd_arrow_column_nulls(&p->of.columns[i], &batch);
    return PFD_OK;
}

/* Infers the columns of the first file. */
static pfd_status propose(const pfd_propose_args *args, pfd_error *err)
{
    int64_t first = 0;
    while (first + 1 < args->num_paths && is_state(args->paths[first])) first++;
    proposal p = {.args = args};
    walk w = {.host = args->host, .scratch = args->scratch, .ctx = &p, .schema = propose_schema,
              .dictionary = pass_over, .batch = note_nulls};
    PFD_TRY(args->open(args->found, first, &w.file, err));
    pfd_status status = walk_messages(&w, err);
    if (status == PFD_OK) status = pfd_arrow_proposal_end(&p.of, w.file, err);
    pfd_arrow_schema_free(&p.schema);
    return status;
}

/* ---- The source ------------------------------------------------------------------------------ */

typedef struct arrow_attrs {
    pfd_list_string columns;
} arrow_attrs;

/* The columns of the outputs in files of one schema. */
typedef struct layout {
    pfd_arrow_schema schema;
    int32_t version, num_words;
    int32_t widest; /* the column whose bytes are the records; -1: not known yet */
    pfd_arrow_column *columns;
} layout;

typedef struct batch {
    int64_t words; /* the first one of its words; -1: the body is compressed */
    int64_t at;    /* of its message in the file */
    int32_t file, layout;
} batch;

typedef struct arrow {
    const pfd_host *host;
    const pfd_file *const *files;
    int64_t num_outputs, num_layouts;
    pfd_arrow_output *outputs;
    layout *layouts;
    pfd_shard_table table;
    batch *batches; /* table.size */
    int64_t *words;
    pfd_arrow_extras extras;
    pfd_arrow_dictionary **dictionaries;
    int64_t batches_capacity, num_words, words_capacity;
    int64_t num_dictionaries, dictionaries_capacity;
    int32_t has_packed; /* a body is compressed */
    pfd_arrow_cache *cache;
} arrow;

static void close_arrow(void *source)
{
    arrow *self = source;
    for (int64_t i = 0; i < self->num_layouts; i++) {
        pfd_arrow_schema_free(&self->layouts[i].schema);
        free(self->layouts[i].columns);
    }
    for (int64_t i = 0; i < self->num_dictionaries; i++) {
        free(self->dictionaries[i]->decoded);
        free(self->dictionaries[i]);
    }
    pfd_arrow_cache_free(self->cache);
    free(self->dictionaries);
    free(self->layouts);
    free(self->outputs);
    free(self->batches);
    free(self->words);
    free(self->extras.list);
    pfd_shard_table_free(&self->table);
    free(self);
}

static pfd_status fail_memory(const pfd_host *host, pfd_error *err)
{
    return host->fail(err, PFD_OUT_OF_MEMORY, "no memory for the record batches of Arrow files");
}

/* Makes room for `more` items in a growing array; 0: out of memory. */
static int32_t grow(void **list, int64_t size, int64_t more, int64_t *capacity, size_t item_bytes)
{
    if (size + more <= *capacity) return 1;
    int64_t wanted = 2 * *capacity > size + more ? 2 * *capacity : size + more + 64;
    void *grown = realloc(*list, (size_t)wanted * item_bytes);
    if (!grown) return 0;
    *list = grown;
    *capacity = wanted;
    return 1;
}

/* The bytes that the words of a batch refer to. */
static pfd_arrow_space space_of(const arrow *self, const batch *from)
{
    const pfd_file *file = self->files[from->file];
    return (pfd_arrow_space){.base = pfd_file_data(file), .file = file,
                             .words = self->words + from->words, .extras = self->extras.list};
}

PFD_SOURCE_NUMBER(num_records, arrow, table.num_records)

/* The number of an ordinal's batch, which is likely `guess`; -1: no guess. */
static int64_t number_of(const arrow *self, int64_t ordinal, int64_t guess)
{
    const int64_t *first = self->table.first;
    if (guess >= 0 && ordinal >= first[guess] && ordinal < first[guess + 1]) return guess;
    return pfd_shard_of(&self->table, ordinal);
}

static pfd_arrow_extent place_of(const layout *like, const pfd_arrow_space *space, int64_t index)
{
    return pfd_arrow_column_place(&like->columns[like->widest], space, index);
}

/* In shuffled order nothing of a row is in the cache, so that AT_ONCE rows go through stages: their
 * batches, the words of the batches, their offsets; then, in compute(), their values.  Each stage
 * prefetches what the next one reads. */
enum { AT_ONCE = 64 };

static void prefetch_offsets(const arrow *self, int64_t ordinal, int64_t number)
{
    const batch *from = &self->batches[number];
    if (from->words < 0) return;
    pfd_arrow_space space = space_of(self, from);
    const layout *like = &self->layouts[from->layout];
    int64_t index = ordinal - self->table.first[number];
    for (int64_t i = 0; space.base && i < self->num_outputs; i++)
        pfd_arrow_column_prefetch(&like->columns[i], &space, index);
}

static void prefetch_rows(const arrow *self, const int64_t *ordinals, const int64_t *numbers,
                          int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const batch *from = &self->batches[numbers[i]];
        if (from->words < 0) continue;
        pfd_prefetch_line(self->words + from->words);
        pfd_prefetch_line(self->words + from->words + 8);
    }
    for (int64_t i = 0; i < n; i++) prefetch_offsets(self, ordinals[i], numbers[i]);
}

static void locate(const arrow *self, int64_t ordinal, int64_t number, pfd_record *out)
{
    const batch *from = &self->batches[number];
    *out = (pfd_record){.ordinal = ordinal, .file = from->file, .offset = from->at};
    if (from->words < 0) return;
    pfd_arrow_space space = space_of(self, from);
    if (!space.base) return;
    pfd_arrow_extent place = place_of(&self->layouts[from->layout], &space,
                                      ordinal - self->table.first[number]);
    out->data = space.base + place.offset;
    out->size = place.size;
    out->offset = place.offset;
}

static pfd_status at(void *source, const int64_t *ordinals, int64_t n, pfd_scratch *scratch,
                     pfd_record *out, pfd_error *err)
{
    (void)scratch, (void)err;
    const arrow *self = source;
    int64_t numbers[AT_ONCE], number = -1;
    int32_t is_random = n > 1 && ordinals[n - 1] - ordinals[0] != n - 1;
    for (int64_t i = 0, some; i < n; i += some) {
        some = n - i < AT_ONCE ? n - i : AT_ONCE;
        for (int64_t k = 0; k < some; k++) {
            numbers[k] = number = number_of(self, ordinals[i + k], number);
            if (is_random) pfd_prefetch_line(&self->batches[number]);
        }
        if (is_random) prefetch_rows(self, ordinals + i, numbers, some);
        for (int64_t k = 0; k < some; k++) locate(self, ordinals[i + k], numbers[k], &out[i + k]);
    }
    return PFD_OK;
}

/* Computes places as if all rows of a batch had the same size. */
static void places(void *source, const int64_t *ordinals, int64_t n, pfd_place *out)
{
    const arrow *self = source;
    for (int64_t i = 0; i < n; i++) {
        int64_t number = pfd_shard_of(&self->table, ordinals[i]);
        const batch *from = &self->batches[number], *after = from + 1;
        int32_t is_last = number + 1 >= self->table.size || after->file != from->file ||
                          after->at < from->at;
        int64_t end = is_last ? self->files[from->file]->size : after->at;
        int64_t begin = self->table.first[number], rows = self->table.first[number + 1] - begin;
        double part = (double)(ordinals[i] - begin) / (double)rows;
        out[i] = (pfd_place){.offset = from->at + (int64_t)(part * (double)(end - from->at)),
                             .file = from->file};
    }
}

static const pfd_source_methods random_access = {
    .struct_size = sizeof(pfd_source_methods),
    .close = close_arrow,
    .size = num_records,
    .at = at,
    .places = places,
};

/* ---- Opening --------------------------------------------------------------------------------- */

/* A file that is being opened. */
typedef struct opening {
    arrow *self;
    int64_t layout;
    int64_t *current; /* for each output the dictionary in use; -1: none yet */
} opening;

/* Ends a message with a hint if the file is an indices mapping, which lies beside the data that it
 * selects from. */
static const char *hint_of(const pfd_arrow_schema *schema)
{
    const pfd_arrow_field *field = schema->fields;
    int32_t is_order = schema->num_fields == 1 && field->dtype == PFD_UINT64 &&
                       field->name_size == 7 && !memcmp(field->name, "indices", 7);
    return is_order ? "; this file is an indices mapping of Hugging Face's datasets, an order of "
                      "the rows of other files: leave it out, or apply it with flatten_indices()"
                    : "";
}

static pfd_status make_layout(opening *o, walk *w, message *m, layout *out, pfd_error *err)
{
    arrow *self = o->self;
    *out = (layout){.version = m->head.version, .widest = -1};
    PFD_TRY(read_schema(w, m, &out->schema, err));
    out->columns = calloc((size_t)self->num_outputs + 1, sizeof *out->columns);
    if (!out->columns) return fail_memory(w->host, err);
    for (int64_t i = 0; i < self->num_outputs; i++) {
        pfd_status status =
            pfd_arrow_column_find(w->host, w->file, &out->schema, &self->outputs[i],
                                  &out->num_words, &out->columns[i], err);
        const char *hint = hint_of(&out->schema);
        if (status != PFD_OK && *hint) {
            size_t used = strlen(err->message);
            (void)snprintf(err->message + used, sizeof err->message - used, "%s", hint);
        }
        PFD_TRY(status);
    }
    return PFD_OK;
}

/* Uses the layout of a former file with the same metadata, or makes one. */
static pfd_status open_schema(walk *w, message *m, pfd_error *err)
{
    opening *o = w->ctx;
    arrow *self = o->self;
    for (int64_t i = 0; i < self->num_outputs; i++) o->current[i] = -1;
    layout *last = self->num_layouts ? &self->layouts[self->num_layouts - 1] : NULL;
    o->layout = self->num_layouts - 1;
    if (last && last->version == m->head.version && last->schema.metadata_bytes == m->fb.size &&
        !memcmp(last->schema.metadata, m->fb.data, (size_t)m->fb.size))
        return PFD_OK;
    layout made, *grown = realloc(self->layouts, (size_t)(self->num_layouts + 1) * sizeof *grown);
    if (!grown) return fail_memory(self->host, err);
    self->layouts = grown;
    pfd_status status = make_layout(o, w, m, &made, err);
    self->layouts[self->num_layouts++] = made;
    o->layout++;
    return status;
}

static pfd_status fail_body(walk *w, const message *m, const char *problem, pfd_error *err)
{
    return w->host->fail_file(err, w->file, m->at, PFD_CORRUPT_DATA, "%s", problem);
}

/* Writes the values of a dictionary for the column of one output. */
static pfd_status fill_dictionary(walk *w, message *m, const pfd_arrow_batch *values,
                                  const pfd_arrow_column *column, pfd_arrow_dictionary *out,
                                  pfd_error *err)
{
    arrow *self = ((opening *)w->ctx)->self;
    pfd_arrow_body body = {.batch = values, .base = m->body, .size = m->head.body_bytes};
    pfd_arrow_buffers buffers = {0};
    pfd_status status = PFD_OK;
    *out = (pfd_arrow_dictionary){.rows = values->rows};
    out->space = (pfd_arrow_space){.base = pfd_file_data(w->file), .file = w->file,
                                   .words = out->words};
    if (values->codec != PFD_ARROW_PLAIN) {
        status = pfd_arrow_buffers_begin(w->host, values, &buffers, err);
        if (status == PFD_OK) {
            pfd_arrow_values_buffers(&column->values, values, pfd_arrow_buffers_want, &buffers);
            status = pfd_arrow_buffers_decode(w->host, w->file, &body, w->scratch, &buffers, err);
        }
        out->decoded = buffers.data;
        buffers.data = NULL;
        out->space.base = out->decoded;
        out->space.is_decoded = 1;
    }
    if (status == PFD_OK)
        status = pfd_arrow_values_words(w->host, &column->values, &body, out->words, &self->extras,
                                        err);
    pfd_arrow_buffers_free(&buffers);
    return status == PFD_CORRUPT_DATA && body.problem ? fail_body(w, m, body.problem, err) : status;
}

static pfd_status add_dictionary(walk *w, message *m, const pfd_arrow_batch *values, int64_t output,
                                 pfd_error *err)
{
    opening *o = w->ctx;
    arrow *self = o->self;
    if (!grow((void **)&self->dictionaries, self->num_dictionaries, 1,
              &self->dictionaries_capacity, sizeof *self->dictionaries))
        return fail_memory(w->host, err);
    pfd_arrow_dictionary *made = calloc(1, sizeof *made);
    if (!made) return fail_memory(w->host, err);
    o->current[output] = self->num_dictionaries;
    self->dictionaries[self->num_dictionaries++] = made;
    return fill_dictionary(w, m, values, &self->layouts[o->layout].columns[output], made, err);
}

static pfd_status open_dictionary(walk *w, message *m, pfd_error *err)
{
    opening *o = w->ctx;
    pfd_arrow_batch values;
    PFD_TRY(read_batch(w, m, &values, err));
    for (int64_t i = 0; i < o->self->num_outputs; i++) {
        const pfd_arrow_column *column = &o->self->layouts[o->layout].columns[i];
        if (!column->has_dictionary || column->dictionary != values.dictionary) continue;
        if (values.is_delta)
            return w->host->fail_file(err, w->file, m->at, PFD_UNSUPPORTED,
                                      "the values of a dictionary are continued here (a delta), "
                                      "which is not supported; write the file again with pyarrow, "
                                      "without emit_dictionary_deltas");
        PFD_TRY(add_dictionary(w, m, &values, i, err));
    }
    return PFD_OK;
}

/* Chooses the column whose bytes are the records: the column with the longest of a few rows. */
static int32_t widest_of(const arrow *self, const layout *like, const batch *from, int64_t rows)
{
    int32_t widest = 0;
    int64_t most = -1;
    pfd_arrow_space space = space_of(self, from);
    for (int32_t i = 0; space.base && i < (int32_t)self->num_outputs; i++) {
        for (int64_t k = 0; k < 3; k++) {
            int64_t index = (rows - 1) * k / 2;
            int64_t size = pfd_arrow_column_place(&like->columns[i], &space, index).size;
            if (size <= most) continue;
            most = size;
            widest = i;
        }
    }
    return widest;
}

/* Writes the words of all columns of a batch. */
static pfd_status write_words(const arrow *self, const layout *like, const int64_t *current,
                              pfd_arrow_body *body, int64_t *words, pfd_arrow_extras *extras,
                              pfd_error *err)
{
    for (int64_t i = 0; i < self->num_outputs; i++) {
        const pfd_arrow_column *column = &like->columns[i];
        if (column->has_dictionary && current[i] < 0) {
            body->problem = "a record batch needs a dictionary, and none is before it";
            return self->host->fail(err, PFD_CORRUPT_DATA, "%s", body->problem);
        }
        PFD_TRY(pfd_arrow_column_words(self->host, column, body, current[i], words, extras, err));
    }
    return PFD_OK;
}

static pfd_status open_batch(walk *w, message *m, pfd_error *err)
{
    enum { MOST_ROWS = 1 << 30 };
    opening *o = w->ctx;
    arrow *self = o->self;
    layout *like = &self->layouts[o->layout];
    pfd_arrow_batch found;
    PFD_TRY(read_batch(w, m, &found, err));
    const char *fault = pfd_arrow_batch_fault(&like->schema, &found);
    int32_t is_packed = found.codec != PFD_ARROW_PLAIN;
    if (!fault && is_packed && found.rows > MOST_ROWS)
        fault = "a compressed record batch has more than 2^30 rows";
    if (fault) return fail_body(w, m, fault, err);
    /* The dictionaries of a compressed batch are kept as if they were its words. */
    int64_t more = is_packed ? self->num_outputs : like->num_words;
    if (!grow((void **)&self->batches, self->table.size, 1, &self->batches_capacity,
              sizeof *self->batches) ||
        !grow((void **)&self->words, self->num_words, more, &self->words_capacity,
              sizeof *self->words))
        return fail_memory(w->host, err);
    batch *made = &self->batches[self->table.size];
    int64_t *words = self->words + self->num_words;
    *made = (batch){self->num_words, m->at, w->file->index, (int32_t)o->layout};
    pfd_arrow_body body = {.batch = &found, .base = m->body, .size = m->head.body_bytes};
    if (is_packed) {
        memcpy(words, o->current, (size_t)self->num_outputs * sizeof *words);
        made->words = -1 - made->words;
        self->has_packed = 1;
    } else {
        pfd_status status = write_words(self, like, o->current, &body, words, &self->extras, err);
        if (status == PFD_CORRUPT_DATA) return fail_body(w, m, body.problem, err);
        PFD_TRY(status);
    }
    self->num_words += more;
    if (!is_packed && like->widest < 0 && found.rows > 0)
        like->widest = widest_of(self, like, made, found.rows);
    return pfd_shard_table_add(&self->table, found.rows, err);
}

static pfd_status open_files(arrow *self, const pfd_open_args *args, pfd_error *err)
{
    enum { MOST_DECODED = 256 << 20 }; /* bytes of batches that are kept: they decode fast */
    int64_t bytes = self->num_outputs * (int64_t)sizeof(int64_t);
    opening o = {.self = self, .current = args->host->alloc(args->scratch, bytes + 1)};
    if (!o.current) return fail_memory(args->host, err);
    for (int64_t i = 0; i < args->num_files; i++) {
        walk w = {.host = args->host, .file = args->files[i], .scratch = args->scratch, .ctx = &o,
                  .schema = open_schema, .dictionary = open_dictionary, .batch = open_batch};
        if (!is_state(w.file->path)) PFD_TRY(walk_messages(&w, err));
    }
    for (int64_t i = 0; i < self->num_layouts; i++)
        if (self->layouts[i].widest < 0) self->layouts[i].widest = 0;
    for (int64_t i = 0; i < self->num_dictionaries; i++)
        self->dictionaries[i]->space.extras = self->extras.list;
    if (self->has_packed && !(self->cache = pfd_arrow_cache_create(args->scratch, MOST_DECODED)))
        return fail_memory(args->host, err);
    return PFD_OK;
}

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const arrow_attrs *attrs = args->attrs;
    for (int64_t i = 0; i < attrs->columns.size; i++) {
        pfd_arrow_output output;
        PFD_TRY(pfd_arrow_output_parse(args->host, attrs->columns.data[i], &output, err));
        args->outputs[i] = output.type;
    }
    return PFD_OK;
}

static pfd_status open_source(const pfd_open_args *args, pfd_source *out, pfd_error *err)
{
    const arrow_attrs *attrs = args->attrs;
    arrow *self = calloc(1, sizeof *self);
    if (!self) return fail_memory(args->host, err);
    *self = (arrow){
        .host = args->host, .files = args->files, .num_outputs = attrs->columns.size};
    self->outputs = calloc((size_t)self->num_outputs + 1, sizeof *self->outputs);
    pfd_status status = self->outputs ? PFD_OK : fail_memory(args->host, err);
    for (int64_t i = 0; status == PFD_OK && i < self->num_outputs; i++)
        status = pfd_arrow_output_parse(args->host, attrs->columns.data[i], &self->outputs[i], err);
    if (status == PFD_OK) status = open_files(self, args, err);
    return pfd_source_opened(status, &random_access, self, out);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* Decodes the chosen columns of a compressed batch. */
static pfd_status decode_columns(const arrow *self, walk *w, message *m, pfd_arrow_decoded *out,
                                 pfd_error *err)
{
    pfd_arrow_batch found;
    const batch *from = &self->batches[out->batch];
    const layout *like = &self->layouts[from->layout];
    const int64_t *current = self->words + (-1 - from->words);
    PFD_TRY(read_batch(w, m, &found, err));
    const char *fault = pfd_arrow_batch_fault(&like->schema, &found);
    if (fault || found.codec == PFD_ARROW_PLAIN)
        return fail_body(w, m, fault ? fault : "the file changed while it was open", err);
    pfd_arrow_body body = {.batch = &found, .base = m->body, .size = m->head.body_bytes};
    pfd_arrow_buffers buffers;
    pfd_status status = pfd_arrow_buffers_begin(self->host, &found, &buffers, err);
    for (int64_t i = 0; status == PFD_OK && i < self->num_outputs; i++)
        pfd_arrow_column_buffers(&like->columns[i], &found, pfd_arrow_buffers_want, &buffers);
    if (status == PFD_OK)
        status = pfd_arrow_buffers_decode(self->host, w->file, &body, w->scratch, &buffers, err);
    out->data = buffers.data;
    out->release = free;
    out->bytes = buffers.bytes + (int64_t)sizeof *out;
    buffers.data = NULL;
    out->words = calloc((size_t)like->num_words + 1, sizeof *out->words);
    if (status == PFD_OK && !out->words) status = fail_memory(self->host, err);
    if (status == PFD_OK) {
        status = write_words(self, like, current, &body, out->words, &out->extras, err);
        if (status == PFD_CORRUPT_DATA) status = fail_body(w, m, body.problem, err);
    }
    pfd_arrow_buffers_free(&buffers);
    out->space = (pfd_arrow_space){.base = out->data, .file = w->file, .words = out->words,
                                   .extras = out->extras.list, .is_passing = 1, .is_decoded = 1};
    return status;
}

static pfd_status decode(const void *ctx, pfd_scratch *scratch, pfd_arrow_decoded *out,
                         pfd_error *err)
{
    const arrow *self = ctx;
    const batch *from = &self->batches[out->batch];
    walk w = {.host = self->host, .file = self->files[from->file], .scratch = scratch};
    message m = {.at = from->at};
    pfd_status status = read_message(self->host, w.file, w.file->size, scratch, &m, err);
    if (status == PFD_END) return fail_kind(&w, &m, "a record batch", err);
    return status == PFD_OK ? decode_columns(self, &w, &m, out, err) : status;
}

/* Makes `number` the batch from which rows are read. */
static pfd_status go_to_batch(const pfd_compute_args *args, int64_t number,
                              pfd_arrow_decoded **held, pfd_arrow_row *row, pfd_error *err)
{
    const arrow *self = args->source;
    const batch *from = &self->batches[number];
    pfd_arrow_cache_release(self->cache, *held, 0);
    *held = NULL;
    if (from->words >= 0) {
        row->space = space_of(self, from);
        return PFD_OK;
    }
    pfd_status status = pfd_arrow_cache_hold(self->cache, self->host, number, decode, self,
                                             args->scratch, held, err);
    if (status == PFD_OK)
        row->space = pfd_arrow_cache_lend(self->cache, *held, args->scratch);
    else err->row = row->row;
    return status;
}

/* Writes n rows or fewer, which have no neighbours. */
static pfd_status gather_rows(const arrow *self, pfd_arrow_row *row, int64_t n, pfd_error *err)
{
    pfd_arrow_spot spots[AT_ONCE];
    const pfd_record *records = row->args->records + row->row;
    int64_t number = -1;
    int32_t like = -1;
    for (row->n = 0; row->n < n && row->n < AT_ONCE; row->n++) {
        int64_t ordinal = records[row->n].ordinal;
        number = number_of(self, ordinal, number);
        const batch *from = &self->batches[number];
        if (like >= 0 && from->layout != like) break;
        like = from->layout;
        spots[row->n] =
            (pfd_arrow_spot){space_of(self, from), ordinal - self->table.first[number]};
    }
    return pfd_arrow_rows_gather(self->layouts[like].columns, self->outputs, self->num_outputs,
                                 row, spots, err);
}

static pfd_status write_rows(const pfd_compute_args *args, pfd_arrow_decoded **held, pfd_error *err)
{
    const arrow *self = args->source;
    int64_t number = -1;
    pfd_arrow_row row = {.args = args, .dictionaries = self->dictionaries};
    while (row.row < args->num_rows) {
        int64_t alone = self->has_packed ? 0 : pfd_arrow_rows_alone(args, row.row);
        if (alone > 1) {
            PFD_TRY(gather_rows(self, &row, alone, err));
            number = -1; /* the row may be in the batch of any of these */
            continue;
        }
        int64_t ordinal = args->records[row.row].ordinal;
        int64_t found = number_of(self, ordinal, number);
        if (found != number) PFD_TRY(go_to_batch(args, found, held, &row, err));
        number = found;
        row.index = ordinal - self->table.first[number];
        row.n = pfd_arrow_neighbours(args, row.row, self->table.first[number + 1]);
        const layout *like = &self->layouts[self->batches[number].layout];
        PFD_TRY(pfd_arrow_rows_write(like->columns, self->outputs, self->num_outputs, &row, err));
    }
    return PFD_OK;
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    const arrow *self = args->source;
    pfd_arrow_decoded *held = NULL;
    pfd_status status = write_rows(args, &held, err);
    pfd_scratch_rows_last(args->scratch); /* they are in files or lent batches, or were copied */
    pfd_arrow_cache_release(self->cache, held, 0);
    return status;
}

/* ---- The op ---------------------------------------------------------------------------------- */

static const pfd_attr attrs[] = {
    PFD_FOUND_ATTR_ROW(arrow_attrs, columns, PFD_ATTR_LIST_STRING, NULL, 0, 0, NULL,
                       "Columns to read, each [NAME=]PATH[:TYPE][=DEFAULT]: 'label:int64', 'text' "
                       "(bytes), 'x:float32[?]', 'lang=meta.lang:bytes=', 'tags:json' (the text of "
                       "the value in JSON); a default replaces nulls. If left out, all columns of "
                       "the first file whose types rows can have."),
};

static const pfd_port outputs[] = {
    {"out", "A column: numbers and fixed-size lists as dense rows, lists as ragged rows, texts and "
            "binary as ragged uint8."},
};

const pfd_op pfd_op_arrow_reader = {
    PFD_READER(PFD_READS_FILES, outputs),
    .name = "ArrowReader",
    .doc = "Reads Apache Arrow IPC files (Feather version 2) and streams in place, in any order: "
           "those of pyarrow, polars and others, and the folders and cache files of Hugging Face's "
           "datasets. Give the folder of a data set, its state.json, or files. Numbers, bools, "
           "dates, times and durations (as integers), fixed-size binary, lists of these, and texts "
           "and binary are read, also as members of structs, and in dictionary encoding. Bodies "
           "may be compressed by LZ4 or zstd. If the offsets of texts or lists decrease, the rows "
           "that they bound are damaged. A damaged offset that still lies between its neighbours "
           "changes the values of the two rows beside it; only a seal detects this.",
    PFD_OP_ATTRS(arrow_attrs, attrs),
    .outputs_attr = "columns",
    .same_without = pfd_always_same,
    .companions = add_files,
    .propose = propose,
};
