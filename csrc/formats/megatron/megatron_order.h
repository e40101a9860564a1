/* formats/megatron/megatron_order.h -- the order in which Megatron-LM's GPTDataset gives samples,
 * bit for bit.
 *
 * Sequences (here "documents" in Megatron's terms) are repeated for as many epochs as the
 * samples need, and shuffled.  Their tokens, one after the other, are cut into samples of
 * seq_length tokens plus the first token of the next sample.  Then the samples are shuffled.
 * Opening makes all three indexes and keeps them in memory: 4 bytes per sequence and epoch, 16
 * per sample.
 *
 * OWNERSHIP  Files are borrowed until open returns.
 * THREADS    After open: any thread.
 */
#ifndef PFD_FORMATS_MEGATRON_MEGATRON_ORDER_H
#define PFD_FORMATS_MEGATRON_MEGATRON_ORDER_H
#include "formats/megatron/token_files.h"

typedef struct pfd_megatron_request {
    int64_t seq_length;
    int64_t num_samples; /* the least number; 0: one epoch */
    int64_t seed;
    pfd_list_float64 split; /* weights of the parts; empty: one part, which is all */
    int64_t split_index;    /* of the part */
} pfd_megatron_request;

typedef struct pfd_megatron_order {
    int64_t num_samples;
    int64_t num_sequences; /* of the sequences, with their repeats */
    uint32_t *sequences;   /* their numbers in all files */
    int64_t *begins;       /* of each sample: the place in `sequences` of its first token */
    int32_t *offsets;      /* of each sample: the tokens before the first one in that sequence */
    uint32_t *shuffle;     /* the number of the i-th sample */
    int64_t *wide_shuffle; /* used instead of `shuffle` if 32 bits are too few */
} pfd_megatron_order;

pfd_status pfd_megatron_order_open(const pfd_token_files *files,
                                   const pfd_megatron_request *request, const pfd_scratch *bounds,
                                   pfd_megatron_order *out, pfd_error *err);
void pfd_megatron_order_close(pfd_megatron_order *order); /* accepts a zeroed one */
#endif
