/* formats/megatron/megatron_header.h -- reads the fixed part of a Megatron .idx; for
 * megatron_index.c.
 *
 * The header is compared with the size of the file before it is used.
 */
#ifndef PFD_FORMATS_MEGATRON_MEGATRON_HEADER_H
#define PFD_FORMATS_MEGATRON_MEGATRON_HEADER_H
#include "pyflowdata/op.h"

/* An open .idx, see megatron_index.h. */
typedef struct pfd_megatron_index {
    const pfd_host *host;
    const pfd_file *file, *bin; /* NULL: no index */
    const uint8_t *data;        /* all of the .idx, mapped; NULL: entries are read from the file */
    int32_t is_legacy;
    int32_t dtype;         /* PFD_*, of the tokens */
    int64_t element_bytes; /* of a token */
    int64_t num_sequences, num_documents, num_tokens;
    int64_t lengths, pointers, documents; /* where these arrays begin in the .idx */
    /* 1: the sequences are back to back in the .bin, in their order, and fill it, so the place of a
     * token is computed.  Otherwise the number of tokens before each 1024th sequence is kept. */
    int32_t is_contiguous;
    int64_t *tokens_before; /* owned */
} pfd_megatron_index;

/* Fills in *out, except the fields that depend on the entries. */
pfd_status pfd_megatron_header_read(const pfd_host *host, const pfd_file *idx, pfd_scratch *scratch,
                                    pfd_megatron_index *out, pfd_error *err);
#endif
