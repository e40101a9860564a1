/* Calls the optional functions of an op: group(), describe() and places(); and probe() and resync()
 * of the formats that it reads. */
#include "check/guard.h"
#include "check/calls.h"
#include "core/error.h"
#include "registry/node.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- group() --------------------------------------------------------------------------------- */
static pfd_status group_of(pfd_kit_call *call, const pfd_record *record, int64_t *group,
                           pfd_error *err)
{
    const pfd_node *node = call->run->node;
    pfd_kit_scratch scratch;
    if (!pfd_kit_scratch_open(&scratch)) return pfd_fail_memory(err, 0, "a scratch");
    pfd_group_args args = {.struct_size = sizeof args,
                           .host = pfd_kit_host(),
                           .attrs = call->run->attrs,
                           .record = record,
                           .scratch = scratch.scratch};
    pfd_error_clear(err);
    pfd_kit_enter(call, "group()", &scratch);
    pfd_status status = pfd_kit_leave(call, node->op->op->group(&args, group, err), err);
    pfd_kit_scratch_reset(&scratch, call->run, "group()");
    pfd_kit_scratch_close(&scratch);
    return status;
}

pfd_status pfd_kit_try_group(pfd_kit_call *call, const pfd_record *records, int64_t n,
                             pfd_error *err)
{
    if (!call->run->node->op->op->group) return PFD_OK;
    for (int64_t i = 0; i < n; i++) {
        int64_t one = INT64_MIN, two = INT64_MAX; /* a value that group() does not set differs */
        pfd_status status = group_of(call, &records[i], &one, err);
        if (status == PFD_OK) status = group_of(call, &records[i], &two, err);
        if (status != PFD_OK) {
            err->row = i;
            return status;
        }
        if (one != two)
            pfd_kit_report(call->run, "group-differs",
                           "two calls of group() with record %" PRId64 " gave %" PRId64 " and "
                           "%" PRId64 ": set *group in every case, from the record and the attrs "
                           "alone, or batches differ from run to run",
                           records[i].ordinal, one, two);
    }
    return PFD_OK;
}

/* ---- describe() ------------------------------------------------------------------------------ */
void pfd_kit_try_describe(pfd_kit_call *call, const pfd_kit_source *source,
                          const pfd_record *record)
{
    if (!source->methods.describe || call->run->options->num_threads > 1) return;
    pfd_error err;
    pfd_error_init(&err);
    (void)pfd_fail(&err, PFD_CORRUPT_DATA, "a record that cannot be parsed");
    err.ordinal = record->ordinal;
    err.byte = record->offset;
    pfd_kit_enter(call, "describe()", NULL);
    source->methods.describe(source->self, record, &err);
    pfd_kit_left(call);
    if (err.line < 1 && err.line != -1)
        pfd_kit_report(call->run, "describe-line",
                       "describe() set err->line = %" PRId64 " for record %" PRId64
                       "; lines count from 1: leave it alone where the line is not known",
                       err.line, record->ordinal);
    int32_t is_byte_kept = err.byte == record->offset || (err.byte == -1 && err.file[0]);
    if (err.status != PFD_CORRUPT_DATA || !is_byte_kept || err.ordinal != record->ordinal)
        pfd_kit_report(call->run, "describe-line",
                       "describe() changed status, byte or ordinal of the error of record %" PRId64
                       ": it sets err->line, and err->file with err->byte = -1",
                       record->ordinal);
}

/* ---- places() -------------------------------------------------------------------------------- */
static void check_places(pfd_kit_call *call, const pfd_kit_source *source, const int64_t *ordinals,
                         int64_t n, const pfd_place *places)
{
    int64_t most_files = source->num_files > 0 ? source->num_files : 1;
    for (int64_t i = 0; i < n; i++) {
        const pfd_place *place = &places[i];
        int32_t wrong_file = place->file < 0 || place->file >= most_files;
        if (!wrong_file && place->offset >= 0 &&
            (!source->files || place->offset <= source->list[place->file]->size))
            continue;
        pfd_kit_report(call->run, "place-field",
                       "places() says that record %" PRId64 " is in file %d at byte %" PRId64
                       ": %s; set offset and file of every place",
                       ordinals[i], place->file, place->offset,
                       wrong_file ? "the reader has fewer files" : "this is not within the file");
        return;
    }
}

void pfd_kit_try_places(pfd_kit_call *call, const pfd_kit_source *source, const int64_t *ordinals,
                        int64_t n)
{
    if (!source->methods.places || call->run->options->num_threads > 1) return;
    int64_t asked_bytes = n * (int64_t)sizeof *ordinals, bytes = n * (int64_t)sizeof(pfd_place);
    int32_t asked = pfd_guard_make(PFD_GUARD_ORDINALS, n, asked_bytes, 8, 0, 0);
    int32_t found = pfd_guard_make(PFD_GUARD_FOUND, n, bytes, 8, 0, PFD_KIT_FILL_1);
    if (asked >= 0 && found >= 0) {
        int64_t *copy = (void *)pfd_guard_at(asked)->data;
        pfd_place *places = (void *)pfd_guard_at(found)->data;
        memcpy(copy, ordinals, (size_t)asked_bytes);
        pfd_guard_make_read_only(asked);
        pfd_kit_enter(call, "places()", NULL);
        source->methods.places(source->self, copy, n, places);
        pfd_kit_left(call);
        check_places(call, source, copy, n, places);
    }
    pfd_guard_release(asked);
    pfd_guard_release(found);
}

/* ---- blocks() -------------------------------------------------------------------------------- */
void pfd_kit_try_blocks(pfd_kit_call *call, const pfd_kit_source *source)
{
    if (!source->methods.blocks || !source->methods.at || source->size < 0) return;
    int64_t n = -1, i = 0;
    pfd_kit_enter(call, "blocks()", NULL);
    const int64_t *first = source->methods.blocks(source->self, &n);
    pfd_kit_left(call);
    if (n < 0 || !first) {
        pfd_kit_report(call->run, "block-numbers",
                       "blocks() returned %s and *num_blocks = %" PRId64 "; it returns the number "
                       "of the first record of each block, and then the number of all records",
                       first ? "an array" : "NULL", n);
        return;
    }
    call->reading = "array of blocks()";
    int32_t has_all = first[0] == 0 && first[n] == source->size;
    while (i < n && first[i] < first[i + 1]) i++;
    call->reading = NULL;
    if (!has_all)
        pfd_kit_report(call->run, "block-numbers",
                       "the %" PRId64 " blocks of blocks() are of records %" PRId64 " to %" PRId64
                       "; they must have all %" PRId64 " records: the first number is 0, and the "
                       "last one that of all records",
                       n, first[0], first[n], source->size);
    else if (i < n)
        pfd_kit_report(call->run, "block-numbers",
                       "blocks() says that block %" PRId64 " begins with record %" PRId64
                       " and the next one with record %" PRId64 "; the numbers must rise: each "
                       "record is in one block",
                       i, first[i], first[i + 1]);
}

/* ---- need() ---------------------------------------------------------------------------------- */
void pfd_kit_try_need(pfd_kit_call *call, const pfd_kit_source *source, const int64_t *ordinals,
                      int64_t n, pfd_kit_scratch *scratch)
{
    if (!source->methods.need || call->run->options->num_threads > 1) return;
    pfd_kit_enter(call, "need()", NULL);
    int32_t has_objects = source->methods.need(source->self, NULL, 0, NULL);
    pfd_kit_left(call);
    if (!has_objects) return;
    int64_t bytes = n * (int64_t)sizeof *ordinals;
    int32_t asked = pfd_guard_make(PFD_GUARD_ORDINALS, n, bytes, 8, 0, 0);
    if (asked < 0) return;
    int64_t *copy = (void *)pfd_guard_at(asked)->data;
    memcpy(copy, ordinals, (size_t)bytes);
    pfd_guard_make_read_only(asked);
    pfd_kit_enter(call, "need()", scratch);
    (void)source->methods.need(source->self, copy, n, scratch->scratch);
    pfd_kit_left(call);
    pfd_kit_scratch_reset(scratch, call->run, "need()");
    if (ordinals[0] % 2) { /* so that need() is called again both with and without this before */
        pfd_kit_enter(call, "need()", NULL);
        (void)source->methods.need(source->self, NULL, -1, NULL);
        pfd_kit_left(call);
    }
    pfd_guard_release(asked);
}

/* ---- probe() and resync(), with the first bytes of files between forbidden pages ------------- */
enum { most_files = 4 };

/* The first bytes of a file. */
typedef struct head {
    const char *path;
    const uint8_t *data;
    int64_t size, file_size;
} head;

static int32_t call_probe(pfd_kit_call *call, const pfd_format *format, const head *from)
{
    pfd_probe_args args = {.struct_size = sizeof args,
                           .data = from->data,
                           .size = from->size,
                           .file_size = from->file_size,
                           .path = from->path};
    pfd_kit_enter(call, "probe()", NULL);
    int32_t score = format->probe(&args);
    pfd_kit_left(call);
    return score;
}

static int64_t call_resync(pfd_kit_call *call, const pfd_format *format, const head *from,
                           int64_t begin)
{
    pfd_kit_enter(call, "resync()", NULL);
    int64_t at = format->resync(from->data, from->size, begin);
    pfd_kit_left(call);
    return at;
}

static void check_probe(pfd_kit_call *call, const pfd_format *format, const head *from)
{
    int32_t one = call_probe(call, format, from), two = call_probe(call, format, from);
    if (one != two)
        pfd_kit_report(call->run, "format-differs",
                       "two calls of probe() of format '%s' with the same %" PRId64
                       " bytes gave %d and %d: it must be a pure function of the bytes and of what "
                       "lies beside the file",
                       format->name, from->size, one, two);
    else if (one < PFD_PROBE_NO || one > PFD_PROBE_CERTAIN)
        pfd_kit_report(call->run, "format-score",
                       "probe() of format '%s' returned %d for %" PRId64
                       " bytes; a score is PFD_PROBE_NO (0) to PFD_PROBE_CERTAIN (100)",
                       format->name, one, from->size);
}

static void check_resync(pfd_kit_call *call, const pfd_format *format, const head *from)
{
    const int64_t begins[] = {0, from->size < 1 ? 0 : 1, from->size};
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++) {
        int64_t one = call_resync(call, format, from, begins[i]);
        int64_t two = call_resync(call, format, from, begins[i]);
        if (one != two)
            pfd_kit_report(call->run, "format-differs",
                           "two calls of resync() of format '%s' with the same %" PRId64
                           " bytes gave %" PRId64 " and %" PRId64
                           ": it must be a pure function of the bytes",
                           format->name, from->size, one, two);
        else if (one < begins[i] || one > from->size)
            pfd_kit_report(call->run, "format-score",
                           "resync() of format '%s' returned %" PRId64 "; it must lie between "
                           "`from` (%" PRId64 ") and the size (%" PRId64 ")",
                           format->name, one, begins[i], from->size);
    }
}

/* Calls both functions with the first `size` bytes. */
static void try_bytes(pfd_kit_call *call, const pfd_format *format, head from, int64_t size)
{
    if (size > from.size) return;
    int32_t region = pfd_guard_make(PFD_GUARD_HEAD, 0, size, 1, 0, 0);
    if (region < 0) return;
    uint8_t *copy = pfd_guard_at(region)->data;
    if (size > 0) memcpy(copy, from.data, (size_t)size);
    pfd_guard_make_read_only(region);
    from.data = copy;
    from.size = size;
    if (format->probe) check_probe(call, format, &from);
    if (format->resync) check_resync(call, format, &from);
    pfd_guard_release(region);
}

static void try_file(pfd_kit_call *call, const pfd_format *format, const char *path, uint8_t *bytes)
{
    const char *compression = NULL;
    pfd_error damage, err;
    head from = {.path = path, .data = bytes};
    pfd_error_init(&damage);
    pfd_error_init(&err);
    if (pfd_file_head(path, bytes, PFD_PROBE_BYTES, &from.size, &from.file_size, &compression,
                      &damage, &err) != PFD_OK)
        return;
    if (strcmp(compression, "none") != 0) from.file_size = -1;
    for (int64_t size = 0; size <= 32; size++) try_bytes(call, format, from, size);
    try_bytes(call, format, from, 512);
    if (from.size > 32) try_bytes(call, format, from, from.size);
    call->run->result->num_records++;
}

pfd_status pfd_kit_try_formats(pfd_kit_run_state *run, pfd_error *err)
{
    const pfd_registered_op *op = run->node->op;
    pfd_kit_call call = {.run = run};
    pfd_path_list files = {0};
    uint8_t *bytes = malloc(PFD_PROBE_BYTES);
    pfd_status status = bytes ? PFD_OK : pfd_fail_memory(err, PFD_PROBE_BYTES, "a file's bytes");
    if (status == PFD_OK && run->node->file_attrs)
        status = pfd_node_find_files(run->node, &files, err);
    pfd_kit_active = &call;
    const pfd_format *format;
    for (int64_t i = 0; status == PFD_OK && (format = pfd_format_at(i)) != NULL; i++) {
        if (!format->reader || strcmp(format->reader, op->op->name) != 0) continue;
        for (int64_t k = 0; k < files.size && k < most_files; k++)
            try_file(&call, format, files.paths[k], bytes);
    }
    pfd_kit_active = NULL;
    pfd_path_list_free(&files);
    free(bytes);
    return status;
}
