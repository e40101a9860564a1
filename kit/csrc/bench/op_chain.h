/* bench/op_chain.h -- the ops that some blobs depend on, to be computed one by one
 * over ranges of records.
 *
 * OWNERSHIP  Nodes are borrowed; the tensors are the chain's.
 * THREADS    One at a time.
 */
#ifndef PFD_KIT_OP_CHAIN_H
#define PFD_KIT_OP_CHAIN_H
#include "registry/node.h"

typedef struct pfd_chain_op {
    const pfd_node *node;
    pfd_tensor *tensors;       /* the outputs of the public op, with memory for `rows` rows */
    pfd_tensor **outputs;      /* to these */
    const pfd_tensor **inputs; /* to those of the ops before */
    uint64_t random_key;
} pfd_chain_op;

typedef struct pfd_op_chain {
    pfd_chain_op *ops; /* the reader first, each after its inputs */
    int32_t num_ops;
    int32_t whole_batch; /* some op wants all rows of a batch at once */
    int64_t row_bytes;   /* of all outputs together; of a ragged one, of its description */
    int64_t rows;        /* of the tensors */
    const void *source;  /* of the reader, to be set before compute(); borrowed */
} pfd_op_chain;

/* Collects the ops.  PFD_UNSUPPORTED: the blobs depend on several readers. A failure leaves a chain
 * that close() accepts. */
pfd_status pfd_op_chain_open(pfd_op_chain *chain, const pfd_blob *blobs, int64_t num_blobs,
                             pfd_error *err);
pfd_status pfd_op_chain_allocate(pfd_op_chain *chain, int64_t rows, pfd_error *err);
void pfd_op_chain_close(pfd_op_chain *chain);

/* Zeroes the rows of ragged outputs, as they are given to compute(). */
void pfd_op_chain_clear(pfd_op_chain *chain, int64_t rows);

/* Op i for n records, n at most chain->rows; err->row is the one that failed. */
pfd_status pfd_op_chain_compute(pfd_op_chain *chain, int32_t i, const pfd_host *host,
                                const pfd_record *records, int64_t n, pfd_scratch *scratch,
                                pfd_error *err);

/* The outputs of a reader that the host fills in: mask and id. */
void pfd_op_chain_fill_reader_ports(pfd_op_chain *chain, const pfd_record *records, int64_t n);
#endif
