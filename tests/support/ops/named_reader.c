/* NamedReader: bytes of each line as outputs that the user names; companion files on request. */
#include "pyflowdata/op.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROW(owner, field, type, default_value, doc)                                                \
    PFD_ATTR_ROW(owner, field, type, default_value, 0, 0, NULL, doc)

static int64_t place_of(const char *element)
{
    const char *equals = strchr(element, '=');
    return equals ? strtoll(equals + 1, NULL, 10) : -1;
}

typedef struct named_reader {
    pfd_list_string columns;
    int32_t has_companions;
} named_reader;

static const pfd_attr named_reader_attrs[] = {
    ROW(named_reader, columns, PFD_ATTR_LIST_STRING, NULL, "NAME=i: byte number i of each line."),
    ROW(named_reader, has_companions, PFD_ATTR_BOOL, "false", "Whether to read PATH.more as well."),
};

static pfd_status named_reader_infer(const pfd_infer_args *args, pfd_error *err)
{
    (void)err;
    for (int64_t i = 0; i < args->num_outputs; i++)
        args->outputs[i] = (pfd_row_type){.dtype = PFD_UINT8};
    return PFD_OK;
}

static pfd_status named_reader_companions(const pfd_companion_args *args, pfd_error *err)
{
    const named_reader *attrs = args->attrs;
    for (int64_t i = 0; attrs->has_companions && i < args->num_paths; i++) {
        char path[4096];
        size_t size = strlen(args->paths[i]);
        if (size > sizeof path - 6) return args->host->fail(err, PFD_IO, "the path is too long");
        memcpy(path, args->paths[i], size);
        memcpy(path + size, ".more", sizeof ".more");
        int32_t is_there = access(args->paths[i], F_OK) == 0;
        PFD_TRY(is_there ? args->add(args->list, path, err) : args->replace(args->list, i, path,
                                     err));
    }
    return PFD_OK;
}

static pfd_status named_reader_open(const pfd_open_args *args, pfd_source *out, pfd_error *err)
{
    return args->host->open_lines(args, out, err);
}

static pfd_status named_reader_compute(const pfd_compute_args *args, pfd_error *err)
{
    const named_reader *attrs = args->attrs;
    for (int64_t i = 0; i < args->num_outputs; i++) {
        int64_t place = place_of(attrs->columns.data[i]);
        for (int64_t row = 0; row < args->num_rows; row++) {
            const pfd_record *record = &args->records[row];
            if (place < 0 || place >= record->size)
                return args->host->fail_row(err, row, record->size, PFD_CORRUPT_DATA,
                                            "the line has no byte %lld", (long long)place);
            args->outputs[i]->data[row] = record->data[place];
        }
    }
    return PFD_OK;
}

static const pfd_port named_reader_outputs[] = {{"out", "A byte of each line."}};

const pfd_op pfd_op_named_reader = {
    PFD_OP_SIZES,
    .flags = PFD_READS_FILES,
    .name = "NamedReader",
    .doc = "Reads bytes of lines.",
    .attrs = named_reader_attrs,
    .num_attrs = PFD_COUNT(named_reader_attrs),
    .attrs_struct_size = sizeof(named_reader),
    .outputs = named_reader_outputs,
    .num_outputs = PFD_COUNT(named_reader_outputs),
    .infer = named_reader_infer,
    .open = named_reader_open,
    .compute = named_reader_compute,
    .outputs_attr = "columns",
    .companions = named_reader_companions,
};
