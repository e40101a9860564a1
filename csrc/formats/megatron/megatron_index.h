/* formats/megatron/megatron_index.h -- the .idx of a .bin of tokens, as Megatron-LM writes the
 * two.
 *
 * Two versions are read, recognised by the beginning of the file: the current one (MMIDIDX) and
 * the one before it (TNTIDX).  A document is a number of consecutive sequences.  Opening checks
 * every entry once.  After that entries are loaded from the mapped file, or read from the disk;
 * there is no copy of the index in memory.
 *
 * OWNERSHIP  Files are borrowed until close.
 * THREADS    After open: any thread.
 * ERRORS     PFD_CORRUPT_DATA names the entry that contradicts the rest.  PFD_UNSUPPORTED: the file
 *            is one of fairseq's, or has numbers that are not integers.
 */
#ifndef PFD_FORMATS_MEGATRON_MEGATRON_INDEX_H
#define PFD_FORMATS_MEGATRON_MEGATRON_INDEX_H
#include "formats/megatron/megatron_header.h"

/* A piece of a .bin. */
typedef struct pfd_token_range {
    int64_t offset; /* bytes */
    int64_t num_tokens;
} pfd_token_range;

/* Opens an index.  `gaps`: sequences may be anywhere in the .bin, overlap, and leave bytes out. */
pfd_status pfd_megatron_index_open(const pfd_host *host, const pfd_file *idx, const pfd_file *bin,
                                   int32_t gaps, const pfd_scratch *bounds,
                                   pfd_megatron_index *out, pfd_error *err);
void pfd_megatron_index_close(pfd_megatron_index *index); /* accepts a zeroed one */

/* Finds sequence i.  The range is within the .bin even if the .idx has changed. */
pfd_status pfd_megatron_sequence(const pfd_megatron_index *index, int64_t i, pfd_scratch *scratch,
                                 pfd_token_range *out, pfd_error *err);

/* Finds the sequences of document i: [first, end). */
pfd_status pfd_megatron_document(const pfd_megatron_index *index, int64_t i, pfd_scratch *scratch,
                                 int64_t *first, int64_t *end, pfd_error *err);

/* Finds token number `token` of all sequences, and the tokens after it in its sequence.  The index
 * must not be contiguous.  It costs a binary search and at most 1024 entries. */
pfd_status pfd_megatron_find_token(const pfd_megatron_index *index, int64_t token,
                                   pfd_scratch *scratch, pfd_token_range *out, pfd_error *err);
#endif
