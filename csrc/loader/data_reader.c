/* Opens the files and the source of a reader, and wraps the source in decorators. */
#include "core/error.h"
#include "core/hash.h"
#include "core/random.h"
#include "dataset/dataset.h"
#include "index/index_image.h"
#include "loader/data_reader.h"
#include "registry/node_files.h"
#include "registry/version.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static pfd_status group_of(const void *ctx, const pfd_record *record, int64_t *group,
                           pfd_error *err)
{
    const pfd_data_reader *reader = ctx;
    const pfd_op *op = reader->node->op->op;
    const void *attrs = pfd_attrs_struct(reader->node->attrs);
    pfd_error_clear(err);
    pfd_group_args args = {.struct_size = sizeof args,
                           .host = pfd_host_table(),
                           .attrs = attrs,
                           .record = record,
                           .scratch = reader->group_scratch};
    pfd_scratch_reset(reader->group_scratch);
    pfd_status status = op->group(&args, group, err);
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

static void note_shape(pfd_data_reader *reader)
{
    const pfd_dataset *chain = reader->chain;
    reader->in_sequence =
        reader->shuffle == PFD_SHUFFLE_NONE && !reader->has_groups && !former_of(reader);
    reader->random_access = pfd_dataset_is_random_access(chain) && chain->methods->num_batches;
    reader->num_batches = count_batches(reader);
    atomic_store(&reader->left_out, count_left_out(reader));
    const pfd_dataset *logical = reader->logical;
    int64_t most = logical->methods->most_rows ? logical->methods->most_rows(logical)
                                               : reader->attrs->batch_size;
    int64_t world_size = reader->attrs->world_size;
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

static void choose_seed(pfd_data_reader *reader, int64_t drawn)
{
    const pfd_reader_attrs *attrs = reader->attrs;
    reader->seed = attrs->seed;
    if (attrs->seed >= 0) return;
    if (attrs->world_size == 1 && drawn >= 0) {
        reader->seed = drawn;
        reader->seed_origin = PFD_SEED_DRAWN;
    } else {
        reader->seed = 0;
        reader->seed_origin = PFD_SEED_DEFAULT;
    }
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
    pfd_spec_add_reader_attrs(&spec, reader->batches, order_flags(reader));
    reader->spec = pfd_spec_take(&spec);
    return reader->spec ? PFD_OK : pfd_fail_memory(err, 1024, "a reader's attrs in words");
}

static char *copy_text(const char *text)
{
    char *copy = malloc(strlen(text) + 1);
    return copy ? strcpy(copy, text) : NULL;
}

static pfd_status name_reader(pfd_data_reader *reader, int32_t index, pfd_error *err)
{
    char numbered[128];
    snprintf(numbered, sizeof numbered, "%s_%d", reader->node->op->op->name, index);
    const char *given = reader->batches->name[0] ? reader->batches->name : reader->node->name;
    const char *name = given[0] ? given : numbered;
    const char *key = reader->attrs->order_key[0] ? reader->attrs->order_key : name;
    reader->name = copy_text(name);
    reader->order_key = copy_text(key);
    if (!reader->name || !reader->order_key) return pfd_fail_memory(err, 1024, "a reader's names");
    return PFD_OK;
}

static pfd_status open_files(pfd_data_reader *reader, pfd_error *err)
{
    if (!reader->node->file_attrs) return PFD_OK;
    PFD_TRY(pfd_node_open_files(reader->node, &reader->files, err));
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
            pfd_spec_add_attr(&attrs, "", reader->node->attrs, row);
    }
    hash = pfd_hash_bytes(hash, attrs.text, (int64_t)attrs.used);
    free(attrs.text);
    return hash;
}

static void request_index(const pfd_data_reader *reader, pfd_index_request *request)
{
    const pfd_file_attrs *attrs = pfd_attrs_struct(reader->node->file_attrs);
    *request = (pfd_index_request){.folder = attrs->index_dir};
    for (uint64_t i = 0; i < 2; i++)
        pfd_input_files_identify(reader->files, hash_op(reader, i), &request->key.identity[i],
                                 &request->key.stamp[i]);
}

static void note_index(pfd_data_reader *reader, const pfd_index_request *request)
{
    reader->index_bytes = request->bytes;
    reader->index_ns = request->ns;
    reader->indexes_built = request->num_built;
    reader->index_path = copy_text(request->path); /* only shown; may be NULL */
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
    pfd_status status = pfd_check_returned(op->open(&args, source, err), "open", err);
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

/* Of files that are read by themselves; one of several data sets may be empty. */
static pfd_status check_records(const pfd_data_reader *reader, pfd_error *err)
{
    if (reader->num_records != 0) return PFD_OK;
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
                             " = %" PRId32 "; which rows a batch of one group has is not known "
                             "before, so they cannot come from lanes: leave it out",
                             attrs->shuffle_lanes);
    if (attrs->last_batch == PFD_LAST_BATCH_EVEN)
        return pfd_fail_attr(err, "last_batch", NULL, PFD_UNSUPPORTED,
                             " = 'even'; batches of one group each are short in the middle of an "
                             "epoch too: use 'pad' or 'drop'");
    return PFD_OK;
}

/* What only some shuffles need. */
static pfd_status prepare_shuffle(pfd_data_reader *reader, pfd_error *err)
{
    size_t num_lanes = (size_t)reader->attrs->shuffle_lanes;
    if (reader->shuffle != PFD_SHUFFLE_WINDOW || !reader->files) return PFD_OK;
    reader->windows_ahead = calloc(num_lanes, sizeof *reader->windows_ahead);
    if (reader->windows_ahead) return PFD_OK;
    return pfd_fail_memory(err, (int64_t)(num_lanes * sizeof *reader->windows_ahead),
                           "shuffle_lanes");
}

/* Makes the chain over reader->chain, which is the source. */
static pfd_status open_chain(pfd_data_reader *reader, pfd_error *err)
{
    if (reader->has_groups && !(reader->group_scratch = pfd_scratch_create()))
        return pfd_fail_memory(err, 0, "a scratch");
    if (reader->group_scratch) pfd_scratch_set_bounds(reader->group_scratch, reader->bounds);
    PFD_TRY(wrap(reader, &reader->chain, err));
    note_shape(reader);
    return PFD_OK;
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
        if (pfd_input_files_check(reader->files, &changed) != PFD_OK) {
            pfd_error_copy(err, &changed);
            status = changed.status;
        }
    }
    return with_op(reader, status, err);
}

void pfd_data_reader_choose_seed(pfd_data_reader *reader, const pfd_node *batches, int64_t drawn)
{
    *reader = (pfd_data_reader){.node = batches, .batches = batches,
                                .attrs = pfd_attrs_struct(batches->reader_attrs)};
    choose_seed(reader, drawn);
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
                             " = 'buffer' is for sources that are read in sequence; the records of "
                             "a view have numbers: use 'global' or 'window'");
    if (former_of(reader)) pfd_spec_add_own_attrs(views, "batches.", reader->batches);
    pfd_spec_add_reader_attrs(views, reader->batches, order_flags(reader));
    reader->spec = pfd_spec_take(views);
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
    free(reader->windows_ahead);
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

int64_t pfd_data_reader_bytes_read(const pfd_data_reader *reader)
{
    int64_t bytes = reader->files ? pfd_input_files_bytes_read(reader->files) : 0;
    for (int32_t i = 0; i < reader->num_leaves; i++)
        bytes += pfd_data_reader_bytes_read(&reader->leaves[i]);
    return bytes;
}
