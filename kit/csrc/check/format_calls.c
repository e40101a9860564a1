/* Calls probe() and resync() of the formats that an op reads, with the first bytes of the sample's
 * files between forbidden pages. */
#include "check/guard.h"
#include "check/run_state.h"
#include "core/error.h"
#include "registry/node.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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

/* With that many of the bytes. */
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
