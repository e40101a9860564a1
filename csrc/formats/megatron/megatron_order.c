/* Makes Megatron-LM's indexes of documents, of samples, and of their order. */
#include "formats/megatron/megatron_order.h"

#include "formats/megatron/mt19937.h"
#include "core/scratch.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum { cancel_every = 1 << 20 };

/* An index that is larger is a mistake in num_samples. */
static const int64_t MOST_INDEX_BYTES = INT64_C(1) << 40;

/* The numbers from which an order is made, besides the request. */
typedef struct plan {
    const pfd_host *host;
    const pfd_token_files *files;
    const pfd_megatron_request *request;
    const pfd_scratch *bounds;
    pfd_scratch *scratch;
    int64_t begin, end;      /* of the sequences of the part */
    int64_t epoch_tokens, num_epochs;
    int64_t before_last;     /* samples of all epochs except the last one */
    int32_t last_apart;      /* the last epoch is shuffled separately */
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

/* ---- What there is to choose from ------------------------------------------------------------ */
static pfd_status fail_split(const pfd_host *host, const pfd_megatron_request *request,
                             const char *what, pfd_error *err)
{
    return host->fail_attr(err, "split", NULL, PFD_INVALID_ARGUMENT,
                           " has %" PRId64 " weights and split_index = %" PRId64
                           "; %s: give up to three weights that are not negative and not all 0, as "
                           "in split=[969, 30, 1], and the index of one of them that is above 0",
                           request->split.size, request->split_index, what);
}

/* Weights become shares of 1, these are added up, and where a part ends is rounded to the nearest
 * sequence, halves to even. */
static pfd_status choose_part(plan *p, pfd_error *err)
{
    const pfd_megatron_request *request = p->request;
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
    const pfd_megatron_request *request = p->request;
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
static pfd_status make_sequences(const plan *p, pfd_mt19937 *random, pfd_megatron_order *out,
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
    pfd_mt19937_shuffle32(random, out->sequences, first);
    pfd_mt19937_shuffle32(random, out->sequences + first, out->num_sequences - first);
    return PFD_OK;
}

/* The last token of a sample is also the first one of the next. The next beginning is found by
 * going seq_length + 1 tokens forward and one back, so a sample may begin with the last token of
 * a sequence, but never after it. */
static pfd_status walk(const plan *p, pfd_megatron_order *out, pfd_error *err)
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

static pfd_status make_samples(const plan *p, pfd_megatron_order *out, pfd_error *err)
{
    out->num_samples = (p->num_epochs * p->epoch_tokens - 1) / p->request->seq_length;
    out->begins = alloc_index(p->host, out->num_samples + 1, sizeof *out->begins, "samples", err);
    if (!out->begins) return err->status;
    out->offsets = alloc_index(p->host, out->num_samples + 1, sizeof *out->offsets, "samples", err);
    if (!out->offsets) return err->status;
    return walk(p, out, err);
}

static pfd_status make_shuffle(const plan *p, pfd_mt19937 *random, pfd_megatron_order *out,
                               pfd_error *err)
{
    int64_t n = out->num_samples, first = p->last_apart ? p->before_last : n;
    if (n >= (int64_t)UINT32_MAX - 1) {
        out->wide_shuffle = alloc_index(p->host, n, sizeof *out->wide_shuffle, "their order", err);
        if (!out->wide_shuffle) return err->status;
        for (int64_t i = 0; i < n; i++) out->wide_shuffle[i] = i;
        pfd_mt19937_shuffle64(random, out->wide_shuffle, first);
        pfd_mt19937_shuffle64(random, out->wide_shuffle + first, n - first);
        return PFD_OK;
    }
    out->shuffle = alloc_index(p->host, n, sizeof *out->shuffle, "their order", err);
    if (!out->shuffle) return err->status;
    for (int64_t i = 0; i < n; i++) out->shuffle[i] = (uint32_t)i;
    pfd_mt19937_shuffle32(random, out->shuffle, first);
    pfd_mt19937_shuffle32(random, out->shuffle + first, n - first);
    return PFD_OK;
}

static pfd_status make_all(plan *p, pfd_megatron_order *out, pfd_error *err)
{
    pfd_mt19937 random;
    pfd_mt19937_seed(&random, (uint32_t)p->request->seed);
    PFD_TRY(choose_part(p, err));
    PFD_TRY(count_tokens(p, err));
    PFD_TRY(choose_epochs(p, err));
    PFD_TRY(make_sequences(p, &random, out, err));
    PFD_TRY(make_samples(p, out, err));
    return make_shuffle(p, &random, out, err);
}

pfd_status pfd_megatron_order_open(const pfd_token_files *files,
                                   const pfd_megatron_request *request, const pfd_scratch *bounds,
                                   pfd_megatron_order *out, pfd_error *err)
{
    *out = (pfd_megatron_order){0};
    plan p = {.host = files->host, .files = files, .request = request, .bounds = bounds};
    p.scratch = pfd_scratch_create();
    pfd_status status = p.scratch
                            ? make_all(&p, out, err)
                            : files->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for a scratch");
    pfd_scratch_free(p.scratch);
    if (status != PFD_OK) pfd_megatron_order_close(out);
    return status;
}

void pfd_megatron_order_close(pfd_megatron_order *order)
{
    free(order->sequences);
    free(order->begins);
    free(order->offsets);
    free(order->shuffle);
    free(order->wide_shuffle);
    *order = (pfd_megatron_order){0};
}
