/* formats/megatron/megatron_index.h -- the .idx beside a .bin of tokens, as Megatron-LM writes the
 * two.
 *
 * Two versions are read, by what the file begins with: the current one (MMIDIDX) and the one before
 * it (TNTIDX).  Sequences are numbered through, and a document is some sequences in a row.  Opening
 * looks at every entry once; afterwards entries are loaded where they lie, in memory that is mapped
 * or from the disk, and nothing is copied.
 *
 * OWNERSHIP  Files are borrowed until close.
 * THREADS    After open: any thread.
 * ERRORS     PFD_CORRUPT_DATA names the entry that contradicts the rest; PFD_UNSUPPORTED what is
 *            known and not read: files of fairseq's, numbers that are not integers.
 */
#ifndef PFD_FORMATS_MEGATRON_MEGATRON_INDEX_H
#define PFD_FORMATS_MEGATRON_MEGATRON_INDEX_H
#include "formats/megatron/megatron_header.h"

/* A piece of a .bin. */
typedef struct pfd_token_range {
    int64_t offset; /* bytes */
    int64_t num_tokens;
} pfd_token_range;

/* `gaps`: the sequences may lie anywhere in the .bin, also twice, and leave bytes of it out. */
pfd_status pfd_megatron_index_open(const pfd_host *host, const pfd_file *idx, const pfd_file *bin,
                                   int32_t gaps, const pfd_scratch *bounds,
                                   pfd_megatron_index *out, pfd_error *err);
void pfd_megatron_index_close(pfd_megatron_index *index); /* accepts a zeroed one */

/* Where sequence i lies: within the .bin, whatever has become of the file. */
pfd_status pfd_megatron_sequence(const pfd_megatron_index *index, int64_t i, pfd_scratch *scratch,
                                 pfd_token_range *out, pfd_error *err);

/* The sequences of document i: [first, end). */
pfd_status pfd_megatron_document(const pfd_megatron_index *index, int64_t i, pfd_scratch *scratch,
                                 int64_t *first, int64_t *end, pfd_error *err);

/* Where token number `token` of all sequences is, and what follows it in its sequence.  Only where
 * the index is not contiguous; there it is a search and at most 1024 entries. */
pfd_status pfd_megatron_find_token(const pfd_megatron_index *index, int64_t token,
                                   pfd_scratch *scratch, pfd_token_range *out, pfd_error *err);
#endif
