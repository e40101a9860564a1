/* GroupedReader: lines of two numbers, in batches whose first numbers are the same integer. */
#include "pyflowdata/op.h"

static pfd_status grouped_reader_open(const pfd_open_args *args, pfd_source *out, pfd_error *err)
{
    return args->host->open_lines(args, out, err);
}

static pfd_status grouped_reader_infer(const pfd_infer_args *args, pfd_error *err)
{
    (void)err;
    args->outputs[0] = (pfd_row_type){.dtype = PFD_INT64, .ndim = 1, .shape = {2}};
    return PFD_OK;
}

/* Digits from `at` on; at least one, and not so many that they overflow. */
static int32_t parse_integer(const pfd_record *record, int64_t *at, int64_t *value)
{
    int64_t begin = *at;
    *value = 0;
    while (*at < record->size && record->data[*at] >= '0' && record->data[*at] <= '9') {
        *value = *value * 10 + (record->data[(*at)++] - '0');
    }
    return *at > begin && *at - begin <= 18;
}

static pfd_status grouped_reader_group(const pfd_group_args *args, int64_t *group, pfd_error *err)
{
    int64_t at = 0;
    if (parse_integer(args->record, &at, group)) return PFD_OK;
    return args->host->fail(err, PFD_CORRUPT_DATA, "expected an integer, the group");
}

static pfd_status grouped_reader_compute(const pfd_compute_args *args, pfd_error *err)
{
    int64_t *out = (void *)args->outputs[0]->data;
    for (int64_t i = 0; i < args->num_rows; i++) {
        const pfd_record *record = &args->records[i];
        int64_t at = 0;
        int32_t ok = parse_integer(record, &at, &out[2 * i]);
        ok = ok && at < record->size && record->data[at++] == ',';
        if (!ok || !parse_integer(record, &at, &out[2 * i + 1]) || at != record->size) {
            pfd_status status = args->host->fail(err, PFD_CORRUPT_DATA, "expected two integers");
            err->row = i;
            err->byte = at;
            return status;
        }
    }
    return PFD_OK;
}

static const pfd_port outputs[] = {{"out", "The group and the number of each line."}};

const pfd_op pfd_op_grouped_reader = {
    PFD_OP_SIZES,
    .flags = PFD_READS_FILES,
    .name = "GroupedReader",
    .doc = "Reads lines of a group and a number.",
    PFD_OP_OUTPUTS(outputs),
    .infer = grouped_reader_infer,
    .open = grouped_reader_open,
    .compute = grouped_reader_compute,
    .group = grouped_reader_group,
};
