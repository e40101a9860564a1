/* MegatronReader: reads the documents of .bin and .idx files, as Megatron-LM writes them. */
#include "core/op_shorthand.h"
#include "formats/megatron/token_files.h"
#include "formats/megatron/widen.h"
#include "pyflowdata/pyflowdata.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- Documents: a random-access source ------------------------------------------------------- */

/* A record is the tokens of a document or sequence with the dtype of a row.  It views the file if
 * the file has this dtype; otherwise the tokens are widened.
 *
 * OWNERSHIP  Files are borrowed until close.
 * THREADS    As of a pfd_source in op.h. */

typedef struct documents {
    const pfd_host *host;
    pfd_token_files files; /* owned */
    int32_t dtype;         /* of a row */
    int32_t by_document;   /* 1: a record is a document; 0: a sequence */
    int64_t element_bytes; /* of a row */
} documents;

/* The sequences [first, end) of a file that are one record. */
typedef struct span {
    const pfd_token_file *file;
    int64_t first, end;
} span;

static int64_t num_records(void *source)
{
    const documents *self = source;
    return self->by_document ? self->files.num_documents : self->files.num_sequences;
}

static const pfd_token_file *file_of(const documents *self, int64_t ordinal)
{
    return self->by_document ? pfd_file_of_document(&self->files, ordinal)
                             : pfd_file_of_sequence(&self->files, ordinal);
}

static pfd_status find_span(const documents *self, int64_t ordinal, pfd_scratch *scratch, span *out,
                            pfd_error *err)
{
    out->file = file_of(self, ordinal);
    if (self->by_document)
        return pfd_megatron_document(&out->file->index, ordinal - out->file->first_document,
                                     scratch, &out->first, &out->end, err);
    out->first = ordinal - out->file->first_sequence;
    out->end = out->first + 1;
    return PFD_OK;
}

/* Finds where sequence i begins; if i is the number of sequences, where the file ends. */
static pfd_status find_begin(const pfd_token_file *file, int64_t i, pfd_scratch *scratch,
                             int64_t *out, pfd_error *err)
{
    pfd_token_range range = {file->bin->size, 0};
    pfd_status status = PFD_OK;
    if (i < file->index.num_sequences)
        status = pfd_megatron_sequence(&file->index, i, scratch, &range, err);
    *out = range.offset;
    return status;
}

/* Finds all tokens of a span if its sequences are back to back; otherwise num_tokens is -1. */
static pfd_status find_range(const span *of, pfd_scratch *scratch, pfd_token_range *out,
                             pfd_error *err)
{
    int64_t end;
    if (of->end - of->first == 1)
        return pfd_megatron_sequence(&of->file->index, of->first, scratch, out, err);
    PFD_TRY(find_begin(of->file, of->first, scratch, &out->offset, err));
    out->num_tokens = of->end == of->first ? 0 : -1;
    if (out->num_tokens == 0 || !of->file->index.is_contiguous) return PFD_OK;
    PFD_TRY(find_begin(of->file, of->end, scratch, &end, err));
    if (end >= out->offset) out->num_tokens = (end - out->offset) / of->file->element_bytes;
    return PFD_OK;
}

static pfd_status count_tokens(const span *of, pfd_scratch *scratch, int64_t *out, pfd_error *err)
{
    *out = 0;
    for (int64_t i = of->first; i < of->end; i++) {
        pfd_token_range range;
        PFD_TRY(pfd_megatron_sequence(&of->file->index, i, scratch, &range, err));
        *out += range.num_tokens;
    }
    return PFD_OK;
}

static pfd_status alloc_row(const documents *self, int64_t num_tokens, pfd_scratch *scratch,
                            uint8_t **out, pfd_error *err)
{
    if (num_tokens <= INT64_MAX / self->element_bytes)
        *out = self->host->alloc(scratch, num_tokens * self->element_bytes);
    else
        *out = NULL;
    if (*out) return PFD_OK;
    return self->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for a row of %" PRId64 " tokens",
                            num_tokens);
}

static pfd_status widen_range(const documents *self, const pfd_token_file *file,
                              const pfd_token_range *range, pfd_scratch *scratch, uint8_t *to,
                              pfd_error *err)
{
    const uint8_t *data;
    PFD_TRY(self->host->read(file->bin, range->offset, range->num_tokens * file->element_bytes,
                             scratch, &data, err));
    pfd_widen_best(file->dtype, self->dtype)(data, to, range->num_tokens);
    return PFD_OK;
}

/* Reads a row that is one piece of the file. If no conversion is needed, it views the file. */
static pfd_status read_range(const documents *self, const span *of, const pfd_token_range *range,
                             pfd_scratch *scratch, pfd_record *out, pfd_error *err)
{
    uint8_t *row;
    int64_t bytes = range->num_tokens * of->file->element_bytes;
    if (of->file->dtype == self->dtype) {
        PFD_TRY(self->host->read(of->file->bin, range->offset, bytes, scratch, &out->data, err));
        if ((uintptr_t)out->data % (uintptr_t)self->element_bytes == 0) return PFD_OK;
    }
    PFD_TRY(alloc_row(self, range->num_tokens, scratch, &row, err));
    out->data = row;
    return widen_range(self, of->file, range, scratch, row, err);
}

/* Joins a row from sequences in several places; `num_tokens` is the sum of their lengths. */
static pfd_status join(const documents *self, const span *of, int64_t num_tokens,
                       pfd_scratch *scratch, pfd_record *out, pfd_error *err)
{
    uint8_t *row;
    PFD_TRY(alloc_row(self, num_tokens, scratch, &row, err));
    out->data = row;
    for (int64_t i = of->first; i < of->end; i++) {
        pfd_token_range range;
        PFD_TRY(pfd_megatron_sequence(&of->file->index, i, scratch, &range, err));
        if (range.num_tokens > num_tokens)
            return self->host->fail_file(err, of->file->index.file, -1, PFD_IO,
                                         "the file changed while open");
        PFD_TRY(widen_range(self, of->file, &range, scratch, row, err));
        row += range.num_tokens * self->element_bytes;
        num_tokens -= range.num_tokens;
    }
    return PFD_OK;
}

static pfd_status read_record(const documents *self, int64_t ordinal, pfd_scratch *scratch,
                              pfd_record *out, pfd_error *err)
{
    span of;
    pfd_token_range range;
    PFD_TRY(find_span(self, ordinal, scratch, &of, err));
    PFD_TRY(find_range(&of, scratch, &range, err));
    int64_t num_tokens = range.num_tokens;
    if (num_tokens < 0) PFD_TRY(count_tokens(&of, scratch, &num_tokens, err));
    *out = (pfd_record){.size = num_tokens * self->element_bytes,
                        .offset = range.offset,
                        .ordinal = ordinal,
                        .file = of.file->bin->index};
    if (num_tokens == 0) return PFD_OK;
    if (range.num_tokens < 0) return join(self, &of, num_tokens, scratch, out, err);
    return read_range(self, &of, &range, scratch, out, err);
}

static pfd_status at(void *source, const int64_t *ordinals, int64_t n, pfd_scratch *scratch,
                     pfd_record *out, pfd_error *err)
{
    const documents *self = source;
    for (int64_t i = 0; i < n; i++)
        PFD_TRY(pfd_in_row(read_record(self, ordinals[i], scratch, &out[i], err), i, err));
    return PFD_OK;
}

/* Estimates places as if all documents had the same size. */
static void places(void *source, const int64_t *ordinals, int64_t n, pfd_place *out)
{
    const documents *self = source;
    for (int64_t i = 0; i < n; i++) {
        const pfd_token_file *file = file_of(self, ordinals[i]);
        const pfd_megatron_index *index = &file->index;
        int64_t first = self->by_document ? file->first_document : file->first_sequence;
        int64_t count = self->by_document ? index->num_documents : index->num_sequences;
        double share = count > 0 ? (double)(ordinals[i] - first) / (double)count : 0;
        out[i] = (pfd_place){.offset = (int64_t)(share * (double)file->bin->size),
                             .file = file->bin->index};
    }
}

static void close_documents(void *source)
{
    documents *self = source;
    pfd_token_files_close(&self->files);
    free(self);
}

static const pfd_source_methods methods = {
    .struct_size = sizeof(pfd_source_methods),
    .close = close_documents,
    .size = num_records,
    .at = at,
    .places = places,
};

/* ---- The op ---------------------------------------------------------------------------------- */

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
    pfd_token_options options = {
        .format = PFD_TOKENS_MEGATRON, .gaps = attrs->gaps, .row_dtype = attrs->dtype};
    documents *self = calloc(1, sizeof *self);
    if (!self)
        return args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for a source of documents");
    *self = (documents){.host = args->host,
                        .dtype = attrs->dtype,
                        .by_document = attrs->unit == UNIT_DOCUMENT,
                        .element_bytes = pfd_dtype_size(attrs->dtype)};
    pfd_status status = pfd_token_files_open(args, &options, &self->files, err);
    return pfd_source_opened(status, &methods, self, out);
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

/* Infers the dtype from the first .idx.  open() reports a missing .idx. */
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

/* at() has converted the tokens to the dtype of the rows. */
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
        pfd_set_row(args, 0, i, record->data, record->size / bytes);
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
    PFD_READER(PFD_READS_FILES, outputs),
    .name = "MegatronReader",
    .doc = "Reads documents of tokens from .bin and .idx files of Megatron-LM. You name one of the "
           "two, and the other one must be in the same folder. Both versions of the .idx are read. "
           "When the reader opens, it compares each entry of the .idx with the .bin.",
    PFD_OP_ATTRS(megatron_reader, attr_table),
    .companions = companions,
    .propose = propose,
};
