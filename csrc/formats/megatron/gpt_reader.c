/* GPTReader: reads windows of seq_length + 1 tokens to train language models, in the order of the
 * files, or in Megatron-LM's order, whose indexes it makes. */
#include "core/op_shorthand.h"
#include "core/scratch.h"
#include "formats/megatron/token_files.h"
#include "formats/megatron/widen.h"
#include "pyflowdata/pyflowdata.h"

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- The Mersenne Twister as NumPy's RandomState uses it ------------------------------------- */

/* Only Megatron-LM's order uses these numbers; everything else uses core/random.h. */

typedef struct mt19937 {
    uint32_t key[624];
    int32_t next; /* the next number of `key`; 624: a new key is needed */
} mt19937;

enum { STATE = 624, SHIFT = 397 };

/* Seeds the state as RandomState(seed). */
static void mt19937_seed(mt19937 *state, uint32_t seed)
{
    for (uint32_t i = 0; i < STATE; i++) {
        state->key[i] = seed;
        seed = UINT32_C(1812433253) * (seed ^ (seed >> 30)) + i + 1;
    }
    state->next = STATE;
}

static uint32_t twist(uint32_t high, uint32_t low, uint32_t far)
{
    uint32_t joined = (high & UINT32_C(0x80000000)) | (low & UINT32_C(0x7fffffff));
    return far ^ (joined >> 1) ^ ((joined & 1) ? UINT32_C(0x9908b0df) : 0);
}

static void make_key(mt19937 *state)
{
    uint32_t *key = state->key;
    for (int i = 0; i < STATE - SHIFT; i++) key[i] = twist(key[i], key[i + 1], key[i + SHIFT]);
    for (int i = STATE - SHIFT; i < STATE - 1; i++)
        key[i] = twist(key[i], key[i + 1], key[i + SHIFT - STATE]);
    key[STATE - 1] = twist(key[STATE - 1], key[0], key[SHIFT - 1]);
    state->next = 0;
}

static uint32_t next_number(mt19937 *state)
{
    if (state->next == STATE) make_key(state);
    uint32_t y = state->key[state->next++];
    y ^= y >> 11;
    y ^= (y << 7) & UINT32_C(0x9d2c5680);
    y ^= (y << 15) & UINT32_C(0xefc60000);
    return y ^ (y >> 18);
}

/* Draws a uniform number from [0, most]: draws as many bits as `most` has, until these are not
 * above `most`. Like NumPy it takes two words, the upper word first, only if `most` does not fit
 * into one. */
static uint64_t draw(mt19937 *state, uint64_t most)
{
    uint64_t mask = UINT64_MAX >> __builtin_clzll(most | 1), value;
    do {
        value = next_number(state);
        if (most > UINT32_MAX) value = value << 32 | next_number(state);
        value &= mask;
    } while (value > most);
    return value;
}

/* Shuffles as RandomState.shuffle() does with an array of one dimension. */
#define SHUFFLE(name, type)                                                                        \
    static void name(mt19937 *state, type *values, int64_t n)                                      \
    {                                                                                              \
        for (int64_t i = n - 1; i > 0; i--) {                                                      \
            uint64_t j = draw(state, (uint64_t)i);                                                 \
            type kept = values[j];                                                                 \
            values[j] = values[i];                                                                 \
            values[i] = kept;                                                                      \
        }                                                                                          \
    }
SHUFFLE(mt19937_shuffle32, uint32_t)
SHUFFLE(mt19937_shuffle64, int64_t)

/* ---- Megatron-LM's order, bit for bit that of its GPTDataset --------------------------------- */

/* Sequences, which Megatron-LM calls documents, are repeated for as many epochs as the
 * samples need, and shuffled.  Their tokens, one after the other, are cut into samples of
 * seq_length tokens plus the first token of the next sample.  Then the samples are shuffled.
 * Opening makes all three indexes and keeps them in memory: 4 bytes per sequence and epoch, 16
 * per sample.
 *
 * OWNERSHIP  Files are borrowed until open returns.
 * THREADS    After open: any thread. */

typedef struct megatron_request {
    int64_t seq_length;
    int64_t num_samples; /* at least; 0: the samples of one epoch */
    int64_t seed;
    pfd_list_float64 split; /* weights of the parts; empty: one part with all sequences */
    int64_t split_index;    /* of the part to read */
} megatron_request;

typedef struct megatron_order {
    int64_t num_samples;
    int64_t num_sequences; /* with their repeats */
    uint32_t *sequences;   /* their numbers in all files */
    int64_t *begins;       /* for each sample, the place in `sequences` of its first token */
    int32_t *offsets;      /* for each sample, the tokens of that sequence before it */
    uint32_t *shuffle;     /* the number of the i-th sample */
    int64_t *wide_shuffle; /* used instead of `shuffle` if 32 bits are too few */
} megatron_order;

enum { cancel_every = 1 << 20 };

/* A larger index is a mistake in num_samples. */
static const int64_t MOST_INDEX_BYTES = INT64_C(1) << 40;

/* What an order is made of. */
typedef struct plan {
    const pfd_host *host;
    const pfd_token_files *files;
    const megatron_request *request;
    const pfd_scratch *bounds;
    pfd_scratch *scratch;
    int64_t begin, end;      /* of the sequences of the part */
    int64_t epoch_tokens, num_epochs;
    int64_t before_last;     /* samples of all epochs except the last one */
    int32_t last_apart;      /* 1: the last epoch is shuffled separately */
} plan;

static pfd_status check_cancelled(const plan *p, int64_t step, pfd_error *err)
{
    if (step % cancel_every != 0 || !pfd_scratch_is_cancelled(p->bounds)) return PFD_OK;
    return p->host->fail(err, PFD_CANCELLED, "the loader is closing");
}

static void *alloc_index(const pfd_host *host, int64_t n, int64_t each, const char *what,
                         pfd_error *err)
{
    void *index = n <= MOST_INDEX_BYTES / each ? malloc((size_t)(n * each)) : NULL;
    if (!index)
        (void)host->fail(err, PFD_OUT_OF_MEMORY,
                         "no memory for the index of %s: %" PRId64 " times %" PRId64
                         " bytes; ask for fewer samples with num_samples",
                         what, n, each);
    return index;
}

/* ---- The sequences and epochs of an order ---------------------------------------------------- */

static pfd_status fail_split(const pfd_host *host, const megatron_request *request,
                             const char *what, pfd_error *err)
{
    return host->fail_attr(err, "split", NULL, PFD_INVALID_ARGUMENT,
                           " has %" PRId64 " weights and split_index = %" PRId64
                           "; %s: give up to three weights that are not negative and not all 0, as "
                           "in split=[969, 30, 1], and the index of one of them that is above 0",
                           request->split.size, request->split_index, what);
}

/* Chooses as Megatron-LM: a part ends at the share of its weight and the weights before, rounded to
 * the nearest sequence, halves to even. */
static pfd_status choose_part(plan *p, pfd_error *err)
{
    const megatron_request *request = p->request;
    const pfd_list_float64 *split = &request->split;
    double sum = 0, bounds[4] = {0};
    p->end = p->files->num_sequences;
    if (split->size == 0 && request->split_index == 0) return PFD_OK;
    if (split->size > 3) return fail_split(p->host, request, "these are too many parts", err);
    if (request->split_index >= split->size)
        return fail_split(p->host, request, "no such part", err);
    for (int64_t i = 0; i < split->size; i++) {
        if (!(split->data[i] >= 0 && split->data[i] < HUGE_VAL))
            return fail_split(p->host, request, "one of them is not a weight", err);
        sum += split->data[i];
    }
    if (!(sum > 0)) return fail_split(p->host, request, "they are all 0", err);
    for (int64_t i = 0; i < split->size; i++) bounds[i + 1] = bounds[i] + split->data[i] / sum;
    if (!(bounds[request->split_index + 1] > bounds[request->split_index]))
        return fail_split(p->host, request, "this part has the weight 0", err);
    double n = (double)p->files->num_sequences;
    p->begin = (int64_t)rint(bounds[request->split_index] * n);
    p->end = (int64_t)rint(bounds[request->split_index + 1] * n);
    if (p->end > p->files->num_sequences) p->end = p->files->num_sequences;
    return PFD_OK;
}

static pfd_status length_of(const plan *p, int64_t sequence, int64_t *length, pfd_error *err)
{
    const pfd_token_file *file = pfd_file_of_sequence(p->files, sequence);
    pfd_token_range range;
    PFD_TRY(pfd_megatron_sequence(&file->index, sequence - file->first_sequence, p->scratch, &range,
                                  err));
    if (!file->index.data) pfd_scratch_reset(p->scratch);
    *length = range.num_tokens;
    return PFD_OK;
}

static pfd_status count_tokens(plan *p, pfd_error *err)
{
    for (int64_t i = p->begin; i < p->end; i++) {
        int64_t length;
        PFD_TRY(check_cancelled(p, i, err));
        PFD_TRY(length_of(p, i, &length, err));
        if (length > INT32_MAX)
            return p->host->fail(err, PFD_UNSUPPORTED,
                                 "sequence %" PRId64 " has %" PRId64
                                 " tokens; Megatron's order supports up to 2^31 - 1",
                                 i, length);
        p->epoch_tokens += length;
    }
    if (p->epoch_tokens > p->request->seq_length) return PFD_OK;
    return p->host->fail(err, PFD_INVALID_ARGUMENT,
                         "the %" PRId64 " sequences of this part have %" PRId64
                         " tokens, too few for a sample of seq_length + 1 = %" PRId64,
                         p->end - p->begin, p->epoch_tokens, p->request->seq_length + 1);
}

/* Chooses the least number of epochs that gives the samples. The last one is shuffled separately if
 * fewer than 80 % of its samples are used. */
static pfd_status choose_epochs(plan *p, pfd_error *err)
{
    const megatron_request *request = p->request;
    int64_t seq = request->seq_length, needed, all;
    p->num_epochs = 1;
    if (request->num_samples == 0) return PFD_OK;
    if (__builtin_mul_overflow(request->num_samples, seq, &needed) || needed == INT64_MAX)
        return p->host->fail_attr(err, "num_samples", NULL, PFD_INVALID_ARGUMENT,
                                  " = %" PRId64 " of %" PRId64 " tokens each are more than can be "
                                  "counted",
                                  request->num_samples, seq);
    p->num_epochs = needed / p->epoch_tokens + 1; /* needed + 1 tokens, rounded up */
    if (__builtin_mul_overflow(p->num_epochs, p->epoch_tokens, &all))
        return p->host->fail_attr(err, "num_samples", NULL, PFD_INVALID_ARGUMENT,
                                  " = %" PRId64 " needs %" PRId64 " epochs of %" PRId64
                                  " tokens, more than can be counted",
                                  request->num_samples, p->num_epochs, p->epoch_tokens);
    if (p->num_epochs == 1) return PFD_OK;
    p->before_last = ((p->num_epochs - 1) * p->epoch_tokens - 1) / seq;
    int64_t an_epoch = (p->epoch_tokens - 1) / seq;
    p->last_apart = request->num_samples - p->before_last < (int64_t)(0.80 * (double)an_epoch);
    return PFD_OK;
}

/* ---- The three indexes ----------------------------------------------------------------------- */

static pfd_status make_sequences(const plan *p, mt19937 *random, megatron_order *out,
                                 pfd_error *err)
{
    int64_t each = p->end - p->begin;
    if (p->files->num_sequences > INT32_MAX)
        return p->host->fail(err, PFD_UNSUPPORTED,
                             "there are %" PRId64
                             " sequences; Megatron's order supports up to 2^31 - 1",
                             p->files->num_sequences);
    if (__builtin_mul_overflow(each, p->num_epochs, &out->num_sequences))
        out->num_sequences = INT64_MAX;
    out->sequences = alloc_index(p->host, out->num_sequences, 4, "documents", err);
    if (!out->sequences) return err->status;
    for (int64_t i = 0; i < out->num_sequences; i++)
        out->sequences[i] = (uint32_t)(p->begin + i % each);
    int64_t first = p->last_apart ? out->num_sequences - each : out->num_sequences;
    mt19937_shuffle32(random, out->sequences, first);
    mt19937_shuffle32(random, out->sequences + first, out->num_sequences - first);
    return PFD_OK;
}

/* The last token of a sample is also the first of the next. The next beginning is found by going
 * seq_length + 1 tokens forward and one back, so a sample may begin with the last token of a
 * sequence, but never after it. */
static pfd_status walk(const plan *p, megatron_order *out, pfd_error *err)
{
    int64_t place = 0, offset = 0, length;
    PFD_TRY(length_of(p, out->sequences[0], &length, err));
    for (int64_t i = 0;; i++) {
        out->begins[i] = place;
        out->offsets[i] = (int32_t)offset;
        if (i == out->num_samples) return PFD_OK;
        int64_t left = p->request->seq_length + 1;
        while (left > length - offset) {
            left -= length - offset;
            if (++place == out->num_sequences)
                return p->host->fail(err, PFD_IO, "an .idx changed while it was read");
            offset = 0;
            PFD_TRY(check_cancelled(p, place, err));
            PFD_TRY(length_of(p, out->sequences[place], &length, err));
        }
        offset += left - 1;
    }
}

static pfd_status make_samples(const plan *p, megatron_order *out, pfd_error *err)
{
    out->num_samples = (p->num_epochs * p->epoch_tokens - 1) / p->request->seq_length;
    out->begins = alloc_index(p->host, out->num_samples + 1, sizeof *out->begins, "samples", err);
    if (!out->begins) return err->status;
    out->offsets = alloc_index(p->host, out->num_samples + 1, sizeof *out->offsets, "samples", err);
    if (!out->offsets) return err->status;
    return walk(p, out, err);
}

static pfd_status make_shuffle(const plan *p, mt19937 *random, megatron_order *out, pfd_error *err)
{
    int64_t n = out->num_samples, first = p->last_apart ? p->before_last : n;
    if (n >= (int64_t)UINT32_MAX - 1) {
        out->wide_shuffle = alloc_index(p->host, n, sizeof *out->wide_shuffle, "their order", err);
        if (!out->wide_shuffle) return err->status;
        for (int64_t i = 0; i < n; i++) out->wide_shuffle[i] = i;
        mt19937_shuffle64(random, out->wide_shuffle, first);
        mt19937_shuffle64(random, out->wide_shuffle + first, n - first);
        return PFD_OK;
    }
    out->shuffle = alloc_index(p->host, n, sizeof *out->shuffle, "their order", err);
    if (!out->shuffle) return err->status;
    for (int64_t i = 0; i < n; i++) out->shuffle[i] = (uint32_t)i;
    mt19937_shuffle32(random, out->shuffle, first);
    mt19937_shuffle32(random, out->shuffle + first, n - first);
    return PFD_OK;
}

static pfd_status make_all(plan *p, megatron_order *out, pfd_error *err)
{
    mt19937 random;
    mt19937_seed(&random, (uint32_t)p->request->seed);
    PFD_TRY(choose_part(p, err));
    PFD_TRY(count_tokens(p, err));
    PFD_TRY(choose_epochs(p, err));
    PFD_TRY(make_sequences(p, &random, out, err));
    PFD_TRY(make_samples(p, out, err));
    return make_shuffle(p, &random, out, err);
}

/* *out is zeroed; the caller frees what it owns in any case. */
static pfd_status megatron_order_open(const pfd_token_files *files, const megatron_request *request,
                                      const pfd_scratch *bounds, megatron_order *out,
                                      pfd_error *err)
{
    plan p = {.host = files->host, .files = files, .request = request, .bounds = bounds};
    p.scratch = pfd_scratch_create();
    pfd_status status = p.scratch
                            ? make_all(&p, out, err)
                            : files->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for a scratch");
    pfd_scratch_free(p.scratch);
    return status;
}

/* ---- Windows: a random-access source --------------------------------------------------------- */

/* In the order of the files (order='own'), the tokens of all files are counted one after the other,
 * and window i is [i * seq_length, i * seq_length + seq_length] of them; a shorter rest at the end
 * is not read.  In Megatron's order, window i is the i-th sample of its GPTDataset.  A record is
 * the tokens of a window with the dtype of the file.  It views the file if the tokens are
 * contiguous.
 *
 * OWNERSHIP  Files are borrowed until close.
 * THREADS    As of a pfd_source in op.h. */

typedef struct windows {
    const pfd_host *host;
    pfd_token_files files;    /* owned */
    megatron_order order;     /* owned; zeroed: the order of the files */
    int64_t num_windows;
    int64_t seq_length;
    int64_t element_bytes;    /* of a token in a file */
    pfd_widen_fn widen;       /* from the files' dtype to the rows' */
} windows;

/* The next token of a window. */
typedef struct cursor {
    int64_t place;  /* order of the files: the token's number in all files; Megatron's order: the
                       place of its sequence in order.sequences */
    int64_t offset; /* Megatron's order: of the token in its sequence */
} cursor;

PFD_SOURCE_NUMBER(num_windows, windows, num_windows)

static cursor begin_window(const windows *self, int64_t i)
{
    const megatron_order *order = &self->order;
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
        *(self->order.sequences ? &at.offset : &at.place) += piece.num_tokens;
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
    for (int64_t i = 0; i < n; i++)
        PFD_TRY(pfd_in_row(read_window(self, ordinals[i], scratch, &out[i], err), i, err));
    return PFD_OK;
}

/* Estimates places without reading an .idx, as if all sequences had the same size. */
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

static void close_windows(void *source)
{
    windows *self = source;
    pfd_token_files_close(&self->files);
    free(self->order.sequences);
    free(self->order.begins);
    free(self->order.offsets);
    free(self->order.shuffle);
    free(self->order.wide_shuffle);
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

/* Fails for flat files: Megatron's order is an order of documents, which they do not have. */
static pfd_status open_order(windows *self, const megatron_request *request,
                             const pfd_scratch *bounds, pfd_error *err)
{
    for (int64_t i = 0; i < self->files.num_files; i++)
        if (!self->files.files[i].index.file)
            return self->host->fail_attr(
                err, "order", self->files.files[i].bin, PFD_INVALID_ARGUMENT,
                " = 'megatron' shuffles documents, and the file has no .idx that lists them; use "
                "order='own'");
    PFD_TRY(megatron_order_open(&self->files, request, bounds, &self->order, err));
    self->num_windows = self->order.num_samples;
    return PFD_OK;
}

/* `order` NULL: the order of the files. */
static pfd_status open_all(windows *self, const pfd_open_args *args,
                           const pfd_token_options *options, const megatron_request *order,
                           pfd_error *err)
{
    PFD_TRY(pfd_token_files_open(args, options, &self->files, err));
    int32_t dtype = self->files.files[0].dtype;
    self->element_bytes = pfd_dtype_size(dtype);
    self->widen = pfd_widen_best(dtype, options->row_dtype);
    if (self->files.num_tokens == 0) return PFD_OK; /* the host reports that there is no record */
    if (self->files.num_tokens <= self->seq_length)
        return self->host->fail(err, PFD_INVALID_ARGUMENT,
                                "the files have %" PRId64 " tokens together, too few for a window "
                                "of seq_length + 1 = %" PRId64,
                                self->files.num_tokens, self->seq_length + 1);
    self->num_windows = (self->files.num_tokens - 1) / self->seq_length;
    return order ? open_order(self, order, args->scratch, err) : PFD_OK;
}

/* ---- The op ---------------------------------------------------------------------------------- */

enum { ORDER_OWN, ORDER_MEGATRON };

typedef struct gpt_reader {
    int64_t seq_length;
    int32_t dtype, format, file_dtype, gaps, order;
    int64_t header_bytes;
    int64_t num_samples, megatron_seed;
    pfd_list_float64 split;
    int32_t split_index;
} gpt_reader;

/* In the order of FILE_DTYPES. */
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
    megatron_request order = {.seq_length = attrs->seq_length,
                              .num_samples = attrs->num_samples,
                              .seed = attrs->megatron_seed,
                              .split = attrs->split,
                              .split_index = attrs->split_index};
    int32_t is_megatron = attrs->order == ORDER_MEGATRON;
    if (is_megatron && args->access == PFD_ACCESS_RANDOM)
        return args->host->fail_attr(err, "order", NULL, PFD_INVALID_ARGUMENT,
                                     " = 'megatron' is already a random order, by megatron_seed; "
                                     "leave random_shuffle and shuffle out, or set order='own'");
    windows *self = calloc(1, sizeof *self);
    if (!self) return args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for a source of windows");
    *self = (windows){.host = args->host, .seq_length = attrs->seq_length};
    pfd_status status = open_all(self, args, &options, is_megatron ? &order : NULL, err);
    return pfd_source_opened(status, &methods, self, out);
}

static pfd_status companions(const pfd_companion_args *args, pfd_error *err)
{
    const gpt_reader *attrs = args->attrs;
    return pfd_token_companions(args, attrs->format, err);
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    const windows *self = args->source;
    const pfd_tensor *out = args->outputs[0];
    int64_t num_tokens = self->seq_length + 1;
    for (int64_t i = 0; i < args->num_rows; i++) {
        const pfd_record *record = &args->records[i];
        if (record->size != num_tokens * self->element_bytes)
            return args->host->fail_row(err, i, 0, PFD_CORRUPT_DATA,
                                        "a window has %" PRId64 " bytes, which are not %" PRId64
                                        " tokens",
                                        record->size, num_tokens);
        self->widen(record->data, out->data + i * out->row_bytes, num_tokens);
    }
    return PFD_OK;
}

static const pfd_attr attr_table[] = {
    PFD_INT_ATTR(gpt_reader, seq_length, NULL, 1, 1073741824,
                 "The number of tokens from the beginning of a window to the beginning of the next "
                 "one. A window has one more token, so that it contains both inputs and targets."),
    PFD_DTYPE_ATTR(gpt_reader, dtype, "int64", "uint8|uint16|int32|uint32|int64",
                   "The dtype of the rows: the dtype of the files, or one that can hold all of its "
                   "values."),
    PFD_CHOICE_ATTR(gpt_reader, format, "auto", "auto|megatron|flat",
                    "The form of the files: megatron is a .bin and an .idx, flat is only tokens; "
                    "auto means megatron if there is an .idx, and flat if there is none and "
                    "file_dtype is set."),
    PFD_CHOICE_ATTR(gpt_reader, file_dtype, "auto", FILE_DTYPES,
                    "The dtype of the tokens in flat files; auto takes the dtype that the .idx "
                    "states."),
    PFD_INT_ATTR(gpt_reader, header_bytes, "0", 0, 1073741824,
                 "How many bytes to skip at the beginning of each flat file."),
    PFD_TOKEN_GAPS_ATTR(gpt_reader),
    PFD_CHOICE_ATTR(gpt_reader, order, "own", "own|megatron",
                    "The windows and their order. own: the files are cut into windows, and "
                    "random_shuffle shuffles the windows. megatron: the samples of Megatron-LM's "
                    "GPTDataset, in its order."),
    PFD_INT_ATTR(gpt_reader, num_samples, "0", 0, 9e15,
                 "For order='megatron': the minimum number of samples; the documents are repeated "
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
    PFD_READER(PFD_READS_FILES, outputs),
    .name = "GPTReader",
    .doc = "Reads windows of seq_length + 1 tokens over the documents of all files, one after the "
           "other. Files are pairs of .bin and .idx of Megatron-LM in the same folder, of which "
           "you name one, or flat files as nanoGPT writes them. The last token of a window is the "
           "first token of the next one. A window can continue in the next document and in the "
           "next file. Tokens after the last complete window are not read.",
    PFD_OP_ATTRS(gpt_reader, attr_table),
    .companions = companions,
};
