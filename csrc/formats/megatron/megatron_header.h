/* formats/megatron/megatron_header.h -- the fixed part of a Megatron .idx; for megatron_index.c.
 *
 * What the header says is compared with the file's size before anything is made of it.
 */
#ifndef PFD_FORMATS_MEGATRON_MEGATRON_HEADER_H
#define PFD_FORMATS_MEGATRON_MEGATRON_HEADER_H
#include "pyflowdata/op.h"

/* What is known of a .idx once it is open; megatron_index.h. */
typedef struct pfd_megatron_index {
    const pfd_host *host;
    const pfd_file *file, *bin; /* NULL: no index */
    const uint8_t *data;        /* all of the .idx, mapped; NULL: it is read */
    int32_t is_legacy;
    int32_t dtype;         /* PFD_*, of the tokens */
    int64_t element_bytes; /* of a token */
    int64_t num_sequences, num_documents, num_tokens;
    int64_t lengths, pointers, documents; /* where these arrays begin in the .idx */
    /* The sequences lie back to back in the .bin, in their order, and are all of it: where a token
     * is, is arithmetic.  Else the tokens before each 1024th sequence are kept. */
    int32_t is_contiguous;
    int64_t *tokens_before; /* owned */
} pfd_megatron_index;

/* Fills in all of *out but what the entries themselves tell. */
pfd_status pfd_megatron_header_read(const pfd_host *host, const pfd_file *idx, pfd_scratch *scratch,
                                    pfd_megatron_index *out, pfd_error *err);
#endif
