/* GPTReader: reads windows of seq_length + 1 tokens, to train language models. */
#include "pyflowdata/op.h"
#include "formats/megatron/token_windows.h"

#include <inttypes.h>

enum { ORDER_OWN, ORDER_MEGATRON };

typedef struct gpt_reader {
    int64_t seq_length;
    int32_t dtype, format, file_dtype, gaps, order;
    int64_t header_bytes;
    int64_t num_samples, megatron_seed;
    pfd_list_float64 split;
    int32_t split_index;
} gpt_reader;

/* In the order of the attr's choices. */
static const int32_t file_dtypes[] = {0,         PFD_UINT8,  PFD_INT8,  PFD_UINT16,
                                      PFD_INT16, PFD_UINT32, PFD_INT32, PFD_INT64};
#define FILE_DTYPES "auto|uint8|int8|uint16|int16|uint32|int32|int64"

static const char *needless_attr(const gpt_reader *attrs)
{
    if (attrs->num_samples > 0) return "num_samples";
    if (attrs->split.size > 0) return "split";
    return attrs->split_index > 0 ? "split_index" : NULL;
}

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const gpt_reader *attrs = args->attrs;
    const char *needless = attrs->order == ORDER_MEGATRON ? NULL : needless_attr(attrs);
    if (needless)
        return args->host->fail_attr(err, needless, NULL, PFD_INVALID_ARGUMENT,
                                     " is only for order='megatron'; leave it out, or set "
                                     "order='megatron'");
    args->outputs[0] =
        (pfd_row_type){.dtype = attrs->dtype, .ndim = 1, .shape = {attrs->seq_length + 1}};
    return PFD_OK;
}

static pfd_status open_source(const pfd_open_args *args, pfd_source *out, pfd_error *err)
{
    const gpt_reader *attrs = args->attrs;
    pfd_token_options options = {.format = attrs->format,
                                 .file_dtype = file_dtypes[attrs->file_dtype],
                                 .header_bytes = attrs->header_bytes,
                                 .gaps = attrs->gaps,
                                 .row_dtype = attrs->dtype,
                                 .same_dtype = 1};
    pfd_megatron_request order = {.seq_length = attrs->seq_length,
                                  .num_samples = attrs->num_samples,
                                  .seed = attrs->megatron_seed,
                                  .split = attrs->split,
                                  .split_index = attrs->split_index};
    int32_t is_megatron = attrs->order == ORDER_MEGATRON;
    if (is_megatron && args->access == PFD_ACCESS_RANDOM)
        return args->host->fail_attr(err, "order", NULL, PFD_INVALID_ARGUMENT,
                                     " = 'megatron' is already a random order, by megatron_seed; "
                                     "leave random_shuffle and shuffle out, or set order='own'");
    return pfd_token_windows_open(args, &options, attrs->seq_length, is_megatron ? &order : NULL,
                                  out, err);
}

static pfd_status companions(const pfd_companion_args *args, pfd_error *err)
{
    const gpt_reader *attrs = args->attrs;
    return pfd_token_companions(args, attrs->format, err);
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    const pfd_tensor *out = args->outputs[0];
    for (int64_t i = 0; i < args->num_rows; i++) {
        const pfd_record *record = &args->records[i];
        if (!pfd_token_window_write(args->source, record, out->data + i * out->row_bytes))
            return args->host->fail_row(err, i, 0, PFD_CORRUPT_DATA,
                                        "a window has %" PRId64 " bytes, which are not %" PRId64
                                        " tokens",
                                        record->size, out->type.shape[0]);
    }
    return PFD_OK;
}

static const pfd_attr attr_table[] = {
    PFD_INT_ATTR(gpt_reader, seq_length, NULL, 1, 1073741824,
                 "Tokens from the beginning of a window to that of the next one. A window has one "
                 "token more, so that it has both inputs and targets."),
    PFD_DTYPE_ATTR(gpt_reader, dtype, "int64", "uint8|uint16|int32|uint32|int64",
                   "The dtype of the rows: that of the files, or one that holds all its values."),
    PFD_CHOICE_ATTR(gpt_reader, format, "auto", "auto|megatron|flat",
                    "What the files are: megatron is a .bin and an .idx, flat nothing but "
                    "tokens; auto is megatron where there is an .idx, and flat where there is "
                    "none and file_dtype is set."),
    PFD_CHOICE_ATTR(gpt_reader, file_dtype, "auto", FILE_DTYPES,
                    "The dtype of the tokens in flat files; auto takes what the .idx says."),
    PFD_INT_ATTR(gpt_reader, header_bytes, "0", 0, 1073741824,
                 "How many bytes to skip at the beginning of each flat file."),
    PFD_TOKEN_GAPS_ATTR(gpt_reader),
    PFD_CHOICE_ATTR(gpt_reader, order, "own", "own|megatron",
                    "The windows and their order. own: the files are cut into windows, and "
                    "random_shuffle shuffles these. megatron: the samples of Megatron-LM's "
                    "GPTDataset, in its order."),
    PFD_INT_ATTR(gpt_reader, num_samples, "0", 0, 9e15,
                 "For order='megatron': the least number of samples; the documents are repeated "
                 "as often as needed. 0 uses each document once."),
    PFD_INT_ATTR(gpt_reader, megatron_seed, "1234", 0, 4294967295,
                 "For order='megatron': Megatron-LM's random_seed."),
    PFD_FLOATS_ATTR(gpt_reader, split, "", 0, 0,
                    "For order='megatron': the weights of training, validation and test "
                    "documents, as in 969,30,1; empty means all documents."),
    PFD_INT_ATTR(gpt_reader, split_index, "0", 0, 2,
                 "For order='megatron': which part of the split is read: 0, 1 or 2."),
};

static const pfd_port outputs[] = {
    {"out", "The tokens of each window, shape (batch, seq_length + 1)."},
};

const pfd_op pfd_op_gpt_reader = {
    PFD_OP_SIZES,
    .flags = PFD_READS_FILES,
    .name = "GPTReader",
    .doc = "Reads windows of seq_length + 1 tokens over the documents of all files, one after the "
           "other. Files are pairs of .bin and .idx of Megatron-LM in the same folder, of which "
           "one is given, or flat files as nanoGPT writes them. A window ends with the token that "
           "the next one begins with. A window can continue in the next document and in the next "
           "file. The rest after the last whole window is not read.",
    PFD_OP_ATTRS(gpt_reader, attr_table),
    PFD_OP_OUTPUTS(outputs),
    .infer = infer,
    .open = open_source,
    .compute = compute,
    .companions = companions,
};
