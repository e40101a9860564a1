/* A plugin of interface 1.1 that uses what 1.0 had not: a format, looks_like(), fail_attr(), and
 * the fields of an error.  It must load and work for ever: this file only grows until 1.1 is
 * released, and then does not change. */
#include "pyflowdata/op.h"

#include <string.h>

typedef struct pairs_attrs {
    int64_t step;
} pairs_attrs;

static const pfd_attr attr_table[] = {
    PFD_ATTR_ROW(pairs_attrs, step, PFD_ATTR_INT64, "1", 1, 9, NULL, "Nothing but 1 and 2."),
};

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const pairs_attrs *attrs = args->attrs;
    if (attrs->step > 2)
        return args->host->fail_attr(err, "step", NULL, PFD_INVALID_ARGUMENT, " = %d; 1 or 2",
                                     (int)attrs->step);
    args->outputs[0] = (pfd_row_type){.dtype = PFD_UINT8, .ndim = 1, .shape = {2}};
    return PFD_OK;
}

/* "PAIR", then records of two bytes. */
static pfd_status open_source(const pfd_open_args *args, pfd_source *out, pfd_error *err)
{
    static const pfd_fixed_layout layout = {PFD_SIZE(pfd_fixed_layout), 4, 2, 0};
    for (int64_t i = 0; i < args->num_files; i++) {
        const pfd_file *file = args->files[i];
        const uint8_t *head;
        int64_t size = file->size < 512 ? file->size : 512;
        pfd_status status = args->host->read(file, 0, size, args->scratch, &head, err);
        if (status != PFD_OK) return status;
        if (size >= 4 && memcmp(head, "PAIR", 4) == 0 && file->size % 2) {
            pfd_error own = {.struct_size = sizeof own};
            if (args->host->read(file, file->size, 1, args->scratch, &head, &own) == PFD_OK ||
                own.records != -1 || own.reason != PFD_REASON_NONE)
                return args->host->fail(err, PFD_INTERNAL, "a byte after the end");
            status = args->host->fail_attr(err, "step", file, PFD_CORRUPT_DATA, ": half a pair");
            err->records = file->size / 2 - 2;
            err->reason = PFD_REASON_REST_UNREADABLE;
            return status;
        }
        if (size >= 4 && memcmp(head, "PAIR", 4) == 0) continue;
        const char *seems = args->host->looks_like(head, size, "v11_pairs");
        return args->host->fail_file(err, file, 0, PFD_CORRUPT_DATA, "no pairs, but %s",
                                     seems ? seems : "something else");
    }
    return args->host->open_fixed(args, &layout, out, err);
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    (void)err;
    for (int64_t row = 0; row < args->num_rows; row++)
        memcpy(args->outputs[0]->data + 2 * row, args->records[row].data, 2);
    return PFD_OK;
}

static const pfd_port outputs[] = {{"out", "The pairs."}};

static const pfd_op op = {
    PFD_OP_SIZES,
    .flags = PFD_READS_FILES,
    .name = "V11Pairs",
    .doc = "Reads pairs.",
    .attrs = attr_table,
    .num_attrs = PFD_COUNT(attr_table),
    .attrs_struct_size = sizeof(pairs_attrs),
    .outputs = outputs,
    .num_outputs = PFD_COUNT(outputs),
    .infer = infer,
    .open = open_source,
    .compute = compute,
};

/* Each field of the arguments is looked at. */
static int32_t probe(const pfd_probe_args *args)
{
    if (args->size < 4 || memcmp(args->data, "PAIR", 4) != 0) return PFD_PROBE_NO;
    int32_t is_whole = args->file_size < 0 || args->file_size % 2 == 0;
    int32_t is_named = args->path && strstr(args->path, "pairs");
    return is_whole && is_named ? PFD_PROBE_CERTAIN : PFD_PROBE_POSSIBLE;
}

static const pfd_format format = {
    .struct_size = sizeof(pfd_format),
    .flags = 0,
    .name = "v11_pairs",
    .title = "pairs of 1.1",
    .doc = "Pairs of bytes.",
    .suffixes = ".pairs|.pr",
    .reader = "V11Pairs",
    .decoders = NULL,
    .checks = "the first four bytes",
    .folder_file = "pairs.index",
    .probe = probe,
};

static const pfd_op *const ops[] = {&op};
static const pfd_format *const formats[] = {&format};
PFD_PLUGIN_WITH_FORMATS("abi", "1.1", ops, formats)
