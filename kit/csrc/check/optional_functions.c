/* Calls the optional functions of an op: group(), describe() and places(). */
#include "core/error.h"
#include "check/guard.h"
#include "check/run_state.h"

#include <inttypes.h>
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
        int64_t one = INT64_MIN, two = INT64_MAX; /* what is not set differs */
        pfd_status status = group_of(call, &records[i], &one, err);
        if (status == PFD_OK) status = group_of(call, &records[i], &two, err);
        if (status != PFD_OK) {
            err->row = i;
            return status;
        }
        if (one != two)
            pfd_kit_report(call->run, "group-differs",
                           "two calls of group() with record %" PRId64 " gave %" PRId64
                           " and %" PRId64 ": set *group in every case, from the record and the "
                           "attrs alone, or batches are others in each run",
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
    if (err.status != PFD_CORRUPT_DATA || err.byte != record->offset ||
        err.ordinal != record->ordinal)
        pfd_kit_report(call->run, "describe-line",
                       "describe() changed status, byte or ordinal of the error of record %" PRId64
                       ": it sets err->line alone",
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
