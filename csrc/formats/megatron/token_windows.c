/* Finds windows of tokens: computes their places, or looks them up in Megatron's index. */
#include "formats/megatron/token_windows.h"

#include "core/convert.h"
#include "formats/megatron/widen.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct windows {
    const pfd_host *host;
    pfd_token_files files;    /* owned */
    pfd_megatron_order order; /* owned; without samples: our own order */
    int64_t num_windows;
    int64_t seq_length;
    int64_t element_bytes;    /* of a token in a file */
    pfd_widen_fn widen;       /* from the files' dtype to that of a row */
} windows;

/* The next token of a window. */
typedef struct cursor {
    int64_t place;  /* our own order: the token's number in all files; Megatron's: the place of its
                       sequence among them */
    int64_t offset; /* Megatron's: of the token in its sequence */
} cursor;

static int64_t num_windows(void *source)
{
    return ((const windows *)source)->num_windows;
}

/* ---- Finding --------------------------------------------------------------------------------- */
static cursor begin_window(const windows *self, int64_t i)
{
    const pfd_megatron_order *order = &self->order;
    if (!order->sequences) return (cursor){i * self->seq_length, 0};
    int64_t sample = order->shuffle ? order->shuffle[i] : order->wide_shuffle[i];
    return (cursor){order->begins[sample], order->offsets[sample]};
}

static const pfd_token_file *file_at(const windows *self, const cursor *at, int64_t *number)
{
    *number = at->place;
    if (!self->order.sequences) return pfd_file_of_token(&self->files, at->place);
    const pfd_token_file *file =
        pfd_file_of_sequence(&self->files, self->order.sequences[at->place]);
    *number = self->order.sequences[at->place] - file->first_sequence;
    return file;
}

/* Finds the contiguous tokens from the cursor on, at least one. */
static pfd_status find_piece(const windows *self, cursor *at, pfd_scratch *scratch,
                             const pfd_token_file **file, pfd_token_range *out, pfd_error *err)
{
    int64_t number;
    for (;; at->place++, at->offset = 0) {
        if (at->place >= (self->order.sequences ? self->order.num_sequences
                                                : self->files.num_tokens))
            return self->host->fail(err, PFD_IO, "the tokens end within a window: an .idx changed "
                                                 "while open");
        *file = file_at(self, at, &number);
        if (!self->order.sequences) return pfd_token_place(*file, number, scratch, out, err);
        PFD_TRY(pfd_megatron_sequence(&(*file)->index, number, scratch, out, err));
        if (at->offset >= out->num_tokens) continue; /* an empty sequence */
        out->offset += at->offset * (*file)->element_bytes;
        out->num_tokens -= at->offset;
        return PFD_OK;
    }
}

static void advance(const windows *self, cursor *at, int64_t num_tokens)
{
    *(self->order.sequences ? &at->offset : &at->place) += num_tokens;
}

/* ---- Reading --------------------------------------------------------------------------------- */
static pfd_status read_piece(const windows *self, const pfd_token_file *file,
                             const pfd_token_range *piece, pfd_scratch *scratch,
                             const uint8_t **data, pfd_error *err)
{
    return self->host->read(file->bin, piece->offset, piece->num_tokens * file->element_bytes,
                            scratch, data, err);
}

/* Joins a window from pieces; the first piece is given. */
static pfd_status join(const windows *self, cursor at, const pfd_token_file *file,
                       pfd_token_range piece, pfd_scratch *scratch, pfd_record *out, pfd_error *err)
{
    int64_t left = self->seq_length + 1;
    uint8_t *to = self->host->alloc(scratch, out->size);
    if (!to)
        return self->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for a window of %" PRId64
                                                        " tokens", left);
    out->data = to;
    for (;;) {
        const uint8_t *data;
        if (piece.num_tokens > left) piece.num_tokens = left;
        PFD_TRY(read_piece(self, file, &piece, scratch, &data, err));
        memcpy(to, data, (size_t)(piece.num_tokens * self->element_bytes));
        left -= piece.num_tokens;
        if (left == 0) return PFD_OK;
        to += piece.num_tokens * self->element_bytes;
        advance(self, &at, piece.num_tokens);
        PFD_TRY(find_piece(self, &at, scratch, &file, &piece, err));
    }
}

static pfd_status read_window(const windows *self, int64_t i, pfd_scratch *scratch, pfd_record *out,
                              pfd_error *err)
{
    cursor at = begin_window(self, i);
    const pfd_token_file *file;
    pfd_token_range piece;
    PFD_TRY(find_piece(self, &at, scratch, &file, &piece, err));
    *out = (pfd_record){.size = (self->seq_length + 1) * self->element_bytes,
                        .offset = piece.offset,
                        .ordinal = i,
                        .file = file->bin->index};
    if (piece.num_tokens <= self->seq_length)
        return join(self, at, file, piece, scratch, out, err);
    piece.num_tokens = self->seq_length + 1;
    PFD_TRY(read_piece(self, file, &piece, scratch, &out->data, err));
    __builtin_prefetch(out->data, 0, 2);
    return PFD_OK;
}

static pfd_status at(void *source, const int64_t *ordinals, int64_t n, pfd_scratch *scratch,
                     pfd_record *out, pfd_error *err)
{
    const windows *self = source;
    for (int64_t i = 0; i < n; i++) {
        if (ordinals[i] < 0 || ordinals[i] >= self->num_windows)
            return self->host->fail_row(err, i, -1, PFD_INTERNAL, "window %" PRId64 " of %" PRId64,
                                        ordinals[i], self->num_windows);
        pfd_status status = read_window(self, ordinals[i], scratch, &out[i], err);
        if (status == PFD_OK) continue;
        err->row = i;
        return status;
    }
    return PFD_OK;
}

/* Estimates places: instead of reading an .idx, it assumes that all sequences have the same size.
 */
static void places(void *source, const int64_t *ordinals, int64_t n, pfd_place *out)
{
    const windows *self = source;
    for (int64_t i = 0; i < n; i++) {
        int64_t number;
        cursor at = begin_window(self, ordinals[i]);
        const pfd_token_file *file = file_at(self, &at, &number);
        int64_t of = self->order.sequences ? file->index.num_sequences
                                           : file[1].first_token - file->first_token;
        if (!self->order.sequences) number -= file->first_token;
        double bytes = (double)(file->bin->size - file->header_bytes);
        double before = of > 0 ? (double)number / (double)of * bytes : 0;
        out[i] = (pfd_place){.offset = file->header_bytes + (int64_t)before,
                             .file = file->bin->index};
    }
}

int32_t pfd_token_window_write(const void *source, const pfd_record *record, uint8_t *row)
{
    const windows *self = source;
    int64_t num_tokens = self->seq_length + 1;
    if (record->size != num_tokens * self->element_bytes) return 0;
    self->widen(record->data, row, num_tokens);
    return 1;
}

static void close_windows(void *source)
{
    windows *self = source;
    pfd_token_files_close(&self->files);
    pfd_megatron_order_close(&self->order);
    free(self);
}

static const pfd_source_methods methods = {
    .struct_size = sizeof(pfd_source_methods),
    .close = close_windows,
    .size = num_windows,
    .at = at,
    .places = places,
};

/* ---- Opening --------------------------------------------------------------------------------- */

static pfd_status fail_too_short(const windows *self, pfd_error *err)
{
    return self->host->fail(err, PFD_INVALID_ARGUMENT,
                            "the files have %" PRId64 " tokens together, too few for a window of "
                            "seq_length + 1 = %" PRId64,
                            self->files.num_tokens, self->seq_length + 1);
}

/* Megatron's order is an order of documents, which a flat file does not have. */
static pfd_status open_order(windows *self, const pfd_megatron_request *request,
                             const pfd_scratch *bounds, pfd_error *err)
{
    for (int64_t i = 0; i < self->files.num_files; i++)
        if (!self->files.files[i].index.file)
            return self->host->fail_attr(
                err, "order", self->files.files[i].bin, PFD_INVALID_ARGUMENT,
                " = 'megatron' shuffles documents, and the file has no .idx to "
                "tell them; use order='own'");
    PFD_TRY(pfd_megatron_order_open(&self->files, request, bounds, &self->order, err));
    self->num_windows = self->order.num_samples;
    return PFD_OK;
}

static pfd_status open_all(windows *self, const pfd_open_args *args,
                           const pfd_token_options *options, const pfd_megatron_request *order,
                           pfd_error *err)
{
    PFD_TRY(pfd_token_files_open(args, options, &self->files, err));
    int32_t dtype = self->files.files[0].dtype;
    self->element_bytes = pfd_dtype_size(dtype);
    self->widen = pfd_widen_best(dtype, options->row_dtype);
    if (self->files.num_tokens == 0) return PFD_OK; /* without a record, which the host reports */
    if (self->files.num_tokens <= self->seq_length) return fail_too_short(self, err);
    self->num_windows = (self->files.num_tokens - 1) / self->seq_length;
    return order ? open_order(self, order, args->scratch, err) : PFD_OK;
}

pfd_status pfd_token_windows_open(const pfd_open_args *args, const pfd_token_options *options,
                                  int64_t seq_length, const pfd_megatron_request *order,
                                  pfd_source *out, pfd_error *err)
{
    windows *self = calloc(1, sizeof *self);
    if (!self) return args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for a source of windows");
    *self = (windows){.host = args->host, .seq_length = seq_length};
    pfd_status status = open_all(self, args, options, order, err);
    if (status != PFD_OK) {
        close_windows(self);
        return status;
    }
    out->methods = &methods;
    out->self = self;
    return PFD_OK;
}
