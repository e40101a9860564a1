/* Opens a reader's files and source, and checks every record that it returns. */
#include "check/guard.h"
#include "check/calls.h"
#include "core/error.h"
#include "core/hash.h"
#include "core/scratch.h"
#include "dataset/dataset.h"
#include "files/codecs.h"
#include "files/input_files.h"
#include "registry/attrs.h"
#include "registry/node.h"

#include <inttypes.h>
#include <string.h>

/* ---- Open and close -------------------------------------------------------------------------- */
static pfd_status open_files(pfd_kit_source *source, pfd_error *err)
{
    if (!source->node->file_attrs) return PFD_OK;
    pfd_status status = pfd_node_open_files(source->node, NULL, &source->files, err);
    if (status == PFD_OK) source->list = pfd_input_files_list(source->files, &source->num_files);
    return status;
}

static pfd_status call_open(pfd_kit_call *call, pfd_kit_source *source, pfd_source *out,
                            pfd_error *err)
{
    pfd_kit_scratch scratch;
    if (!pfd_kit_scratch_open(&scratch)) return pfd_fail_memory(err, 0, "a scratch");
    const pfd_reader_attrs *reader_attrs = pfd_attrs_struct(source->node->reader_attrs);
    pfd_open_args args = {.struct_size = sizeof args,
                          .access = pfd_reader_attrs_access(reader_attrs),
                          .host = source->is_checked ? pfd_kit_host() : pfd_host_table(),
                          .attrs = source->is_checked ? call->run->attrs
                                                      : pfd_attrs_struct(source->node->attrs),
                          .files = source->list,
                          .num_files = source->num_files,
                          .scratch = scratch.scratch};
    pfd_error_clear(err);
    pfd_status status;
    if (source->is_checked) {
        pfd_kit_enter(call, "open()", &scratch);
        status = pfd_kit_leave(call, source->node->op->op->open(&args, out, err), err);
    } else {
        status = source->node->op->op->open(&args, out, err);
    }
    pfd_kit_scratch_reset(&scratch, call->run, "open()");
    pfd_kit_scratch_close(&scratch);
    return status;
}

/* Checks size(), fingerprint(), record_bytes() and blocks() of a source. */
static void ask_about(pfd_kit_call *call, pfd_kit_source *to)
{
    if (!to->is_checked) {
        to->size = to->methods.at ? to->methods.size(to->self) : -1;
        return;
    }
    if (to->methods.at) {
        pfd_kit_enter(call, "size()", NULL);
        to->size = to->methods.size(to->self);
        pfd_kit_left(call);
    }
    if (to->methods.fingerprint) {
        pfd_kit_enter(call, "fingerprint()", NULL);
        (void)to->methods.fingerprint(to->self);
        pfd_kit_left(call);
    }
    if (to->methods.record_bytes) {
        pfd_kit_enter(call, "record_bytes()", NULL);
        (void)to->methods.record_bytes(to->self);
        pfd_kit_left(call);
    }
    pfd_kit_try_blocks(call, to);
}

/* Copies the methods; a method that the author's header does not have is zero. */
static void copy_methods(const pfd_source *from, pfd_kit_source *to)
{
    size_t size = from->methods->struct_size;
    memcpy(&to->methods, from->methods, size < sizeof to->methods ? size : sizeof to->methods);
    to->self = from->self;
}

pfd_status pfd_kit_source_open(pfd_kit_call *call, const pfd_node *node, pfd_kit_source *out,
                               pfd_error *err)
{
    *out = (pfd_kit_source){.node = node, .is_checked = node == call->run->node, .size = -1};
    PFD_TRY(open_files(out, err));
    call->run->file_bytes = out->files ? pfd_input_files_bytes(out->files) : 0;
    pfd_source source = {.struct_size = sizeof source};
    PFD_TRY(call_open(call, out, &source, err));
    pfd_status status = pfd_source_to_dataset(&source, NULL, &out->dataset, err);
    if (status != PFD_OK) {
        if (out->is_checked)
            pfd_kit_report(call->run, "source-methods", "open(): %s", err->message);
        return status;
    }
    copy_methods(&source, out);
    ask_about(call, out);
    call->run->source = out->self;
    if (out->methods.at && out->size < 0) {
        pfd_kit_report(call->run, "negative-size",
                       "size() returned %" PRId64 "; it must be the number of records, from 0",
                       out->size);
        out->size = 0; /* a lower size is a stream's */
    }
    return PFD_OK;
}

void pfd_kit_source_close(pfd_kit_call *call, pfd_kit_source *source)
{
    if (source->dataset) {
        if (source->is_checked) pfd_kit_enter(call, "close()", NULL);
        pfd_dataset_close(source->dataset);
        if (source->is_checked) pfd_kit_left(call);
        call->function = NULL;
    }
    pfd_input_files_close(source->files);
    *source = (pfd_kit_source){.size = -1};
}

/* ---- Records --------------------------------------------------------------------------------- */
uint64_t pfd_kit_hash_record(pfd_kit_call *call, const pfd_record *record)
{
    call->reading = "record";
    call->reading_index = record->ordinal;
    uint64_t hash = pfd_hash_bytes(0, record->data, record->size);
    call->reading = NULL;
    hash = pfd_hash_word(hash, (uint64_t)record->offset);
    hash = pfd_hash_word(hash, (uint64_t)record->file);
    return hash | 2;
}

static void fault_of_record(pfd_kit_call *call, const char *function, const char *field,
                            int64_t value, int64_t ordinal, const char *expected)
{
    pfd_kit_report(call->run, "record-field",
                   "%s returned record %" PRId64 " with %s = %" PRId64
                   "; %s: set every field of the record, best with one (pfd_record){...}",
                   function, ordinal, field, value, expected);
}

/* Offsets in a compressed file count its decompressed bytes. */
static int64_t most_offset(const pfd_kit_source *source, int32_t file)
{
    int32_t takes_folders = (source->node->op->op->flags & PFD_READS_FOLDERS) != 0;
    if (!source->files || takes_folders ||
        pfd_file_compression(source->list[file]) > PFD_COMPRESSION_NONE)
        return INT64_MAX;
    return source->list[file]->size;
}

/* Checks a record. `ordinal` is the requested one; -1: any. */
static pfd_status check_record(pfd_kit_call *call, const pfd_kit_source *source,
                               const char *function, const pfd_record *record, int64_t ordinal,
                               pfd_error *err)
{
    int64_t most_files = source->num_files > 0 ? source->num_files : 1;
    const char *field = NULL, *expected = NULL;
    int64_t value = 0;
    if (ordinal >= 0 && record->ordinal != ordinal)
        field = "ordinal", value = record->ordinal, expected = "it must be the one asked for";
    else if (record->size < 0)
        field = "size", value = record->size, expected = "it must be 0 or more";
    else if (record->size > 0 && !record->data)
        field = "data NULL and size", value = record->size, expected = "it has no bytes";
    else if (record->file < 0 || record->file >= most_files)
        field = "file", value = record->file, expected = "it must be the file's index";
    else if (record->filler != 0)
        field = "filler", value = record->filler, expected = "the host alone sets it, leave it 0";
    else if (record->offset < 0 || record->offset > most_offset(source, record->file))
        field = "offset", value = record->offset, expected = "it must lie within the file";
    if (!field) return PFD_OK;
    fault_of_record(call, function, field, value, ordinal >= 0 ? ordinal : record->ordinal,
                    expected);
    return pfd_fail(err, PFD_INTERNAL, "a record with a wrong field");
}

static pfd_status check_records(pfd_kit_call *call, const pfd_kit_source *source,
                                const char *function, const pfd_record *records,
                                const int64_t *ordinals, int64_t n, pfd_error *err)
{
    for (int64_t i = 0; i < n; i++)
        PFD_TRY(
            check_record(call, source, function, &records[i], ordinals ? ordinals[i] : -1, err));
    return PFD_OK;
}

static pfd_status checked_at(pfd_kit_call *call, const pfd_kit_source *source,
                             const int64_t *ordinals, int64_t n, pfd_kit_scratch *scratch,
                             pfd_record *out, pfd_error *err)
{
    int64_t bytes = n * (int64_t)sizeof *out;
    int32_t asked = pfd_guard_make(PFD_GUARD_ORDINALS, n, n * (int64_t)sizeof *ordinals, 8, 0, 0);
    int32_t found = pfd_guard_make(PFD_GUARD_FOUND, n, bytes, 8, 0, PFD_KIT_FILL_1);
    if (asked < 0 || found < 0) {
        pfd_guard_release(asked);
        pfd_guard_release(found);
        return pfd_fail_memory(err, bytes, "records");
    }
    int64_t *copy = (void *)pfd_guard_at(asked)->data;
    pfd_record *records = (void *)pfd_guard_at(found)->data;
    memcpy(copy, ordinals, (size_t)n * sizeof *ordinals);
    pfd_guard_make_read_only(asked);
    pfd_kit_try_need(call, source, copy, n, scratch);
    pfd_kit_enter(call, "at()", scratch);
    pfd_status status = pfd_kit_leave(
        call, source->methods.at(source->self, copy, n, scratch->scratch, records, err), err);
    if (status == PFD_OK) status = check_records(call, source, "at()", records, ordinals, n, err);
    if (status == PFD_OK) {
        memcpy(out, records, (size_t)bytes);
        pfd_kit_try_describe(call, source, &records[0]);
        pfd_kit_try_places(call, source, copy, n);
    }
    pfd_guard_release(asked);
    pfd_guard_release(found);
    return status;
}

pfd_status pfd_kit_source_at(pfd_kit_call *call, const pfd_kit_source *source,
                             const int64_t *ordinals, int64_t n, pfd_kit_scratch *scratch,
                             pfd_record *out, pfd_error *err)
{
    pfd_error_clear(err);
    if (source->is_checked) return checked_at(call, source, ordinals, n, scratch, out, err);
    pfd_status status = source->methods.at(source->self, ordinals, n, scratch->scratch, out, err);
    return pfd_check_returned(status, "at", err);
}

static pfd_status checked_next(pfd_kit_call *call, const pfd_kit_source *source, int64_t most,
                               pfd_kit_scratch *scratch, pfd_record *out, int64_t *n,
                               pfd_error *err)
{
    int64_t bytes = most * (int64_t)sizeof *out;
    int32_t found = pfd_guard_make(PFD_GUARD_FOUND, most, bytes, 8, 0, PFD_KIT_FILL_1);
    if (found < 0) return pfd_fail_memory(err, bytes, "records");
    pfd_record *records = (void *)pfd_guard_at(found)->data;
    pfd_kit_enter(call, "next()", scratch);
    pfd_status status = source->methods.next(source->self, most, scratch->scratch, records, n, err);
    if (status == PFD_END && err->status == PFD_OK) {
        (void)pfd_kit_leave(call, PFD_OK, err);
        if (*n != 0)
            pfd_kit_report(call->run, "end-with-records",
                           "next() returned PFD_END and *n = %" PRId64
                           ": the host does not take records that come with the end; return "
                           "PFD_OK for them, and PFD_END at the next call",
                           *n);
    } else {
        status = pfd_kit_leave(call, status, err);
    }
    if (status == PFD_OK && (*n < 1 || *n > most)) {
        pfd_kit_report(call->run, "next-count",
                       "next() returned PFD_OK and *n = %" PRId64 "; it must be 1 to max (%" PRId64
                       ") records, or PFD_END at the end",
                       *n, most);
        status = pfd_fail(err, PFD_INTERNAL, "a wrong number of records");
    }
    if (status == PFD_OK) status = check_records(call, source, "next()", records, NULL, *n, err);
    if (status == PFD_OK) {
        memcpy(out, records, (size_t)*n * sizeof *out);
        pfd_kit_try_describe(call, source, &records[0]);
    }
    pfd_guard_release(found);
    return status;
}

pfd_status pfd_kit_source_next(pfd_kit_call *call, const pfd_kit_source *source, int64_t most,
                               pfd_kit_scratch *scratch, pfd_record *out, int64_t *n,
                               pfd_error *err)
{
    *n = 0;
    pfd_error_clear(err);
    if (source->is_checked) return checked_next(call, source, most, scratch, out, n, err);
    return source->methods.next(source->self, most, scratch->scratch, out, n, err);
}

pfd_status pfd_kit_source_seek(pfd_kit_call *call, const pfd_kit_source *source, int64_t position,
                               pfd_error *err)
{
    pfd_kit_scratch scratch;
    if (!pfd_kit_scratch_open(&scratch)) return pfd_fail_memory(err, 0, "a scratch");
    pfd_error_clear(err);
    pfd_kit_enter(call, "seek()", &scratch);
    pfd_status status = source->methods.seek(source->self, call->run->options->epoch, position,
                                             scratch.scratch, err);
    status = pfd_kit_leave(call, status, err);
    pfd_kit_scratch_reset(&scratch, call->run, "seek()");
    pfd_kit_scratch_close(&scratch);
    return status;
}
