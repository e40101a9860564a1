/* Opens the files and the source of a reader, and wraps the source in decorators: a shuffle,
 * batches, ranks.  Then answers where records lie, and reads ahead. */
#include "loader/plan/data_reader.h"

#include "core/error.h"
#include "core/hash.h"
#include "core/random.h"
#include "core/tables.h"
#include "dataset/shuffle.h"
#include "dataset/view.h"
#include "files/remote_file.h"
#include "index/index_image.h"
#include "registry/node.h"
#include "registry/version.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- The spec: what decides the order of the records ----------------------------------------- */

/* Room for `bytes` more; NULL: memory is short. */
static char *reserve(pfd_spec *spec, size_t bytes)
{
    char *grown = spec->failed ? NULL : realloc(spec->text, spec->used + bytes);
    if (!grown) {
        spec->failed = 1;
        return NULL;
    }
    spec->text = grown;
    return grown + spec->used;
}

static void add_text(pfd_spec *spec, const char *text)
{
    size_t length = strlen(text);
    char *to = reserve(spec, length + 1);
    if (!to) return;
    memcpy(to, text, length);
    spec->used += length;
}

void pfd_spec_add(pfd_spec *spec, const char *prefix, const char *line)
{
    add_text(spec, prefix);
    add_text(spec, line);
    add_text(spec, "\n");
}

/* "name=value" of one attr. */
static void spec_add_attr(pfd_spec *spec, const char *prefix, const pfd_attrs *attrs,
                          const pfd_attr *row)
{
    add_text(spec, prefix);
    for (size_t room = 128;; room *= 2) {
        char *to = reserve(spec, room);
        if (!to) return;
        pfd_attrs_format(attrs, row, to, room - 1);
        size_t length = strlen(to);
        if (length + 2 >= room) continue; /* the value may have been cut */
        spec->used += length;
        break;
    }
    add_text(spec, "\n");
}

static void add_object(pfd_spec *spec, const char *prefix, const pfd_attrs *attrs,
                       const pfd_attr *row)
{
    const char *at = (const char *)pfd_attrs_struct(attrs) + row->offset;
    pfd_error ignored = {.struct_size = sizeof ignored};
    pfd_table table;
    char line[160];
    if (pfd_table_find(*(const int64_t *)(const void *)at, &table, &ignored) != PFD_OK) return;
    snprintf(line, sizeof line, "%.64s=%" PRId64 " values #%016" PRIx64, row->name, table.count,
             table.fingerprint);
    pfd_spec_add(spec, prefix, line);
    if (table.rule == 0) return;
    snprintf(line, sizeof line, "%.64s.rule=%" PRId64, row->name, table.rule);
    pfd_spec_add(spec, prefix, line);
}

void pfd_spec_add_own_attrs(pfd_spec *spec, const char *prefix, const pfd_node *node)
{
    if (node->whole) node = node->whole; /* a loader may deliver fewer fields */
    const pfd_op *op = node->op->op;
    int32_t is_view = (op->flags & PFD_VIEW) != 0;
    for (uint32_t i = 0; i < op->num_attrs; i++) {
        int32_t names_fields =
            is_view && op->outputs_attr && !strcmp(op->attrs[i].name, op->outputs_attr);
        if (names_fields) continue; /* records are the same whatever their fields are called */
        if (op->attrs[i].flags & PFD_NOT_IN_SPEC) continue;
        if (op->attrs[i].type == PFD_ATTR_OBJECT)
            add_object(spec, prefix, node->attrs, &op->attrs[i]);
        else
            spec_add_attr(spec, prefix, node->attrs, &op->attrs[i]);
    }
}

/* Adds the attrs of every reader that have one of the flags PFD_ORDER_*. */
static void spec_add_reader_attrs(pfd_spec *spec, const pfd_node *node, uint64_t flags)
{
    for (uint32_t i = 0; i < pfd_reader_attr_count; i++) {
        const pfd_attr *row = &pfd_reader_attr_table[i];
        if (row->flags & flags) spec_add_attr(spec, "", node->reader_attrs, row);
    }
}

/* The text without the end of its last line, for the caller to free; NULL: memory was short. */
static char *spec_take(pfd_spec *spec)
{
    if (spec->failed || spec->used == 0) {
        free(spec->text);
        return NULL;
    }
    spec->text[spec->used - 1] = '\0'; /* in place of the last line's end */
    return spec->text;
}

/* ---- The chain of datasets ------------------------------------------------------------------- */

static pfd_status group_of(const void *ctx, const pfd_record *record, int64_t *group,
                           pfd_error *err)
{
    const pfd_data_reader *reader = ctx;
    pfd_error_clear(err);
    pfd_group_args args = {.struct_size = sizeof args,
                           .host = pfd_host_table(),
                           .attrs = pfd_attrs_struct(reader->node->attrs),
                           .record = record,
                           .scratch = reader->group_scratch};
    pfd_scratch_reset(reader->group_scratch);
    pfd_status status = reader->node->op->op->group(&args, group, err);
    status = pfd_check_returned(status, "group", err);
    if (status != PFD_OK) pfd_data_reader_locate(reader, record, err);
    return status;
}

/* The op whose view forms batches in place of Batch; NULL: there is none. */
static const pfd_view_op *former_of(const pfd_data_reader *reader)
{
    const pfd_view_op *view = pfd_view_op_of(reader->batches->op);
    return pfd_view_forms_batches(view) ? view : NULL;
}

/* Opens the view that forms batches, once: what it keeps does not depend on the seed. */
static pfd_status open_former(pfd_data_reader *reader, const pfd_view_op *op,
                              const pfd_dataset *ds, pfd_error *err)
{
    const pfd_reader_attrs *attrs = reader->attrs;
    if (!pfd_dataset_is_random_access(ds))
        return pfd_fail(err, PFD_UNSUPPORTED,
                        "this source can only be read in sequence, and these batches need any "
                        "record at any time; decompress or convert the files");
    if (reader->shuffle != PFD_SHUFFLE_NONE && reader->shuffle != PFD_SHUFFLE_GLOBAL)
        return pfd_fail_attr(err, "shuffle", NULL, PFD_UNSUPPORTED,
                             "; batches of different sizes are shuffled as a whole: use 'global'");
    pfd_batching batching = {.num_records = ds->methods->size(ds),
                             .batch_size = attrs->batch_size,
                             .last_batch = attrs->last_batch,
                             .is_random = reader->shuffle != PFD_SHUFFLE_NONE,
                             .reshuffle = attrs->shuffle_after_epoch};
    pfd_view_args args = {.attrs = pfd_attrs_struct(reader->batches->attrs),
                          .seed = &reader->seed,
                          .name = reader->order_key,
                          .batching = &batching};
    pfd_error_clear(err);
    pfd_status status = op->open(&args, &reader->former, err);
    if (status != PFD_OK) pfd_error_set_op(err, op->op->name);
    return status;
}

static pfd_status wrap_shuffle(const pfd_data_reader *reader, pfd_dataset **ds, pfd_error *err)
{
    const pfd_reader_attrs *attrs = reader->attrs;
    int64_t seed = reader->seed, buffer_size = attrs->shuffle_buffer_size;
    int32_t reshuffle = attrs->shuffle_after_epoch;
    const char *key = reader->order_key;
    if (reader->shuffle == PFD_SHUFFLE_NONE) return PFD_OK;
    if (reader->shuffle == PFD_SHUFFLE_BUFFER)
        return pfd_shuffle_buffer_wrap(ds, seed, key, reshuffle, buffer_size, err);
    if (reader->num_records >= PFD_ENDLESS)
        return pfd_fail(err, PFD_INVALID_ARGUMENT,
                        "the shuffle draws an order of all records, and repeat() has no end: "
                        "shuffle before repeat(), so that each pass has another order, or after "
                        "take(n)");
    int64_t num_blocks;
    const int64_t *blocks = pfd_source_blocks(reader->source, &num_blocks);
    if (reader->shuffle == PFD_SHUFFLE_WINDOW && blocks)
        return pfd_block_shuffle_wrap(ds, seed, key, reshuffle, blocks, num_blocks,
                                      attrs->shuffle_block_size, attrs->shuffle_window,
                                      attrs->shuffle_lanes, attrs->batch_size, err);
    if (reader->shuffle == PFD_SHUFFLE_WINDOW && attrs->shuffle_lanes > 1)
        return pfd_window_lanes_wrap(ds, seed, key, reshuffle, attrs->shuffle_block_size,
                                     attrs->shuffle_window, attrs->shuffle_lanes,
                                     attrs->batch_size, err);
    if (reader->shuffle == PFD_SHUFFLE_WINDOW)
        return pfd_window_shuffle_wrap(ds, seed, key, reshuffle, attrs->shuffle_block_size,
                                       attrs->shuffle_window, err);
    return pfd_random_shuffle_wrap(ds, seed, key, reshuffle, err);
}

static pfd_batch_rule batch_rule(pfd_data_reader *reader)
{
    const pfd_reader_attrs *attrs = reader->attrs;
    return (pfd_batch_rule){.batch_size = attrs->batch_size,
                            .world_size = attrs->world_size,
                            .last_batch = attrs->last_batch,
                            .left_out = &reader->left_out};
}

/* Makes the chain; no other function does. *ds is always a complete dataset. */
static pfd_status wrap(pfd_data_reader *reader, pfd_dataset **ds, pfd_error *err)
{
    const pfd_reader_attrs *attrs = reader->attrs;
    pfd_batch_rule rule = batch_rule(reader);
    int32_t is_stream = !pfd_dataset_is_random_access(*ds);
    if (is_stream || reader->has_groups || reader->shuffle == PFD_SHUFFLE_BUFFER)
        PFD_TRY(pfd_cancellation_wrap(ds, &reader->bounds->cancelled, err));
    const pfd_view_op *former = former_of(reader);
    if (!former) PFD_TRY(wrap_shuffle(reader, ds, err));
    reader->shuffled = *ds;
    if (former && !reader->former) PFD_TRY(open_former(reader, former, *ds, err));
    if (former)
        PFD_TRY(pfd_view_batch_wrap(ds, reader->former, err));
    else if (reader->has_groups)
        PFD_TRY(pfd_group_batch_wrap(ds, attrs->batch_size, attrs->last_batch,
                                     attrs->group_buffer_size, group_of, reader, err));
    else
        PFD_TRY(pfd_batch_wrap(ds, &rule, err));
    reader->logical = *ds;
    if (attrs->world_size > 1)
        PFD_TRY(pfd_distributed_training_wrap(ds, attrs->batch_size, attrs->rank, attrs->world_size,
                                              err));
    return PFD_OK;
}

/* Counts the batches of an epoch; -1: not known.  A shuffle buffer over an index is read in
 * sequence, but its number of batches is known.  It is not known for batches by group and for
 * streams. */
static int64_t count_batches(pfd_data_reader *reader)
{
    const pfd_dataset *chain = reader->chain;
    if (reader->random_access) return chain->methods->num_batches(chain);
    if (reader->num_records < 0 || reader->has_groups) return -1;
    pfd_batch_rule rule = batch_rule(reader);
    int64_t rows = pfd_batch_rows(&rule, reader->num_records);
    return rows / rule.batch_size + (rows % rule.batch_size != 0);
}

static int64_t count_left_out(pfd_data_reader *reader)
{
    if (reader->num_records < 0 || reader->has_groups || former_of(reader)) return -1;
    pfd_batch_rule rule = batch_rule(reader);
    int64_t rows = pfd_batch_rows(&rule, reader->num_records);
    return rows < reader->num_records ? reader->num_records - rows : 0;
}

/* The maximum number of rows of a batch.  If nothing fills up a last batch, it is at most the
 * number of records, so that a batch_size far above that reserves no memory; a source that is read
 * in sequence asks for room for a complete batch. */
static int64_t most_rows(const pfd_data_reader *reader)
{
    const pfd_dataset *logical = reader->logical;
    if (logical->methods->most_rows) return logical->methods->most_rows(logical);
    int64_t most = reader->attrs->batch_size, records = reader->num_records;
    int32_t last = reader->attrs->last_batch;
    int32_t is_filled = last == PFD_LAST_BATCH_PAD || last == PFD_LAST_BATCH_WRAP;
    if (!reader->random_access || is_filled || records >= most) return most;
    return records > 0 ? records : 1;
}

static void note_shape(pfd_data_reader *reader)
{
    const pfd_dataset *chain = reader->chain;
    reader->in_sequence =
        reader->shuffle == PFD_SHUFFLE_NONE && !reader->has_groups && !former_of(reader);
    reader->random_access = pfd_dataset_is_random_access(chain) && chain->methods->num_batches;
    reader->num_batches = count_batches(reader);
    atomic_store(&reader->left_out, count_left_out(reader));
    int64_t most = most_rows(reader), world_size = reader->attrs->world_size;
    reader->local_batch_size = most / world_size + (most % world_size != 0);
}

/* Closes the decorators, but not the source, and returns the source. */
static pfd_dataset *unwrap(const pfd_data_reader *reader)
{
    pfd_dataset *ds = reader->chain;
    while (ds != reader->source) {
        pfd_dataset *inner = ds->inner;
        ds->inner = NULL;
        ds->methods->close(ds);
        ds = inner;
    }
    return ds;
}

pfd_status pfd_data_reader_apply_seed(pfd_data_reader *reader, pfd_error *err)
{
    if (reader->next_seed == reader->seed) return PFD_OK;
    int64_t before = reader->seed;
    reader->seed = reader->next_seed;
    reader->seed_origin = PFD_SEED_GIVEN;
    reader->chain = unwrap(reader);
    pfd_status status = wrap(reader, &reader->chain, err);
    if (status == PFD_OK) return PFD_OK;
    reader->chain = unwrap(reader); /* removes an incomplete chain; the next call tries again */
    reader->seed = before;
    return status;
}

/* PFD_ORDER_*: which attrs decide the order.  The attrs of a shuffle are in the spec only if the
 * reader uses this shuffle, so that a state does not depend on attrs without effect. */
static uint64_t order_flags(const pfd_data_reader *reader)
{
    uint64_t flags = PFD_ORDER_ALWAYS;
    if (reader->shuffle == PFD_SHUFFLE_WINDOW) flags |= PFD_ORDER_WINDOW;
    if (reader->shuffle == PFD_SHUFFLE_WINDOW && reader->attrs->shuffle_lanes > 1)
        flags |= PFD_ORDER_LANES;
    if (reader->shuffle == PFD_SHUFFLE_BUFFER && reader->num_records >= 0)
        flags |= PFD_ORDER_BUFFER;
    return reader->has_groups ? flags | PFD_ORDER_GROUPS : flags;
}

static pfd_status make_spec(pfd_data_reader *reader, pfd_error *err)
{
    pfd_spec spec = {0};
    pfd_spec_add(&spec, "op=", reader->node->op->op->name);
    pfd_spec_add_own_attrs(&spec, "", reader->node);
    if (former_of(reader)) pfd_spec_add_own_attrs(&spec, "batches.", reader->batches);
    spec_add_reader_attrs(&spec, reader->batches, order_flags(reader));
    reader->spec = spec_take(&spec);
    return reader->spec ? PFD_OK : pfd_fail_memory(err, 1024, "a reader's attrs in words");
}

static pfd_status name_reader(pfd_data_reader *reader, int32_t index, pfd_error *err)
{
    char numbered[128];
    snprintf(numbered, sizeof numbered, "%s_%d", reader->node->op->op->name, index);
    const char *given = reader->batches->name[0] ? reader->batches->name : reader->node->name;
    const char *name = given[0] ? given : numbered;
    const char *key = reader->attrs->order_key[0] ? reader->attrs->order_key : name;
    reader->name = strdup(name);
    reader->order_key = strdup(key);
    if (!reader->name || !reader->order_key) return pfd_fail_memory(err, 1024, "a reader's names");
    return PFD_OK;
}

static pfd_status open_files(pfd_data_reader *reader, pfd_error *err)
{
    if (!reader->node->file_attrs) return PFD_OK;
    PFD_TRY(pfd_node_open_files(reader->node, reader->bounds, &reader->files, err));
    (void)pfd_input_files_list(reader->files, &reader->num_files);
    reader->num_bytes = pfd_input_files_bytes(reader->files);
    reader->fingerprint = pfd_input_files_fingerprint(reader->files);
    return PFD_OK;
}

/* Hashes what decides, besides the files, where records begin: the op with its version, and its
 * attrs. */
static uint64_t hash_op(const pfd_data_reader *reader, uint64_t seed)
{
    const pfd_registered_op *op = reader->node->op;
    struct stat plugin;
    uint64_t hash = pfd_hash_bytes(seed, PFD_VERSION, (int64_t)strlen(PFD_VERSION));
    hash = pfd_hash_bytes(hash, op->op->name, (int64_t)strlen(op->op->name));
    hash = pfd_hash_bytes(hash, op->origin, (int64_t)strlen(op->origin));
    if (stat(op->origin, &plugin) == 0) {
        hash = pfd_hash_word(hash, (uint64_t)plugin.st_size);
        hash = pfd_hash_word(hash, (uint64_t)plugin.st_mtim.tv_sec);
        hash = pfd_hash_word(hash, (uint64_t)plugin.st_mtim.tv_nsec);
    }
    pfd_spec attrs = {0};
    for (uint32_t i = 0; i < op->op->num_attrs; i++) {
        const pfd_attr *row = &op->op->attrs[i];
        int32_t names_outputs = op->op->outputs_attr && !strcmp(row->name, op->op->outputs_attr);
        if (!names_outputs) /* if memory is short, the hash has fewer attrs */
            spec_add_attr(&attrs, "", reader->node->attrs, row);
    }
    hash = pfd_hash_bytes(hash, attrs.text, (int64_t)attrs.used);
    free(attrs.text);
    return hash;
}

static void request_index(const pfd_data_reader *reader, pfd_index_request *request)
{
    const pfd_file_attrs *attrs = pfd_attrs_struct(reader->node->file_attrs);
    int32_t shuffle = PFD_SHUFFLE_NONE;
    pfd_error ignored;
    pfd_error_init(&ignored);
    (void)pfd_reader_attrs_shuffle(reader->attrs, 1, &shuffle, &ignored);
    *request = (pfd_index_request){.folder = attrs->index_dir,
                                   .is_global = shuffle == PFD_SHUFFLE_GLOBAL};
    for (uint64_t i = 0; i < 2; i++)
        pfd_input_files_identify(reader->files, hash_op(reader, i), &request->key.identity[i],
                                 &request->key.stamp[i]);
}

static void note_index(pfd_data_reader *reader, const pfd_index_request *request)
{
    reader->index_bytes = request->bytes;
    reader->index_ns = request->ns;
    reader->indexes_built = request->num_built;
    reader->index_path = strdup(request->path); /* these two are only shown; may be NULL */
    reader->notice = strdup(request->notice);
}

static pfd_status call_open(pfd_data_reader *reader, pfd_source *source, pfd_error *err)
{
    const pfd_op *op = reader->node->op->op;
    pfd_index_request request = {.folder = "none"};
    pfd_open_args args = {.struct_size = sizeof args,
                          .host = pfd_host_table(),
                          .attrs = pfd_attrs_struct(reader->node->attrs),
                          .scratch = pfd_scratch_create()};
    if (!args.scratch) return pfd_fail_memory(err, 0, "a scratch");
    args.access = pfd_reader_attrs_access(reader->attrs);
    if (reader->files) {
        args.files = pfd_input_files_list(reader->files, &args.num_files);
        request_index(reader, &request);
        args.index = &request;
    }
    pfd_error_clear(err);
    pfd_scratch_set_bounds(args.scratch, reader->bounds);
    pfd_status status = PFD_OK;
    for (int64_t i = 0; i < args.num_files && status == PFD_OK; i++)
        status = pfd_check_text_reader(op->name, args.files[i], args.scratch, err);
    if (status == PFD_OK) status = pfd_check_returned(op->open(&args, source, err), "open", err);
    status = pfd_scratch_explain(args.scratch, status, err);
    pfd_scratch_free(args.scratch);
    note_index(reader, &request);
    return status;
}

static pfd_status open_source(pfd_data_reader *reader, pfd_error *err)
{
    pfd_source source = {.struct_size = sizeof source};
    PFD_TRY(call_open(reader, &source, err));
    PFD_TRY(pfd_source_to_dataset(&source, reader->bounds, &reader->chain, err));
    reader->source = reader->chain;
    uint64_t own = pfd_source_fingerprint(reader->source);
    if (own) reader->fingerprint = pfd_hash_word(reader->fingerprint, own);
    reader->outside_bytes = pfd_source_record_bytes(reader->source);
    reader->num_records = -1;
    if (!pfd_dataset_is_random_access(reader->chain)) return PFD_OK;
    reader->num_records = reader->chain->methods->size(reader->chain);
    if (reader->num_records < 0)
        return pfd_fail(err, PFD_INTERNAL,
                        "size() returned %" PRId64 "; it must return the number of records, from 0",
                        reader->num_records);
    return PFD_OK;
}

/* Files without records are a mistake, but one of several data sets may be empty. */
static pfd_status check_records(const pfd_data_reader *reader, pfd_error *err)
{
    if (reader->num_records != 0) return PFD_OK;
    if (reader->num_files == 0)
        (void)pfd_fail(err, PFD_CORRUPT_DATA, "the table, array or source has no rows");
    else
        (void)pfd_fail(err, PFD_CORRUPT_DATA,
                       "there is not one record in %" PRId64 " files of %" PRId64
                       " bytes together; are these the right files?",
                       reader->num_files, reader->num_bytes);
    return pfd_error_set_reason(err, PFD_REASON_NO_RECORDS);
}

/* Refuses the attrs that batches of one group each cannot follow. */
static pfd_status check_groups(const pfd_data_reader *reader, pfd_error *err)
{
    const pfd_reader_attrs *attrs = reader->attrs;
    if (!reader->has_groups) return PFD_OK;
    if (reader->shuffle == PFD_SHUFFLE_WINDOW && attrs->shuffle_lanes > 1)
        return pfd_fail_attr(err, "shuffle_lanes", NULL, PFD_UNSUPPORTED,
                             " = %" PRId32 "; the rows of a batch of one group are not known in "
                             "advance, so they cannot come from lanes: leave it out",
                             attrs->shuffle_lanes);
    if (attrs->last_batch == PFD_LAST_BATCH_EVEN)
        return pfd_fail_attr(err, "last_batch", NULL, PFD_UNSUPPORTED,
                             " = 'even'; batches of one group each are short in the middle of an "
                             "epoch too: use 'pad' or 'drop'");
    return PFD_OK;
}

static pfd_status prepare_shuffle(pfd_data_reader *reader, pfd_error *err)
{
    int64_t num_blocks;
    size_t num_lanes = (size_t)reader->attrs->shuffle_lanes;
    if (reader->shuffle != PFD_SHUFFLE_WINDOW || !reader->files) return PFD_OK;
    if (pfd_source_blocks(reader->source, &num_blocks)) return PFD_OK; /* it reads whole blocks */
    reader->windows_ahead = calloc(num_lanes, sizeof *reader->windows_ahead);
    if (reader->windows_ahead) return PFD_OK;
    return pfd_fail_memory(err, (int64_t)(num_lanes * sizeof *reader->windows_ahead),
                           "shuffle_lanes");
}

enum { most_batches_ahead = 256 };
enum { most_planned = 64 }; /* batches that one range plans: its own rows wait for it */

struct pfd_blocks_ahead {
    _Atomic int32_t is_busy; /* a thread has the fields below */
    _Atomic int64_t now;     /* the batch at work */
    int32_t has_blocks;      /* some of the files are remote; others have no plan */
    int64_t next;            /* the batch to be asked for next */
    int64_t before[most_batches_ahead]; /* blocks that were asked for before a batch was */
    int64_t started;        /* the last batch at which the plan started */
    _Atomic int64_t planned; /* batches that are in the plan */
    int64_t wanted;          /* that shall be */
    int64_t until;           /* as far as the current range plans */
    int64_t resume;          /* the batch at which a full plan is tried again */
    pfd_block_plan *plan;
};

static int32_t has_remote_files(const pfd_data_reader *reader)
{
    int32_t found = reader->files && pfd_input_files_are_remote(reader->files);
    for (int32_t i = 0; i < reader->num_leaves && !found; i++)
        found = has_remote_files(&reader->leaves[i]);
    return found;
}

/* Whether its source, or one below it, has need(). */
static int32_t note_need(pfd_data_reader *reader)
{
    int32_t found = reader->has_need =
        reader->source && pfd_source_need(reader->source, NULL, 0, NULL);
    for (int32_t i = 0; i < reader->num_leaves; i++) found |= note_need(&reader->leaves[i]);
    return found;
}

static pfd_status prepare_blocks_ahead(pfd_data_reader *reader, pfd_error *err)
{
    int32_t has_blocks = has_remote_files(reader), has_objects = note_need(reader);
    reader->is_in_store = has_blocks || has_objects;
    if (!reader->random_access || !reader->is_in_store) return PFD_OK;
    reader->blocks_ahead = calloc(1, sizeof *reader->blocks_ahead);
    if (!reader->blocks_ahead)
        return pfd_fail_memory(err, sizeof *reader->blocks_ahead, "the blocks ahead");
    reader->blocks_ahead->next = -1;
    reader->blocks_ahead->has_blocks = has_blocks;
    reader->blocks_ahead->plan = pfd_block_plan_create();
    if (!reader->blocks_ahead->plan) return pfd_fail_memory(err, 0, "the blocks ahead");
    return PFD_OK;
}

/* Makes the chain over reader->chain, which is the source. */
static pfd_status open_chain(pfd_data_reader *reader, pfd_error *err)
{
    if (reader->has_groups && !(reader->group_scratch = pfd_scratch_create()))
        return pfd_fail_memory(err, 0, "a scratch");
    if (reader->group_scratch) pfd_scratch_set_bounds(reader->group_scratch, reader->bounds);
    PFD_TRY(wrap(reader, &reader->chain, err));
    note_shape(reader);
    return prepare_blocks_ahead(reader, err);
}

static pfd_status open_all(pfd_data_reader *reader, int32_t index, pfd_error *err)
{
    PFD_TRY(name_reader(reader, index, err));
    PFD_TRY(open_files(reader, err));
    PFD_TRY(open_source(reader, err));
    PFD_TRY(check_records(reader, err));
    PFD_TRY(pfd_reader_attrs_shuffle(reader->attrs, pfd_dataset_is_random_access(reader->source),
                                     &reader->shuffle, err));
    PFD_TRY(check_groups(reader, err));
    PFD_TRY(prepare_shuffle(reader, err));
    PFD_TRY(make_spec(reader, err));
    PFD_TRY(open_chain(reader, err));
    if (reader->files &&
        (reader->shuffle == PFD_SHUFFLE_GLOBAL || reader->shuffle == PFD_SHUFFLE_WINDOW))
        pfd_input_files_read_at_random(reader->files);
    return PFD_OK;
}

/* Whether group() decides about batches: the op has one, and its attr does not turn it off. */
static int32_t has_groups(const pfd_node *node)
{
    const pfd_op *op = node->op->op;
    const uint8_t *attrs = pfd_attrs_struct(node->attrs);
    for (uint32_t i = 0; op->group_attr && i < op->num_attrs; i++)
        if (!strcmp(op->attrs[i].name, op->group_attr))
            return *(const int32_t *)(const void *)(attrs + op->attrs[i].offset);
    return op->group != NULL;
}

/* The op that forms batches has set its own name. */
static pfd_status with_op(const pfd_data_reader *reader, pfd_status status, pfd_error *err)
{
    if (status != PFD_OK && !err->op[0]) pfd_error_set_op(err, reader->node->op->op->name);
    return status;
}

int64_t pfd_draw_seed(void)
{
    return (int64_t)(pfd_random_entropy() >> 16); /* short enough to be typed */
}

/* Data may look corrupt because a file is being written. */
static pfd_status explain(const pfd_data_reader *reader, pfd_status status, pfd_error *err)
{
    if (status == PFD_CORRUPT_DATA && reader->files) {
        pfd_error changed;
        pfd_error_init(&changed);
        if (pfd_input_files_check_disk(reader->files, &changed) != PFD_OK) {
            pfd_error_copy(err, &changed);
            status = changed.status;
        }
    }
    return with_op(reader, status, err);
}

void pfd_data_reader_choose_seed(pfd_data_reader *reader, const pfd_node *batches, int64_t drawn)
{
    const pfd_reader_attrs *attrs = pfd_attrs_struct(batches->reader_attrs);
    *reader = (pfd_data_reader){.node = batches, .batches = batches, .attrs = attrs};
    if (attrs->seed >= 0) {
        reader->seed = attrs->seed;
    } else if (attrs->world_size == 1 && drawn >= 0) {
        reader->seed = drawn;
        reader->seed_origin = PFD_SEED_DRAWN;
    } else {
        reader->seed_origin = PFD_SEED_DEFAULT;
    }
    reader->next_seed = reader->seed;
}

pfd_status pfd_data_reader_open(pfd_data_reader *reader, const pfd_node *node,
                                const pfd_node *batches, int32_t index, int64_t drawn_seed,
                                const pfd_bounds *bounds, pfd_error *err)
{
    pfd_data_reader_choose_seed(reader, batches, drawn_seed);
    reader->node = node;
    reader->bounds = bounds;
    reader->has_groups = has_groups(node);
    return explain(reader, open_all(reader, index, err), err);
}

static pfd_status open_for_views(pfd_data_reader *reader, int32_t index, pfd_error *err)
{
    PFD_TRY(name_reader(reader, index, err));
    PFD_TRY(open_files(reader, err));
    PFD_TRY(open_source(reader, err));
    if (reader->num_records >= 0) {
        if (reader->files) pfd_input_files_read_at_random(reader->files);
        return PFD_OK;
    }
    return pfd_fail(err, PFD_UNSUPPORTED,
                    "this source can only be read in sequence, and a view asks for records in any "
                    "order; decompress or convert the files, or cache() the data set");
}

pfd_status pfd_data_reader_open_leaf(pfd_data_reader *reader, const pfd_node *node, int32_t index,
                                     const pfd_bounds *bounds, pfd_error *err)
{
    pfd_data_reader_choose_seed(reader, node, 0);
    reader->bounds = bounds;
    return explain(reader, open_for_views(reader, index, err), err);
}

/* What is known of all readers of a view together. */
static void sum_leaves(pfd_data_reader *reader)
{
    for (int32_t i = 0; i < reader->num_leaves; i++) {
        const pfd_data_reader *leaf = &reader->leaves[i];
        reader->num_files += leaf->num_files;
        reader->num_bytes += leaf->num_bytes;
        reader->outside_bytes += leaf->outside_bytes;
        reader->index_bytes += leaf->index_bytes;
        reader->index_ns += leaf->index_ns;
        reader->indexes_built += leaf->indexes_built;
        reader->fingerprint = pfd_hash_word(reader->fingerprint, leaf->fingerprint);
        reader->fingerprint = pfd_hash_word(reader->fingerprint, (uint64_t)leaf->num_records);
    }
}

static pfd_status open_over_leaves(pfd_data_reader *reader, int32_t index, pfd_spec *views,
                                   pfd_error *err)
{
    PFD_TRY(name_reader(reader, index, err));
    PFD_TRY(pfd_reader_attrs_shuffle(reader->attrs, 1, &reader->shuffle, err));
    if (reader->shuffle == PFD_SHUFFLE_BUFFER)
        return pfd_fail_attr(err, "shuffle", NULL, PFD_UNSUPPORTED,
                             " = 'buffer' is for sources that are read in sequence; any record of "
                             "a view can be read at any time: use 'global' or 'window'");
    if (former_of(reader)) pfd_spec_add_own_attrs(views, "batches.", reader->batches);
    spec_add_reader_attrs(views, reader->batches, order_flags(reader));
    reader->spec = spec_take(views);
    if (!reader->spec) return pfd_fail_memory(err, 1024, "a reader's attrs in words");
    PFD_TRY(pfd_place_source_open(reader->num_records, &reader->chain, err));
    reader->source = reader->chain;
    return open_chain(reader, err);
}

pfd_status pfd_data_reader_open_view(pfd_data_reader *reader, int32_t index, int64_t size,
                                     pfd_data_reader *leaves, int32_t num_leaves, pfd_spec *views,
                                     const pfd_bounds *bounds, pfd_error *err)
{
    reader->bounds = bounds;
    reader->leaves = leaves;
    reader->num_leaves = num_leaves;
    reader->num_records = size;
    sum_leaves(reader);
    return with_op(reader, open_over_leaves(reader, index, views, err), err);
}

void pfd_data_reader_close_files(pfd_data_reader *reader)
{
    if (reader->blocks_ahead) pfd_block_plan_free(reader->blocks_ahead->plan);
    if (reader->blocks_ahead) reader->blocks_ahead->plan = NULL;
    for (int32_t i = 0; i < reader->num_leaves; i++)
        pfd_data_reader_close_files(&reader->leaves[i]);
    pfd_dataset_close(reader->chain);
    pfd_input_files_close(reader->files);
    reader->chain = reader->logical = reader->source = NULL;
    reader->files = NULL;
}

void pfd_data_reader_close(pfd_data_reader *reader)
{
    pfd_data_reader_close_files(reader);
    pfd_scratch_free(reader->group_scratch);
    pfd_view_close(reader->former);
    free(reader->name);
    free(reader->order_key);
    free(reader->spec);
    free(reader->index_path);
    free(reader->notice);
    free(reader->windows_ahead);
    free(reader->blocks_ahead);
    *reader = (pfd_data_reader){0};
}

void pfd_data_reader_locate(const pfd_data_reader *reader, const pfd_record *record, pfd_error *err)
{
    pfd_error_set_op(err, reader->node->op->op->name);
    if (!record) return;
    int64_t num_files = 0;
    const pfd_file *const *files =
        reader->files ? pfd_input_files_list(reader->files, &num_files) : NULL;
    if (record->file >= 0 && record->file < num_files)
        pfd_error_set_file(err, files[record->file]->path);
    err->ordinal = record->ordinal;
    if (reader->files || record->offset > 0 || err->byte >= 0) /* otherwise the place is unknown */
        err->byte = record->offset + (err->byte > 0 ? err->byte : 0);
    if (reader->num_leaves == 0) pfd_dataset_describe(reader->source, record, err);
}

pfd_status pfd_data_reader_check_guard(const pfd_data_reader *reader, pfd_error *err)
{
    for (int32_t i = 0; i < reader->num_leaves; i++)
        PFD_TRY(pfd_data_reader_check_guard(&reader->leaves[i], err));
    if (!reader->files) return PFD_OK;
    return with_op(reader, pfd_input_files_check(reader->files, err), err);
}

pfd_status pfd_data_reader_check_disk(const pfd_data_reader *reader, pfd_error *err)
{
    for (int32_t i = 0; i < reader->num_leaves; i++)
        PFD_TRY(pfd_data_reader_check_disk(&reader->leaves[i], err));
    if (!reader->files) return PFD_OK;
    PFD_TRY(pfd_data_reader_check_guard(reader, err));
    return with_op(reader, pfd_input_files_check_disk(reader->files, err), err);
}

/* ---- Files that a batch was read from -------------------------------------------------------- */

int64_t pfd_data_reader_number_files(pfd_data_reader *reader, int64_t bits)
{
    enum { FEW = 16 }; /* to look at them all takes less than to note them for each record */
    for (int32_t i = 0; i < reader->num_leaves; i++)
        bits = pfd_data_reader_number_files(&reader->leaves[i], bits);
    reader->first_file_bit = -1;
    if (!reader->files || reader->num_files <= FEW || reader->node->op->op->companions) return bits;
    reader->first_file_bit = bits;
    return bits + reader->num_files;
}

void pfd_data_reader_note_files(const pfd_data_reader *reader, const pfd_record *records, int64_t n,
                                pfd_file_set *set)
{
    int32_t last = -1; /* records of one file often follow each other */
    if (reader->first_file_bit < 0) return;
    for (int64_t i = 0; i < n; i++) {
        int32_t file = records[i].file;
        if (file == last || file < 0 || file >= reader->num_files) continue;
        int64_t bit = reader->first_file_bit + file;
        uint64_t mask = UINT64_C(1) << bit % 64;
        if (!(atomic_load_explicit(&set[bit / 64], memory_order_relaxed) & mask))
            atomic_fetch_or_explicit(&set[bit / 64], mask, memory_order_relaxed);
        last = file;
    }
}

static pfd_status check_noted(const pfd_data_reader *reader, const pfd_file_set *set,
                              pfd_error *err)
{
    for (int64_t i = 0; i < reader->num_files;) {
        int64_t bit = reader->first_file_bit + i;
        uint64_t left = atomic_load_explicit(&set[bit / 64], memory_order_relaxed) >> bit % 64;
        if (left & 1) PFD_TRY(pfd_input_files_check_one(reader->files, i, err));
        i += left ? 1 : 64 - bit % 64;
    }
    return PFD_OK;
}

static pfd_status check_each(const pfd_data_reader *reader, pfd_error *err)
{
    for (int64_t i = 0; i < reader->num_files; i++)
        PFD_TRY(pfd_input_files_check_one(reader->files, i, err));
    return PFD_OK;
}

pfd_status pfd_data_reader_check_files(const pfd_data_reader *reader, const pfd_file_set *set,
                                       pfd_error *err)
{
    for (int32_t i = 0; i < reader->num_leaves; i++)
        PFD_TRY(pfd_data_reader_check_files(&reader->leaves[i], set, err));
    if (!reader->files) return PFD_OK;
    pfd_status status = reader->first_file_bit < 0 ? check_each(reader, err)
                                                   : check_noted(reader, set, err);
    return status == PFD_OK ? PFD_OK : with_op(reader, status, err);
}

int64_t pfd_data_reader_bytes_read(const pfd_data_reader *reader)
{
    int64_t bytes = reader->files ? pfd_input_files_bytes_read(reader->files) : 0;
    for (int32_t i = 0; i < reader->num_leaves; i++)
        bytes += pfd_data_reader_bytes_read(&reader->leaves[i]);
    return bytes;
}

/* ---- Places: the reader of a file, and what its source answers ------------------------------- */

/* The reader that has a file; *file becomes its number there. */
static const pfd_data_reader *reader_of(const pfd_data_reader *reader, int64_t *file)
{
    for (int32_t i = 0; i < reader->num_leaves; i++) {
        const pfd_data_reader *leaf = &reader->leaves[i];
        if (*file < leaf->num_files || i == reader->num_leaves - 1) return leaf;
        *file -= leaf->num_files;
    }
    return reader;
}

const char *pfd_record_file(const pfd_data_reader *reader, int64_t file)
{
    int64_t n = 0;
    const pfd_data_reader *own = reader_of(reader, &file);
    const pfd_file *const *files = own->files ? pfd_input_files_list(own->files, &n) : NULL;
    return file >= 0 && file < n ? files[file]->path : NULL;
}

/* *bytes: of what the epoch has still to read, or the next one if the last batch is at work.
 * 0: the plan does not reach to its end. */
static int32_t planned_missing(const pfd_data_reader *reader, int64_t num_batches, int64_t *bytes)
{
    const struct pfd_blocks_ahead *ahead = reader->blocks_ahead;
    int64_t end = ahead && num_batches > 0 ? ((ahead->now + 1) / num_batches + 1) * num_batches
                                           : 0;
    if (!ahead || !ahead->plan || end == 0 || ahead->planned < end) return 0;
    *bytes = pfd_block_plan_missing(ahead->plan, end);
    return 1;
}

int64_t pfd_record_missing_bytes(const pfd_data_reader *reader, int64_t num_batches)
{
    int64_t bytes = 0;
    if (planned_missing(reader, num_batches, &bytes)) return bytes;
    for (int64_t i = 0;; i++) {
        int64_t n = 0, file = i;
        const pfd_data_reader *own = reader_of(reader, &file);
        const pfd_file *const *files = own->files ? pfd_input_files_list(own->files, &n) : NULL;
        if (file < 0 || file >= n) return bytes;
        const pfd_input_file *opened = pfd_input_file_of(files[file]);
        if (opened->remote) bytes += pfd_remote_file_missing(opened->remote);
    }
}

static pfd_status record_at(const pfd_data_reader *own, int64_t ordinal, pfd_scratch *scratch,
                            pfd_record *record, pfd_error *err)
{
    pfd_scratch_reset(scratch);
    pfd_scratch_set_bounds(scratch, own->bounds);
    pfd_error_clear(err);
    return own->source->methods->at(own->source, 0, &ordinal, 1, scratch, record, err);
}

/* The first ordinal in [0, end) whose record is in `file` or after it. */
static pfd_status search(const pfd_data_reader *own, int64_t file, int64_t end,
                         pfd_scratch *scratch, int64_t *ordinal, pfd_error *err)
{
    int64_t begin = 0;
    while (begin < end) {
        pfd_record record;
        const int64_t middle = begin + (end - begin) / 2;
        PFD_TRY(record_at(own, middle, scratch, &record, err));
        if (record.file < file)
            begin = middle + 1;
        else
            end = middle;
    }
    *ordinal = begin;
    return PFD_OK;
}

pfd_status pfd_record_first(const pfd_data_reader *reader, int64_t file, int64_t *ordinal,
                            pfd_error *err)
{
    const pfd_data_reader *own = reader_of(reader, &file);
    if (file < 0 || file >= own->num_files || !own->source || own->num_records < 0)
        return pfd_fail(err, PFD_INVALID_ARGUMENT, "there is no file %" PRId64, file);
    pfd_scratch *scratch = pfd_scratch_create();
    if (!scratch) return pfd_fail_memory(err, 0, "a scratch");
    pfd_status status = search(own, file, own->num_records, scratch, ordinal, err);
    pfd_scratch_free(scratch);
    return status;
}

pfd_status pfd_record_locate(const pfd_data_reader *reader, int64_t file, int64_t ordinal,
                             pfd_error *place)
{
    const pfd_data_reader *own = reader_of(reader, &file);
    if (!own->source || ordinal < 0 || ordinal >= own->num_records)
        return pfd_fail(place, PFD_INVALID_ARGUMENT, "there is no record %" PRId64, ordinal);
    pfd_record record;
    pfd_scratch *scratch = pfd_scratch_create();
    if (!scratch) return pfd_fail_memory(place, 0, "a scratch");
    pfd_status status = record_at(own, ordinal, scratch, &record, place);
    if (status == PFD_OK) pfd_data_reader_locate(own, &record, place);
    pfd_scratch_free(scratch);
    return status;
}

/* ---- Reading ahead: the following bytes, or the blocks of the next window of a shuffle --------
 */

enum { blocks_at_once = 64 };
enum { blocks_looked_at = 16 }; /* blocks of a window; each takes a system call */

/* Reads ahead from the beginning of a block to its last record, and some bytes for that record. */
static void need_range(const pfd_data_reader *reader, const pfd_place *first, const pfd_place *last)
{
    const int64_t beyond = 4096 + 2 * (reader->num_bytes / reader->num_records);
    int64_t num_files;
    const pfd_file *const *files = pfd_input_files_list(reader->files, &num_files);
    for (int32_t i = first->file; i <= last->file && i < num_files; i++) {
        int64_t begin = i == first->file ? first->offset : 0;
        int64_t end = i == last->file ? last->offset + beyond : files[i]->size;
        pfd_file_will_need(files[i], begin, end - begin);
    }
}

/* A window order of an epoch: of all records, or of a lane. */
typedef struct ordered {
    pfd_data_reader *reader;
    const pfd_lanes *lanes; /* NULL: of all records */
    int64_t lane;
    pfd_window_order order;
} ordered;

/* The blocks of a window from the first-th on, as ranges of ordinals: at most blocks_at_once, of
 * which one may be in two ranges. Returns how many ranges. */
static int64_t find_ranges(const ordered *of, int64_t position, int64_t first, int64_t most,
                           pfd_record_range *span, pfd_record_range *ranges)
{
    int64_t n = pfd_window_order_blocks(&of->order, position, span, first, most, ranges);
    return of->lanes ? pfd_window_lanes_ranges(of->lanes, of->lane, ranges, n) : n;
}

static void need_ranges(const pfd_data_reader *reader, const pfd_record_range *ranges, int64_t n)
{
    int64_t ordinals[2 * (blocks_at_once + 1)];
    pfd_place places[2 * (blocks_at_once + 1)];
    for (int64_t i = 0; i < n; i++) {
        ordinals[2 * i] = ranges[i].begin;
        ordinals[2 * i + 1] = ranges[i].end - 1;
    }
    if (!pfd_source_places(reader->source, ordinals, 2 * n, places)) return;
    for (int64_t i = 0; i < n; i++) need_range(reader, &places[2 * i], &places[2 * i + 1]);
}

/* Whether a sample of blocks, spread over the window of a position, is in memory: then most other
 * blocks are too, and no request for each of them is needed, which would take a tenth of the time
 * of the batches. */
static int32_t is_in_memory(const ordered *of, int64_t position)
{
    const pfd_data_reader *reader = of->reader;
    int64_t num_files, step = (int64_t)reader->attrs->shuffle_window / blocks_looked_at + 1;
    const pfd_file *const *files = pfd_input_files_list(reader->files, &num_files);
    int64_t ordinals[blocks_looked_at], n = 0;
    pfd_place places[blocks_looked_at];
    for (; n < blocks_looked_at; n++) {
        pfd_record_range span, ranges[2];
        if (find_ranges(of, position, n * step, 1, &span, ranges) == 0) break;
        ordinals[n] = ranges[0].begin;
    }
    return !pfd_source_places(reader->source, ordinals, n, places) ||
           pfd_files_are_in_memory(files, num_files, places, n);
}

/* Where the window of a position ends. */
static int64_t window_end(const ordered *of, int64_t position)
{
    pfd_record_range span, none;
    (void)pfd_window_order_blocks(&of->order, position, &span, 0, 0, &none);
    return span.end;
}

/* Reads ahead the window of a position. */
static void need_window(const ordered *of, int64_t position)
{
    pfd_record_range span, ranges[blocks_at_once + 1];
    if (is_in_memory(of, position)) return;
    for (int64_t first = 0, n = blocks_at_once; n >= blocks_at_once; first += blocks_at_once) {
        n = find_ranges(of, position, first, blocks_at_once, &span, ranges);
        if (n > 0) need_ranges(of->reader, ranges, n);
    }
}

/* When an order enters a window, reads ahead the next one; in the first window also that one.
 * `position` is one of its `n` positions. */
static void read_ahead_of_window(ordered *of, int64_t epoch, int64_t position, int64_t n)
{
    pfd_data_reader *reader = of->reader;
    int64_t records = (int64_t)reader->attrs->shuffle_block_size * reader->attrs->shuffle_window;
    int64_t windows = n / records + 2, entered = epoch * windows + position / records + 1;
    _Atomic int64_t *ahead = &reader->windows_ahead[of->lane];
    int64_t asked = atomic_load_explicit(ahead, memory_order_relaxed);
    if (asked == entered || asked == entered + 1) return;
    if (!atomic_compare_exchange_strong(ahead, &asked, entered)) return;
    if (of->lanes)
        pfd_window_lanes_order(reader->shuffled, epoch, of->lane, &of->order);
    else
        pfd_window_shuffle_order(reader->shuffled, epoch, &of->order);
    if (asked != entered - 1) need_window(of, position);
    int64_t end = window_end(of, position);
    if (end < n) need_window(of, end);
}

/* Reads ahead in each order that the rows are of.  Rows that only fill the last batch have later
 * positions. */
static void read_ahead_of_windows(pfd_data_reader *reader, int64_t epoch, int64_t position,
                                  int64_t rows)
{
    ordered of = {.reader = reader, .lanes = pfd_window_lanes(reader->shuffled)};
    int64_t end = position + rows < reader->num_records ? position + rows : reader->num_records;
    if (!of.lanes && position < end)
        read_ahead_of_window(&of, epoch, end - 1, reader->num_records);
    while (of.lanes && position < end) {
        pfd_lane_run run = pfd_lanes_find(of.lanes, position);
        int64_t left = end - position, last = run.count < left ? run.count - 1 : left - 1;
        of.lane = run.lane;
        read_ahead_of_window(&of, epoch, run.place + last, pfd_lanes_size(of.lanes, run.lane));
        position += last + 1;
    }
}

/* ---- Reading ahead: the blocks of remote files ----------------------------------------------- */

/* The next batch, if the blocks of those before it leave room in the cache. */
static int32_t next_to_ask(struct pfd_blocks_ahead *ahead, int64_t *batch)
{
    int64_t asked = pfd_remote_blocks_asked();
    int64_t before = ahead->before[(ahead->now + 1) % most_batches_ahead];
    int32_t is_due = ahead->next < ahead->now + most_batches_ahead &&
                     (ahead->next <= ahead->now + 1 ||
                      (ahead->next < pfd_block_plan_reach(ahead->plan) &&
                       asked - before < pfd_remote_bytes_ahead() / PFD_CACHE_BLOCK_BYTES));
    if (!is_due) {
        atomic_store_explicit(&ahead->is_busy, 0, memory_order_release);
        return 0;
    }
    ahead->before[ahead->next % most_batches_ahead] = asked;
    *batch = ahead->next++;
    return 1;
}

void pfd_data_reader_jump(pfd_data_reader *reader)
{
    if (reader->has_need) (void)pfd_source_need(reader->source, NULL, -1, NULL);
    for (int32_t i = 0; i < reader->num_leaves; i++) pfd_data_reader_jump(&reader->leaves[i]);
    if (reader->blocks_ahead) reader->blocks_ahead->next = -1;
}

int32_t pfd_data_reader_begin_ask(pfd_data_reader *reader, int64_t now, int64_t *batch)
{
    struct pfd_blocks_ahead *ahead = reader->blocks_ahead;
    if (!ahead || atomic_exchange_explicit(&ahead->is_busy, 1, memory_order_acquire)) return 0;
    if (now > ahead->now || now < ahead->now - most_batches_ahead) ahead->now = now;
    if (ahead->next < ahead->now || ahead->next > ahead->now + most_batches_ahead)
        ahead->next = ahead->now; /* the first batch, or one after a jump */
    return next_to_ask(ahead, batch);
}

int32_t pfd_data_reader_asked(pfd_data_reader *reader, int64_t *batch)
{
    return next_to_ask(reader->blocks_ahead, batch);
}

/* The plan reaches over an epoch, so that it has the next use of each block.  It is prolonged by
 * many batches at a time: orders are made again where the epoch changes. */
int32_t pfd_data_reader_begin_plan(pfd_data_reader *reader, int64_t now, int64_t num_batches,
                                   int64_t *batch)
{
    struct pfd_blocks_ahead *ahead = reader->blocks_ahead;
    if (!ahead || !ahead->has_blocks ||
        atomic_exchange_explicit(&ahead->is_busy, 1, memory_order_acquire))
        return 0;
    if (now == ahead->now) {
        int32_t goes_on = now >= ahead->started && now < ahead->planned; /* maybe without uses */
        if (!pfd_block_plan_begin(ahead->plan, now) && !goes_on)
            ahead->planned = ahead->wanted = ahead->resume = now;
        ahead->started = now;
        /* From the last batch on the next epoch is planned, for pfd_record_missing_bytes(). */
        if (now >= ahead->resume && ahead->planned - now < num_batches + num_batches / 16 + 2)
            ahead->wanted = now + num_batches + num_batches / 8 + 4;
    }
    ahead->until = ahead->planned + most_planned;
    if (ahead->until > ahead->wanted) ahead->until = ahead->wanted;
    return pfd_data_reader_planned(reader, 1, batch);
}

int32_t pfd_data_reader_planned(pfd_data_reader *reader, int32_t has_room, int64_t *batch)
{
    struct pfd_blocks_ahead *ahead = reader->blocks_ahead;
    if (has_room && ahead->planned < ahead->until) {
        *batch = ahead->planned++;
        return 1;
    }
    if (!has_room) {
        ahead->wanted = --ahead->planned;
        ahead->resume = ahead->now + most_planned;
    }
    atomic_store_explicit(&ahead->is_busy, 0, memory_order_release);
    return 0;
}

/* A record, as long as the others; a longer one has its end fetched when it is read. */
static int64_t record_bytes(const pfd_data_reader *reader)
{
    return (reader->num_bytes + reader->num_records - 1) / reader->num_records;
}

int32_t pfd_data_reader_plan(const pfd_data_reader *reader, const pfd_data_reader *own,
                             const pfd_record *places, int64_t n, int64_t batch)
{
    if (!own->files || own->num_records < 1) return 1;
    int32_t added = 1;
    int64_t num_files;
    const pfd_file *const *files = pfd_input_files_list(own->files, &num_files);
    pfd_block_plan_lock();
    for (int64_t i = 0; i < n && added; i++)
        if (places[i].file >= 0 && places[i].file < num_files)
            added = pfd_file_plan(files[places[i].file], places[i].offset, record_bytes(own),
                                  reader->blocks_ahead->plan, batch);
    pfd_block_plan_unlock();
    return added;
}

static void need_objects(const pfd_data_reader *reader, const pfd_record *places, int64_t n,
                         pfd_scratch *scratch)
{
    int64_t *ordinals = pfd_scratch_alloc(scratch, n * (int64_t)sizeof *ordinals);
    for (int64_t i = 0; ordinals && i < n; i++) ordinals[i] = places[i].ordinal;
    if (!ordinals) return;
    pfd_scratch_set_waits(scratch, 0); /* for a list of objects that is in a store itself */
    (void)pfd_source_need(reader->source, ordinals, n, scratch);
    pfd_scratch_set_waits(scratch, 1);
}

void pfd_data_reader_ask(const pfd_data_reader *reader, const pfd_record *places, int64_t n,
                         pfd_scratch *scratch)
{
    if (reader->num_records < 1) return;
    if (reader->has_need) need_objects(reader, places, n, scratch);
    if (!reader->files) return;
    const int64_t bytes = record_bytes(reader);
    int64_t num_files;
    const pfd_file *const *files = pfd_input_files_list(reader->files, &num_files);
    for (int64_t i = 0; i < n; i++)
        if (places[i].file >= 0 && places[i].file < num_files)
            pfd_file_will_need(files[places[i].file], places[i].offset, bytes);
}

/* ---- Reading ahead: what comes next ---------------------------------------------------------- */

void pfd_data_reader_read_ahead(pfd_data_reader *reader, int64_t epoch, int64_t position,
                                const pfd_record *records, int64_t rows)
{
    if (!reader->files || rows < 1 || reader->blocks_ahead) return;
    const pfd_record *last = &records[rows - 1];
    if (reader->in_sequence && last->file >= 0)
        pfd_input_files_read_ahead(reader->files, last->file, last->offset + last->size);
    else if (reader->windows_ahead)
        read_ahead_of_windows(reader, epoch, position, rows);
}
