/* MegatronReader: reads the documents of .bin and .idx files, as Megatron-LM writes them. */
#include "pyflowdata/pyflowdata.h"
#include "formats/megatron/megatron_header.h"
#include "formats/megatron/token_documents.h"

#include <inttypes.h>
#include <string.h>

enum { UNIT_DOCUMENT, UNIT_SEQUENCE };

typedef struct megatron_reader {
    int32_t dtype, unit, gaps;
} megatron_reader;

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    (void)err;
    const megatron_reader *attrs = args->attrs;
    args->outputs[0] = (pfd_row_type){.dtype = attrs->dtype, .ndim = 1, .shape = {-1}};
    return PFD_OK;
}

static pfd_status open_source(const pfd_open_args *args, pfd_source *out, pfd_error *err)
{
    const megatron_reader *attrs = args->attrs;
    return pfd_token_documents_open(args, attrs->dtype, attrs->unit == UNIT_DOCUMENT, attrs->gaps,
                                    out, err);
}

static pfd_status companions(const pfd_companion_args *args, pfd_error *err)
{
    return pfd_token_companions(args, PFD_TOKENS_MEGATRON, err);
}

static int32_t is_index(const char *path)
{
    size_t size = strlen(path);
    return size >= 4 && !strcmp(path + size - 4, ".idx");
}

/* open() reports a missing .idx. */
static pfd_status propose(const pfd_propose_args *args, pfd_error *err)
{
    const pfd_file *file;
    pfd_megatron_index index = {0};
    for (int64_t i = 0; i < args->num_paths; i++) {
        if (!is_index(args->paths[i])) continue;
        PFD_TRY(args->open(args->found, i, &file, err));
        if (file->size == INT64_MAX)
            return args->host->fail_file(err, file, 0, PFD_UNSUPPORTED,
                                         "the .idx is compressed; decompress it");
        PFD_TRY(pfd_megatron_header_read(args->host, file, args->scratch, &index, err));
        return args->set_int(args->found, "dtype", index.dtype, err);
    }
    return PFD_OK;
}

/* Copies: at() has converted the tokens to the dtype of the rows. */
static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    (void)err;
    const pfd_tensor *out = args->outputs[0];
    int64_t bytes = pfd_dtype_size(out->type.dtype);
    for (int64_t i = 0; i < args->num_rows; i++) {
        const pfd_record *record = &args->records[i];
        if (record->size % bytes != 0)
            return args->host->fail_row(err, i, record->size, PFD_CORRUPT_DATA,
                                        "%" PRId64 " bytes are not a whole number of tokens of "
                                        "%" PRId64,
                                        record->size, bytes);
        out->rows[i] = (pfd_ragged_row){.data = record->data, .num_elements = record->size / bytes};
    }
    return PFD_OK;
}

static const pfd_attr attr_table[] = {
    PFD_FOUND_ATTR_ROW(megatron_reader, dtype, PFD_ATTR_DTYPE, "int64", 0, 0,
                       "int8|uint8|int16|uint16|int32|uint32|int64|uint64",
                       "The dtype of the rows: the dtype of the files, or one that can hold all of "
                       "its values."),
    PFD_CHOICE_ATTR(megatron_reader, unit, "document", "document|sequence",
                    "What a record is: a document, or one of its sequences, for example a "
                    "sentence; usually a document is one sequence."),
    PFD_TOKEN_GAPS_ATTR(megatron_reader),
};

static const pfd_port outputs[] = {
    {"out", "The tokens of each document, ragged rows of shape (tokens,)."},
};

const pfd_op pfd_op_megatron_reader = {
    PFD_OP_SIZES,
    .flags = PFD_READS_FILES,
    .name = "MegatronReader",
    .doc = "Reads documents of tokens from .bin and .idx files of Megatron-LM. "
           "One of the two is given, and the other one must be in the same folder. Both versions "
           "of the .idx are read. When the reader opens, it compares each entry of the .idx with "
           "the .bin.",
    PFD_OP_ATTRS(megatron_reader, attr_table),
    PFD_OP_OUTPUTS(outputs),
    .infer = infer,
    .open = open_source,
    .compute = compute,
    .companions = companions,
    .propose = propose,
};
